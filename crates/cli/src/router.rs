//! Asking the control plane as a router does, over gRPC.

use std::time::Duration;

use ostiary_proto::admission::v1::{
    AdmissionClass, CheckAdmissionRequest, CheckAdmissionResponse, Consistency, DecisionReason, EnforcementMode,
    FullyConsistent, RevisionToken, VersionState, admission_service_client::AdmissionServiceClient,
    consistency::Requirement,
};
use serde::Serialize;
use tonic::{metadata::AsciiMetadataValue, transport::Channel};

use crate::error::CliError;

/// One question; what is left out is denied.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// `namespace/agent`.
    pub agent: String,
    /// Label.
    pub version: String,
    /// The card that the router sees.
    pub card_digest: String,
    /// The profile that it is going to use.
    pub profile: String,
    /// Compared when given.
    pub contract_digest: String,
    /// Compared when given.
    pub producer_digest: String,
    /// On whose behalf.
    pub consumer: String,
    /// Over which interface.
    pub interface: String,
    /// Decides on a canary.
    pub cohort_key: String,
    /// How fresh the answer must be.
    pub fresh: Fresh,
}

/// How fresh an answer must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fresh {
    /// As the replica has it.
    #[default]
    Fast,
    /// Not older than this revision.
    AtLeast(u64),
    /// As the database has it.
    Fully,
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// `ALLOW` or `DENY`.
    pub outcome: String,
    /// Which of the published reasons.
    pub reason: String,
    /// Lifecycle state, where it is known.
    pub state: Option<String>,
    /// Enforcement mode of the namespace.
    pub mode: Option<String>,
    /// What would have been the reason, in a softer mode.
    pub would_deny: Option<String>,
    /// `full` or `reduced`.
    pub class: Option<String>,
    /// Checks that were waived.
    pub waived: Vec<String>,
    /// Until when the answer may be used.
    pub valid_until: Option<String>,
    /// The revision that it was given at.
    pub revision: Option<u64>,
    /// The evidence that it rests on.
    pub evidence_digest: Option<String>,
}

/// A connection for questions.
pub struct Router {
    client: AdmissionServiceClient<Channel>,
    token: Option<AsciiMetadataValue>,
}

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(10);

// === impl Router ===

impl Router {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens there, or the token cannot be sent.
    pub async fn connect(address: &str, token: Option<&str>) -> Result<Self, CliError> {
        let hint = "start the control plane with `ostiary serve`, or give its gRPC address with --grpc or OSTIARY_GRPC";
        let channel = Channel::from_shared(address.to_owned())
            .map_err(|e| CliError::usage(format!("`{address}` is no address: {e}")))?
            .timeout(TIMEOUT)
            .connect_timeout(TIMEOUT)
            .connect()
            .await
            .map_err(|e| CliError::because(format!("cannot reach `{address}`"), &e).hint(hint))?;
        let token = token.map(|token| format!("Bearer {token}").parse()).transpose();
        let token = token.map_err(|_| CliError::usage("the token holds characters that cannot be sent"))?;
        Ok(Self { client: AdmissionServiceClient::new(channel), token })
    }

    /// Asks; a denial is an answer, not an error.
    ///
    /// # Errors
    /// When the control plane could not decide, which for a router means deny.
    pub async fn ask(&mut self, question: &Question) -> Result<Answer, CliError> {
        let mut request = tonic::Request::new(question.message());
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        let answered = self.client.check_admission(request).await;
        let answer = answered.map_err(|status| {
            let hint = match status.code() {
                tonic::Code::Unauthenticated => {
                    "give a token with --token-file, or in OSTIARY_TOKEN; a router denies now"
                }
                _ => "a router denies in this case",
            };
            CliError::could_not_run(format!("the control plane could not decide: {}", status.message()))
                .code(format!("{:?}", status.code()))
                .hint(hint)
        })?;
        Ok(Answer::of(answer.get_ref()))
    }
}

// === impl Question ===

impl Question {
    fn message(&self) -> CheckAdmissionRequest {
        let requirement = match self.fresh {
            Fresh::Fast => None,
            Fresh::AtLeast(revision) => Some(Requirement::AtLeastAsFresh(RevisionToken { revision })),
            Fresh::Fully => Some(Requirement::FullyConsistent(FullyConsistent {})),
        };
        CheckAdmissionRequest {
            agent: self.agent.clone(),
            version: self.version.clone(),
            card_digest: self.card_digest.clone(),
            profile: self.profile.clone(),
            contract_digest: self.contract_digest.clone(),
            producer_digest: self.producer_digest.clone(),
            consumer: self.consumer.clone(),
            interface: self.interface.clone(),
            cohort_key: self.cohort_key.clone(),
            consistency: requirement.map(|requirement| Consistency { requirement: Some(requirement) }),
        }
    }
}

// === impl Answer ===

impl Answer {
    fn of(answer: &CheckAdmissionResponse) -> Self {
        let until = answer.valid_until.as_ref().and_then(|at| jiff::Timestamp::new(at.seconds, at.nanos).ok());
        Self {
            // a value that this program does not know is a denial
            outcome: short(answer.outcome().as_str_name(), "OUTCOME_").unwrap_or_else(|| "DENY".to_owned()),
            reason: short(answer.reason().as_str_name(), REASON).unwrap_or_else(|| "UNKNOWN".to_owned()),
            state: short(VersionState::try_from(answer.state).unwrap_or_default().as_str_name(), "VERSION_STATE_"),
            mode: lower(EnforcementMode::try_from(answer.mode).unwrap_or_default().as_str_name(), "ENFORCEMENT_MODE_"),
            would_deny: short(DecisionReason::try_from(answer.would_deny).unwrap_or_default().as_str_name(), REASON),
            class: lower(AdmissionClass::try_from(answer.class).unwrap_or_default().as_str_name(), "ADMISSION_CLASS_"),
            waived: answer.waived.clone(),
            valid_until: until.map(|at| at.to_string()),
            revision: answer.revision.as_ref().map(|token| token.revision),
            evidence_digest: Some(answer.evidence_digest.clone()).filter(|digest| !digest.is_empty()),
        }
    }

    /// Whether the router may dispatch.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.outcome == "ALLOW"
    }
}

const REASON: &str = "DECISION_REASON_";

/// A value's name without its prefix; none for the value that says nothing.
fn short(name: &str, prefix: &str) -> Option<String> {
    let name = name.strip_prefix(prefix).unwrap_or(name);
    (name != "UNSPECIFIED").then(|| name.to_owned())
}

fn lower(name: &str, prefix: &str) -> Option<String> {
    short(name, prefix).map(|name| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use ostiary_proto::admission::v1::Outcome;

    use super::*;

    #[test]
    fn what_is_not_understood_is_a_denial() {
        let strange = CheckAdmissionResponse { outcome: 77, ..CheckAdmissionResponse::default() };
        let answer = Answer::of(&strange);
        assert_eq!((answer.outcome.as_str(), answer.reason.as_str(), answer.allows()), ("DENY", "UNKNOWN", false));
    }

    #[test]
    fn an_answer_is_spelled_as_published() {
        let allow = CheckAdmissionResponse {
            outcome: Outcome::Allow.into(),
            reason: DecisionReason::Allowed.into(),
            state: VersionState::Active.into(),
            mode: EnforcementMode::Enforce.into(),
            class: AdmissionClass::Full.into(),
            ..CheckAdmissionResponse::default()
        };
        let answer = Answer::of(&allow);
        assert!(answer.allows());
        assert_eq!((answer.reason.as_str(), answer.state.as_deref()), ("ALLOWED", Some("ACTIVE")));
        assert_eq!((answer.mode.as_deref(), answer.class.as_deref()), (Some("enforce"), Some("full")));
    }
}
