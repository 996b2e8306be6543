//! The Jobs port over gRPC: what `ostiary worker` on another machine uses.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use jiff::Timestamp;
use ostiary_canon::Digest;
use ostiary_proto::jobs::v1::{self as wire, jobs_service_client::JobsServiceClient, upload_request::Part};
use ostiary_record::ports::BoxFuture;
use tonic::{
    Code, Request, Status,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};

use super::{Beat, Disposition, Job, Jobs, JobsError, MAX_RUN_BYTES, Ticket};

/// Where the server is and as whom to call it.
#[derive(Clone)]
pub struct Remote {
    /// `http://host:port` of the server's gRPC listener.
    pub url: String,
    /// A token with the role `verifier`.
    pub token: String,
}

/// Why no connection could be prepared.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL is none.
    #[error("`{url}` is no address of a server; expected `http://host:port`")]
    Url {
        /// What was given.
        url: String,
        /// What the parser said.
        #[source]
        source: tonic::transport::Error,
    },
    /// The token cannot be sent in a header field.
    #[error("the token holds characters that a header field may not hold")]
    Token,
}

/// The port over gRPC.
#[derive(Clone)]
pub struct RemoteJobs {
    client: JobsServiceClient<Channel>,
    authorization: MetadataValue<Ascii>,
}

/// Bytes of one piece of an upload; well below the 4 MiB that peers accept by default.
const CHUNK: usize = 256 << 10;

/// Longest wait for any answer besides a claim, so that a half-open connection cannot hold a worker for ever.
const CALL: Duration = Duration::from_secs(60);

// === impl RemoteJobs ===

impl RemoteJobs {
    /// Prepares a connection; it is opened by the first call and again whenever it breaks.
    ///
    /// # Errors
    /// When URL or token have no valid form.
    pub fn connect(remote: &Remote) -> Result<Self, ConnectError> {
        let endpoint = Endpoint::from_shared(remote.url.clone())
            .map_err(|source| ConnectError::Url { url: remote.url.clone(), source })?
            .connect_timeout(Duration::from_secs(5));
        let mut authorization: MetadataValue<Ascii> =
            format!("Bearer {}", remote.token).parse().map_err(|_| ConnectError::Token)?;
        authorization.set_sensitive(true);
        let client = JobsServiceClient::new(endpoint.connect_lazy()).max_decoding_message_size(2 * MAX_RUN_BYTES);
        Ok(Self { client, authorization })
    }

    fn request<T>(&self, message: T, within: Duration) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.authorization.clone());
        request.set_timeout(within);
        request
    }
}

impl Jobs for RemoteJobs {
    fn claim<'a>(&'a self, worker: &'a str, wait: Duration) -> BoxFuture<'a, Result<Option<Job>, JobsError>> {
        Box::pin(async move {
            let message = wire::ClaimRequest { worker: worker.to_owned(), wait: wait.try_into().ok() };
            let answer = self.client.clone().claim(self.request(message, wait + CALL)).await;
            let answer = answer.map_err(|status| refusal("claim", &status))?;
            answer.into_inner().job.map(job_from_wire).transpose()
        })
    }

    fn heartbeat<'a>(&'a self, ticket: &'a Ticket) -> BoxFuture<'a, Result<Beat, JobsError>> {
        Box::pin(async move {
            let Ticket { job_id, token, epoch } = ticket.clone();
            let message = wire::HeartbeatRequest { job_id, token, epoch };
            let answer = self.client.clone().heartbeat(self.request(message, CALL)).await;
            let answer = answer.map_err(|status| refusal(&ticket.job_id, &status))?.into_inner();
            if answer.cancelled {
                return Ok(Beat::Cancelled);
            }
            Ok(Beat::Extended(timestamp(answer.until)?))
        })
    }

    fn upload<'a>(&'a self, ticket: &'a Ticket, run: Bytes) -> BoxFuture<'a, Result<Digest, JobsError>> {
        Box::pin(async move {
            let answer = self.client.clone().upload(self.request(stream::iter(pieces(ticket, &run)), CALL)).await;
            let answer = answer.map_err(|status| refusal(&ticket.job_id, &status))?.into_inner();
            answer.digest.parse().map_err(|_| garbled("digest"))
        })
    }

    fn fail<'a>(
        &'a self,
        ticket: &'a Ticket,
        disposition: Disposition,
        why: &'a str,
    ) -> BoxFuture<'a, Result<(), JobsError>> {
        Box::pin(async move {
            let Ticket { job_id, token, epoch } = ticket.clone();
            let disposition = match disposition {
                Disposition::Retry => wire::Disposition::Retry,
                Disposition::Fail => wire::Disposition::Fail,
            };
            let message =
                wire::FailRequest { job_id, token, epoch, disposition: disposition.into(), why: why.to_owned() };
            let answer = self.client.clone().fail(self.request(message, CALL)).await;
            answer.map(drop).map_err(|status| refusal(&ticket.job_id, &status))
        })
    }
}

fn pieces(ticket: &Ticket, run: &Bytes) -> Vec<wire::UploadRequest> {
    let Ticket { job_id, token, epoch } = ticket.clone();
    let digest = Digest::of(run).to_string();
    let header = Part::Header(wire::UploadHeader { job_id, token, epoch, digest, bytes: run.len() as u64 });
    let chunks = (0..run.len()).step_by(CHUNK).map(|at| Part::Chunk(run.slice(at..run.len().min(at + CHUNK))));
    std::iter::once(header).chain(chunks).map(|part| wire::UploadRequest { part: Some(part) }).collect()
}

fn job_from_wire(job: wire::Job) -> Result<Job, JobsError> {
    let lease = job.lease.ok_or_else(|| garbled("lease"))?;
    Ok(Job {
        lease_until: timestamp(lease.until)?,
        ticket: Ticket { job_id: job.job_id, token: lease.token, epoch: lease.epoch },
        agent: job.agent.parse().map_err(|_| garbled("agent"))?,
        version: job.version.parse().map_err(|_| garbled("version"))?,
        attempt: job.attempt,
        gate: job.gate.parse().map_err(|_| garbled("gate"))?,
        bundle_digest: job.bundle_digest.parse().map_err(|_| garbled("bundle_digest"))?,
        bundle: job.bundle,
        environment: job.environment,
    })
}

fn timestamp(time: Option<prost_types::Timestamp>) -> Result<Timestamp, JobsError> {
    let time = time.ok_or_else(|| garbled("until"))?;
    Timestamp::new(time.seconds, time.nanos).map_err(|_| garbled("until"))
}

fn garbled(field: &str) -> JobsError {
    JobsError::Refused(format!("field `{field}` of the server's answer is missing or malformed"))
}

fn refusal(job: &str, status: &Status) -> JobsError {
    let said = status.message().to_owned();
    match status.code() {
        Code::FailedPrecondition | Code::Aborted => JobsError::LeaseLost(job.to_owned()),
        Code::Unavailable
        | Code::DeadlineExceeded
        | Code::Cancelled
        | Code::Unknown
        | Code::ResourceExhausted
        | Code::Internal => JobsError::Unavailable(said),
        Code::Ok
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::DataLoss
        | Code::Unauthenticated => JobsError::Refused(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> Ticket {
        Ticket { job_id: "run-1".to_owned(), token: "t".to_owned(), epoch: 3 }
    }

    #[test]
    fn upload_is_cut_into_chunks_that_add_up() {
        let run = Bytes::from(vec![7_u8; CHUNK * 2 + 1]);
        let parts: Vec<Part> = pieces(&ticket(), &run).into_iter().filter_map(|piece| piece.part).collect();
        let [Part::Header(header), Part::Chunk(a), Part::Chunk(b), Part::Chunk(c)] = &parts[..] else {
            panic!("expected a header and three chunks, got {}", parts.len());
        };
        assert_eq!((header.bytes, header.epoch), (run.len() as u64, 3));
        assert_eq!(header.digest, Digest::of(&run).to_string());
        assert_eq!([a.as_ref(), b.as_ref(), c.as_ref()].concat(), run);
    }

    #[test]
    fn answer_without_lease_is_refused_and_not_guessed() {
        let job = wire::Job { job_id: "run-1".to_owned(), ..wire::Job::default() };
        assert!(matches!(job_from_wire(job), Err(JobsError::Refused(why)) if why.contains("lease")));
    }

    #[test]
    fn lost_lease_is_told_apart_from_a_server_that_is_down() {
        assert!(!refusal("run-1", &Status::failed_precondition("gone")).retryable());
        assert!(refusal("run-1", &Status::unavailable("down")).retryable());
        assert!(!refusal("run-1", &Status::permission_denied("no")).retryable());
    }
}
