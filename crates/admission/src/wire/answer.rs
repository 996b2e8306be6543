//! Answers.

use jiff::Timestamp;
use ostiary_canon::Revision;
use ostiary_proto::admission::v1 as proto;

use super::{timestamp_from_wire, timestamp_to_wire, words};
use crate::{
    decide::{Decision, Outcome},
    mode::Mode,
    reason::DecisionReason,
};

/// A decision as a response.
#[must_use]
pub fn decision_to_wire(decision: &Decision) -> proto::CheckAdmissionResponse {
    proto::CheckAdmissionResponse {
        outcome: match decision.outcome {
            Outcome::Allow => proto::Outcome::Allow,
            Outcome::Deny => proto::Outcome::Deny,
        }
        .into(),
        reason: words::reason(decision.reason).into(),
        state: decision.state.map_or(proto::VersionState::Unspecified, words::state).into(),
        mode: words::mode(decision.mode).into(),
        would_deny: decision.would_deny.map_or(proto::DecisionReason::Unspecified, words::reason).into(),
        class: decision.class.map_or(proto::AdmissionClass::Unspecified, words::class).into(),
        waived: decision.waived.iter().flat_map(|waived| waived.iter()).map(ToString::to_string).collect(),
        valid_until: Some(timestamp_to_wire(decision.valid_until)),
        revision: Some(proto::RevisionToken { revision: decision.revision.0 }),
        evidence_digest: decision.evidence_digest.map(|digest| digest.to_string()).unwrap_or_default(),
    }
}

/// Reads a response. It is an ALLOW only where outcome and reason both say so in words that we know and it says until
/// when; a reason that we do not know becomes NOT_ADMITTED.
#[must_use]
pub fn decision_from_wire(response: &proto::CheckAdmissionResponse) -> Decision {
    let reason = words::reason_of(response.reason);
    let valid_until = response.valid_until.as_ref().and_then(timestamp_from_wire);
    let allows = response.outcome == i32::from(proto::Outcome::Allow)
        && matches!(reason, Some(DecisionReason::Allowed | DecisionReason::AllowedWouldDeny))
        && valid_until.is_some();
    let why = match reason {
        Some(reason) if allows => reason,
        Some(DecisionReason::Allowed | DecisionReason::AllowedWouldDeny) | None => DecisionReason::NotAdmitted,
        Some(reason) => reason,
    };
    let waived: Vec<Box<str>> = response.waived.iter().map(|check| check.as_str().into()).collect();
    Decision {
        outcome: if allows { Outcome::Allow } else { Outcome::Deny },
        reason: why,
        state: words::state_of(response.state),
        mode: words::mode_of(response.mode).unwrap_or(Mode::Enforce),
        would_deny: words::reason_of(response.would_deny),
        class: words::class_of(response.class),
        waived: (!waived.is_empty()).then(|| waived.into()),
        // A denial that does not say how long it holds is asked again.
        valid_until: valid_until.unwrap_or(Timestamp::MIN),
        revision: Revision(response.revision.map_or(0, |token| token.revision)),
        evidence_digest: response.evidence_digest.parse().ok(),
    }
}
