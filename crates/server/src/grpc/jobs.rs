//! The Jobs port over gRPC: the same port that the worker inside the server uses, behind a token.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use ostiary_canon::Digest;
use ostiary_proto::jobs::v1::{self as wire, jobs_service_server::JobsService, upload_request::Part};
use ostiary_worker::jobs::{Beat, Disposition, Job, Jobs, JobsError, MAX_RUN_BYTES, Ticket};
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::identity;
use crate::{
    auth::{Act, TokenTable},
    error::{ApiError, ErrorCode},
};

/// Serves workers.
pub struct JobsApi {
    jobs: Arc<dyn Jobs>,
    tokens: Arc<TokenTable>,
}

// === impl JobsApi ===

impl JobsApi {
    /// The service over a port.
    #[must_use]
    pub fn new(jobs: Arc<dyn Jobs>, tokens: Arc<TokenTable>) -> Self {
        Self { jobs, tokens }
    }

    fn verifier<T>(&self, request: &Request<T>) -> Result<String, Status> {
        let caller = identity::caller(&self.tokens, request.metadata())?;
        caller.require(Act::Verify)?;
        Ok(caller.name().to_owned())
    }
}

#[tonic::async_trait]
impl JobsService for JobsApi {
    async fn claim(&self, request: Request<wire::ClaimRequest>) -> Result<Response<wire::ClaimResponse>, Status> {
        let caller = self.verifier(&request)?;
        let message = request.into_inner();
        let wait = message.wait.and_then(|wait| Duration::try_from(wait).ok()).unwrap_or_default();
        // The name in the log is the token's; what the worker calls itself only tells its instances apart.
        let worker =
            format!("{caller}/{}", message.worker.chars().filter(char::is_ascii_graphic).take(64).collect::<String>());
        let job = self.jobs.claim(&worker, wait).await.map_err(refusal)?;
        Ok(Response::new(wire::ClaimResponse { job: job.map(to_wire) }))
    }

    async fn heartbeat(
        &self,
        request: Request<wire::HeartbeatRequest>,
    ) -> Result<Response<wire::HeartbeatResponse>, Status> {
        self.verifier(&request)?;
        let wire::HeartbeatRequest { job_id, token, epoch } = request.into_inner();
        let beat = self.jobs.heartbeat(&Ticket { job_id, token, epoch }).await.map_err(refusal)?;
        Ok(Response::new(match beat {
            Beat::Extended(until) => wire::HeartbeatResponse { until: Some(super::timestamp(until)), cancelled: false },
            Beat::Cancelled => wire::HeartbeatResponse { until: None, cancelled: true },
        }))
    }

    async fn upload(
        &self,
        request: Request<Streaming<wire::UploadRequest>>,
    ) -> Result<Response<wire::UploadResponse>, Status> {
        self.verifier(&request)?;
        let (ticket, run) = receive(request.into_inner()).await?;
        let digest = self.jobs.upload(&ticket, run).await.map_err(refusal)?;
        Ok(Response::new(wire::UploadResponse { digest: digest.to_string() }))
    }

    async fn fail(&self, request: Request<wire::FailRequest>) -> Result<Response<wire::FailResponse>, Status> {
        self.verifier(&request)?;
        let message = request.into_inner();
        let disposition = match message.disposition() {
            wire::Disposition::Unspecified | wire::Disposition::Retry => Disposition::Retry,
            wire::Disposition::Fail => Disposition::Fail,
        };
        let wire::FailRequest { job_id, token, epoch, why, .. } = message;
        self.jobs.fail(&Ticket { job_id, token, epoch }, disposition, &why).await.map_err(refusal)?;
        Ok(Response::new(wire::FailResponse {}))
    }
}

/// Puts an upload together; never holds more than the header announces, and that is bounded.
async fn receive(
    mut parts: impl Stream<Item = Result<wire::UploadRequest, Status>> + Unpin,
) -> Result<(Ticket, Bytes), Status> {
    let Some(Part::Header(header)) = parts.next().await.transpose()?.and_then(|first| first.part) else {
        return Err(malformed("the first piece must be the header"));
    };
    let announced = usize::try_from(header.bytes).unwrap_or(usize::MAX);
    if announced > MAX_RUN_BYTES {
        let message = format!("a run has at most {MAX_RUN_BYTES} bytes, not {announced}");
        return Err(ApiError::new(ErrorCode::TooLarge, message).into());
    }
    let mut run = BytesMut::new();
    while let Some(piece) = parts.next().await.transpose()? {
        let Some(Part::Chunk(chunk)) = piece.part else { return Err(malformed("only the first piece is a header")) };
        if run.len() + chunk.len() > announced {
            return Err(malformed("more bytes came than the header announced"));
        }
        run.extend_from_slice(&chunk);
    }
    let run = run.freeze();
    if run.len() != announced || Digest::of(&run).to_string() != header.digest {
        return Err(malformed("the bytes are not those that the header announced"));
    }
    Ok((Ticket { job_id: header.job_id, token: header.token, epoch: header.epoch }, run))
}

fn to_wire(job: Job) -> wire::Job {
    let Ticket { job_id, token, epoch } = job.ticket;
    wire::Job {
        job_id,
        lease: Some(wire::Lease { token, epoch, until: Some(super::timestamp(job.lease_until)) }),
        agent: job.agent.to_string(),
        version: job.version.to_string(),
        attempt: job.attempt,
        gate: job.gate.as_str().to_owned(),
        bundle: job.bundle,
        environment: job.environment,
        bundle_digest: job.bundle_digest.to_string(),
    }
}

fn malformed(message: &'static str) -> Status {
    ApiError::new(ErrorCode::InvalidRequest, message).into()
}

fn refusal(error: JobsError) -> Status {
    let code = match &error {
        JobsError::LeaseLost(_) => ErrorCode::LeaseLost,
        JobsError::Refused(_) => ErrorCode::InvalidRequest,
        JobsError::Unavailable(_) => ErrorCode::Unavailable,
    };
    ApiError::new(code, error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(run: &[u8]) -> Part {
        Part::Header(wire::UploadHeader {
            job_id: "run-1".to_owned(),
            token: "t".to_owned(),
            epoch: 2,
            digest: Digest::of(run).to_string(),
            bytes: run.len() as u64,
        })
    }

    fn chunk(bytes: &'static [u8]) -> Part {
        Part::Chunk(Bytes::from_static(bytes))
    }

    async fn check(parts: Vec<Part>) -> Result<(Ticket, Bytes), tonic::Code> {
        let pieces = parts.into_iter().map(|part| Ok(wire::UploadRequest { part: Some(part) }));
        receive(tokio_stream::iter(pieces)).await.map_err(|status| status.code())
    }

    #[tokio::test]
    async fn honest_upload_is_put_together() {
        let (ticket, run) = check(vec![header(b"abcd"), chunk(b"ab"), chunk(b"cd")]).await.expect("honest");
        assert_eq!((ticket.epoch, &run[..]), (2, &b"abcd"[..]));
    }

    #[tokio::test]
    async fn upload_that_is_not_what_it_announced_is_refused() {
        let invalid = Err(tonic::Code::InvalidArgument);
        let without_header = check(vec![chunk(b"ab")]).await.map(drop);
        let too_short = check(vec![header(b"abcd"), chunk(b"ab")]).await.map(drop);
        let too_long = check(vec![header(b"abcd"), chunk(b"abcd"), chunk(b"e")]).await.map(drop);
        let altered = check(vec![header(b"abcd"), chunk(b"abce")]).await.map(drop);
        let two_headers = check(vec![header(b"ab"), header(b"ab")]).await.map(drop);
        let empty = check(Vec::new()).await.map(drop);
        for (case, answer) in [without_header, too_short, too_long, altered, two_headers, empty].into_iter().enumerate()
        {
            assert_eq!(answer, invalid, "case {case}");
        }
    }

    #[tokio::test]
    async fn announced_size_beyond_the_bound_is_refused_before_a_byte_is_kept() {
        let Part::Header(mut huge) = header(b"") else { unreachable!("made above") };
        huge.bytes = u64::MAX;
        assert_eq!(check(vec![Part::Header(huge)]).await.map(drop), Err(tonic::Code::OutOfRange));
    }
}
