//! `a2a.version.accepted`: a request with the version that the interface declares is not refused for it (I-02).

use ostiary_protocol::a2a::ErrorKind;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::send,
};

/// The check.
pub(super) struct VersionAccepted;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.version.accepted",
    version: 1,
    summary: "A request with the declared protocol version, as Major.Minor, is not refused for its version.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-02"],
    reads: Reads::Any(&[send::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::VersionHeaderRejected],
    severity: Severity::Error,
    liar: "a_refused_declared_version_is_caught",
};

impl Check for VersionAccepted {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        answers::asking(facts, "SendMessage").iter().map(|a| judge(facts, a)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    let x = answered.exchange.id;
    match answered.reply.error() {
        Some((error, _)) if error.kind() == Some(ErrorKind::VersionNotSupported) => {
            let expected = "the version that the interface declares to be accepted";
            facts.fail(ReasonCode::VersionHeaderRejected, answered.cite(), expected, error.label()).at_exchange(x)
        }
        Some((error, _)) => {
            let remedy = format!("the message was refused before its version could tell: {}", error.label());
            facts.inconclusive(ReasonCode::ControlFailed, "a message that works", remedy).at_exchange(x)
        }
        None if answered.reply.result().is_some() => facts.pass(answered.cite()).at_exchange(x),
        None => {
            let remedy = "the answer is malformed";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer that can be read", remedy).at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, passes};

    #[test]
    fn the_declared_version_passes() {
        passes(&VersionAccepted, &World::honest().drive());
    }

    #[test]
    fn a_refused_declared_version_is_caught() {
        let refused = World::honest().drive().edit(|i| {
            let error = json!({"code": -32009, "message": "no"});
            if i.scenario == send::ID && i.operation == "SendMessage" {
                Edit::Replace(i.with_error(error))
            } else {
                Edit::Keep
            }
        });
        caught(&VersionAccepted, &refused, ReasonCode::VersionHeaderRejected);
    }
}
