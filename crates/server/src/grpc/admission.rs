//! `CheckAdmission`: one look-up in memory and one pure decision. No database is asked on the way.

use std::{sync::Arc, time::Duration};

use ostiary_admission::{Decision, Index, Mode, Observed, Outcome, Query, View as _};
use ostiary_canon::Revision;
use ostiary_domain::Clock;
use ostiary_proto::admission::v1::{
    self as wire, admission_service_server::AdmissionService, consistency::Requirement,
};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::identity;
use crate::{
    auth::{Act, TokenTable},
    error::{ApiError, ErrorCode},
    feed::Feed,
    metrics::Metrics,
};

/// Answers routers.
#[derive(Clone)]
pub struct AdmissionApi {
    index: Arc<Index>,
    clock: Arc<dyn Clock>,
    guard: Option<Guard>,
    freshness: Option<Freshness>,
}

/// What stands in front of the decision in a real server, and what counts behind it.
#[derive(Clone)]
pub struct Guard {
    /// Who may ask.
    pub tokens: Arc<TokenTable>,
    /// What was answered.
    pub metrics: Arc<Metrics>,
}

#[derive(Clone)]
struct Freshness {
    feed: Arc<Feed>,
    patience: Duration,
}

// === impl AdmissionApi ===

impl AdmissionApi {
    /// The decision alone: no token is asked for and nothing is counted. For benchmarks.
    #[must_use]
    pub fn bare(index: Arc<Index>, clock: Arc<dyn Clock>) -> Self {
        Self { index, clock, guard: None, freshness: None }
    }

    /// The decision behind tokens and counters, as it ships; without a feed an answer is never fresher than the index.
    #[must_use]
    pub fn guarded(index: Arc<Index>, clock: Arc<dyn Clock>, guard: Guard) -> Self {
        Self { guard: Some(guard), ..Self::bare(index, clock) }
    }

    /// The same, able to wait for a revision that the index has not reached yet.
    #[must_use]
    pub fn fed_by(self, feed: Arc<Feed>, patience: Duration) -> Self {
        Self { freshness: Some(Freshness { feed, patience }), ..self }
    }

    /// Whether the caller may ask, and whether about this namespace.
    fn admits(&self, metadata: &MetadataMap, namespace: &str) -> Result<bool, Status> {
        let Some(guard) = &self.guard else { return Ok(true) };
        let caller = identity::caller(&guard.tokens, metadata)?;
        caller.require(Act::Check)?;
        Ok(caller.reaches(namespace))
    }

    /// The revision that the answer must not be older than, after waiting for it.
    async fn at_least(&self, requirement: Option<Requirement>) -> Result<Option<Revision>, Status> {
        let wanted = match (requirement, &self.freshness) {
            (None | Some(Requirement::MinimizeLatency(_)), _) => return Ok(None),
            (Some(Requirement::AtLeastAsFresh(token)), _) => Revision(token.revision),
            (Some(Requirement::FullyConsistent(_)), Some(freshness)) => {
                freshness.feed.newest().await.map_err(|error| {
                    ApiError::new(ErrorCode::Unavailable, "the database does not say how old this view is")
                        .because(error)
                })?
            }
            (Some(Requirement::FullyConsistent(_)), None) => {
                return Err(ApiError::new(ErrorCode::Unavailable, "this view has no database to compare with").into());
            }
        };
        if let Some(freshness) = &self.freshness {
            freshness.feed.reach(wanted, freshness.patience).await;
        }
        Ok(Some(wanted))
    }
}

#[tonic::async_trait]
impl AdmissionService for AdmissionApi {
    async fn check_admission(
        &self,
        request: Request<wire::CheckAdmissionRequest>,
    ) -> Result<Response<wire::CheckAdmissionResponse>, Status> {
        let (metadata, _, message) = request.into_parts();
        let query = query(&message);
        let decision = if self.admits(&metadata, query.namespace())? {
            let at_least = self.at_least(message.consistency.and_then(|c| c.requirement)).await?;
            self.index.check(&query, at_least, self.clock.now())
        } else {
            Decision::forbidden(self.index.revision(), self.clock.now())
        };
        if let Some(guard) = &self.guard {
            guard.metrics.decided(decision.reason, decision.would_deny);
        }
        Ok(Response::new(to_wire(&decision)))
    }

    async fn batch_check_admission(
        &self,
        _: Request<wire::BatchCheckAdmissionRequest>,
    ) -> Result<Response<wire::BatchCheckAdmissionResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn resolve_version(
        &self,
        _: Request<wire::ResolveVersionRequest>,
    ) -> Result<Response<wire::ResolveVersionResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    type WatchAdmissionsStream = tokio_stream::Empty<Result<wire::WatchAdmissionsResponse, Status>>;

    async fn watch_admissions(
        &self,
        _: Request<tonic::Streaming<wire::WatchAdmissionsRequest>>,
    ) -> Result<Response<Self::WatchAdmissionsStream>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    type GetSnapshotStream = tokio_stream::Empty<Result<wire::GetSnapshotResponse, Status>>;

    async fn get_snapshot(
        &self,
        _: Request<wire::GetSnapshotRequest>,
    ) -> Result<Response<Self::GetSnapshotStream>, Status> {
        Err(Status::unimplemented("not yet"))
    }
}

fn query(message: &wire::CheckAdmissionRequest) -> Query<'_> {
    fn given(text: &str) -> Option<&str> {
        (!text.is_empty()).then_some(text)
    }
    Query {
        agent: &message.agent,
        version: &message.version,
        card_digest: Observed::read(&message.card_digest),
        profile: given(&message.profile),
        contract_digest: Observed::read(&message.contract_digest),
        producer_digest: Observed::read(&message.producer_digest),
        consumer: given(&message.consumer),
        interface: given(&message.interface),
        cohort_key: given(&message.cohort_key),
    }
}

fn to_wire(decision: &Decision) -> wire::CheckAdmissionResponse {
    wire::CheckAdmissionResponse {
        outcome: match decision.outcome {
            Outcome::Allow => wire::Outcome::Allow,
            Outcome::Deny => wire::Outcome::Deny,
        }
        .into(),
        reason: reason(decision.reason).into(),
        state: decision.state.map_or(wire::VersionState::Unspecified, state).into(),
        mode: match decision.mode {
            Mode::Observe => wire::EnforcementMode::Observe,
            Mode::Warn => wire::EnforcementMode::Warn,
            Mode::Enforce => wire::EnforcementMode::Enforce,
        }
        .into(),
        would_deny: decision.would_deny.map_or(wire::DecisionReason::Unspecified, reason).into(),
        class: decision.class.map_or(wire::AdmissionClass::Unspecified, class).into(),
        waived: decision.waived.iter().flat_map(|waived| waived.iter()).map(ToString::to_string).collect(),
        valid_until: Some(super::timestamp(decision.valid_until)),
        revision: Some(wire::RevisionToken { revision: decision.revision.0 }),
        evidence_digest: decision.evidence_digest.map(|digest| digest.to_string()).unwrap_or_default(),
    }
}

const fn class(class: ostiary_admission::AdmissionClass) -> wire::AdmissionClass {
    match class {
        ostiary_admission::AdmissionClass::Full => wire::AdmissionClass::Full,
        ostiary_admission::AdmissionClass::Reduced => wire::AdmissionClass::Reduced,
    }
}

const fn state(state: ostiary_admission::State) -> wire::VersionState {
    use ostiary_admission::State;
    match state {
        State::Draft => wire::VersionState::Draft,
        State::StaticValidated => wire::VersionState::StaticValidated,
        State::ConformanceVerified => wire::VersionState::ConformanceVerified,
        State::SecurityVerified => wire::VersionState::SecurityVerified,
        State::RegistryAdmitted => wire::VersionState::RegistryAdmitted,
        State::Canary => wire::VersionState::Canary,
        State::Active => wire::VersionState::Active,
        State::Quarantined => wire::VersionState::Quarantined,
        State::Deprecated => wire::VersionState::Deprecated,
        State::Rejected => wire::VersionState::Rejected,
    }
}

const fn reason(reason: ostiary_admission::DecisionReason) -> wire::DecisionReason {
    use ostiary_admission::DecisionReason as R;
    match reason {
        R::Allowed => wire::DecisionReason::Allowed,
        R::AllowedWouldDeny => wire::DecisionReason::AllowedWouldDeny,
        R::VersionUnknown => wire::DecisionReason::VersionUnknown,
        R::NotAdmitted => wire::DecisionReason::NotAdmitted,
        R::EvidenceMissing => wire::DecisionReason::EvidenceMissing,
        R::EvidenceExpired => wire::DecisionReason::EvidenceExpired,
        R::EvidenceStale => wire::DecisionReason::EvidenceStale,
        R::EvidenceFailed => wire::DecisionReason::EvidenceFailed,
        R::SignatureInvalid => wire::DecisionReason::SignatureInvalid,
        R::KeyRevoked => wire::DecisionReason::KeyRevoked,
        R::ObservedDigestMissing => wire::DecisionReason::ObservedDigestMissing,
        R::CardDigestMismatch => wire::DecisionReason::CardDigestMismatch,
        R::ContractDigestMismatch => wire::DecisionReason::ContractDigestMismatch,
        R::ProducerDigestMismatch => wire::DecisionReason::ProducerDigestMismatch,
        R::ProfileMissing => wire::DecisionReason::ProfileMissing,
        R::ProfileNotVerified => wire::DecisionReason::ProfileNotVerified,
        R::Revalidating => wire::DecisionReason::Revalidating,
        R::RouteDisabled => wire::DecisionReason::RouteDisabled,
        R::CanaryStopped => wire::DecisionReason::CanaryStopped,
        R::CanaryCohortExcluded => wire::DecisionReason::CanaryCohortExcluded,
        R::Quarantined => wire::DecisionReason::Quarantined,
        R::Deprecated => wire::DecisionReason::Deprecated,
        R::Rejected => wire::DecisionReason::Rejected,
        R::RevisionNotReached => wire::DecisionReason::RevisionNotReached,
        R::ViewStale => wire::DecisionReason::ViewStale,
        R::NamespaceForbidden => wire::DecisionReason::NamespaceForbidden,
    }
}

#[cfg(test)]
mod tests {
    use ostiary_admission::DecisionReason;

    use super::*;

    #[test]
    fn reasons_keep_their_published_names_on_the_wire() {
        for known in DecisionReason::ALL {
            let name = reason(known).as_str_name();
            assert_eq!(name.strip_prefix("DECISION_REASON_"), Some(known.as_str()));
        }
        for known in ostiary_admission::State::ALL {
            assert_eq!(state(known).as_str_name().strip_prefix("VERSION_STATE_"), Some(known.as_str()));
        }
    }

    #[test]
    fn unreadable_digest_is_not_the_same_as_none() {
        let message = wire::CheckAdmissionRequest { card_digest: "latest".to_owned(), ..Default::default() };
        assert_eq!(query(&message).card_digest, Observed::Unreadable);
        assert_eq!(query(&wire::CheckAdmissionRequest::default()).card_digest, Observed::Omitted);
    }
}
