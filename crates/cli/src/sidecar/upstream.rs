//! The control plane, asked on behalf of others with our own token.

use ostiary_admission::ViewScope;
use ostiary_canon::Revision;
use ostiary_proto::{
    admission::v1::{
        CheckAdmissionRequest, Consistency, FullyConsistent, GetSnapshotRequest, GetSnapshotResponse,
        admission_service_client::AdmissionServiceClient, consistency::Requirement,
    },
    drift::v1::{
        ReportDriftRequest, ReportDriftResponse, ReportOutcomesRequest, ReportOutcomesResponse,
        drift_service_client::DriftServiceClient, drift_service_server::DriftService,
    },
};
use tonic::{
    Request, Response, Status, Streaming,
    metadata::AsciiMetadataValue,
    transport::{Channel, Endpoint},
};

/// A connection that is made when it is first needed.
#[derive(Clone)]
pub(crate) struct Upstream {
    channel: Channel,
    /// What reports may be about, however far the token reaches.
    scope: ViewScope,
    token: AsciiMetadataValue,
}

// === impl Upstream ===

impl Upstream {
    /// The control plane behind `endpoint`. `None` when no header can carry the token.
    pub(crate) fn new(endpoint: &Endpoint, token: &str, scope: ViewScope) -> Option<Self> {
        let mut token: AsciiMetadataValue = format!("Bearer {token}").parse().ok()?;
        token.set_sensitive(true);
        Some(Self { channel: endpoint.connect_lazy(), scope, token })
    }

    /// The newest revision that the database has.
    pub(crate) async fn newest(&self, namespace: &str) -> Result<Revision, Status> {
        // a question about nothing, answered at the newest revision there is
        let question = CheckAdmissionRequest {
            agent: format!("{namespace}/none"),
            consistency: Some(Consistency { requirement: Some(Requirement::FullyConsistent(FullyConsistent {})) }),
            ..CheckAdmissionRequest::default()
        };
        let asked = AdmissionServiceClient::new(self.channel.clone()).check_admission(self.ours(question)).await?;
        let revision = asked.into_inner().revision.map(|token| Revision(token.revision));
        revision.ok_or_else(|| Status::unavailable("the control plane names no revision"))
    }

    /// A snapshot of a scope.
    pub(crate) async fn snapshot(&self, scope: String) -> Result<Streaming<GetSnapshotResponse>, Status> {
        let request = self.ours(GetSnapshotRequest { scope });
        Ok(AdmissionServiceClient::new(self.channel.clone()).get_snapshot(request).await?.into_inner())
    }

    /// Refuses what is about agents that nobody here may ask about.
    fn holds(&self, agent: &str) -> Result<(), Status> {
        let namespace = agent.split_once('/').map_or(agent, |(namespace, _)| namespace);
        if self.scope.holds(namespace) {
            return Ok(());
        }
        Err(Status::permission_denied(format!("this sidecar is for `{}` and reports nothing else", self.scope)))
    }

    /// The message under our token, whatever the caller's was.
    fn ours<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", self.token.clone());
        request
    }
}

#[tonic::async_trait]
impl DriftService for Upstream {
    async fn report_drift(&self, report: Request<ReportDriftRequest>) -> Result<Response<ReportDriftResponse>, Status> {
        self.holds(&report.get_ref().agent)?;
        DriftServiceClient::new(self.channel.clone()).report_drift(self.ours(report.into_inner())).await
    }

    async fn report_outcomes(
        &self,
        report: Request<ReportOutcomesRequest>,
    ) -> Result<Response<ReportOutcomesResponse>, Status> {
        report.get_ref().outcomes.iter().try_for_each(|counted| self.holds(&counted.agent))?;
        DriftServiceClient::new(self.channel.clone()).report_outcomes(self.ours(report.into_inner())).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_are_about_the_scope_and_nothing_else() {
        let endpoint = Endpoint::from_static("http://127.0.0.1:1");
        let own = Upstream::new(&endpoint, "token", ViewScope::Namespace("acme".into())).expect("a header");
        for (agent, held) in [("acme/a", true), ("other/a", false), ("acme", true), ("", false), ("acme2/a", false)] {
            assert_eq!(own.holds(agent).is_ok(), held, "{agent}");
        }
        let report = ReportDriftRequest { agent: "other/a".to_owned(), ..ReportDriftRequest::default() };
        let refused = own.report_drift(Request::new(report)).await.expect_err("refused here");
        assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    }
}
