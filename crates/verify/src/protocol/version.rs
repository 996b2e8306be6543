//! `a2a.version.enforced`: a request with an unsupported, missing or empty protocol version is refused (I-02, I-03).

use ostiary_protocol::a2a::{Card, ErrorKind, Version};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::version,
};

/// The check.
pub(super) struct VersionEnforced;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.version.enforced",
    version: 2,
    summary: "A request with an unsupported, missing or empty protocol version is refused with VersionNotSupportedError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-02", "I-03", "G-01", "E-02"],
    reads: Reads::Each(&[version::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::VersionNotEnforced, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_served_version_is_caught",
};

impl Check for VersionEnforced {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let old = speaks_0_3(facts);
        let judge = |a: &answers::Answered<'_>| {
            // A missing or empty header means 0.3 (§3.6.2), and 0.3 knows no method of this name: an agent that speaks
            // 0.3 too may say so, and its 0.3 side may find the envelope wrong.
            let missing = matches!(a.axis(version::AXIS), version::MISSING | version::EMPTY);
            let named: &[ErrorKind] = if missing && old {
                &[ErrorKind::VersionNotSupported, ErrorKind::MethodNotFound, ErrorKind::InvalidParams]
            } else {
                &[ErrorKind::VersionNotSupported]
            };
            refusal::judge(facts, a, Refusal { named, tolerated: &[], served: ReasonCode::VersionNotEnforced })
        };
        let asked = [version::UNSUPPORTED, version::MISSING, version::EMPTY];
        answers::of(facts, version::ID)
            .iter()
            .filter(|a| asked.contains(&a.axis(version::AXIS)))
            .flat_map(judge)
            .collect()
    }
}

/// Whether the card offers 0.3, in an interface or in the members of 0.3 beside.
pub(crate) fn speaks_0_3(facts: &Facts<'_>) -> bool {
    let Some(card) = facts.card().map(|v| Card::new(v.clone())) else { return false };
    let is_0_3 = |text: &str| Version::parse_lenient(text) == Some(Version { major: 0, minor: 3 });
    let listed = card.interfaces().iter().any(|i| i.version_text.is_some_and(is_0_3));
    listed || card.text("protocolVersion").is_some_and(is_0_3)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, passes};

    fn answering(which: &str, change: impl Fn(&crate::testing::Item<'_>) -> Edit) -> Driven {
        let this = |i: &crate::testing::Item<'_>| i.axes.get(version::AXIS).is_some_and(|v| v == which);
        World::honest().drive().edit(|i| if this(i) { change(i) } else { Edit::Keep })
    }

    fn served(which: &str) -> Driven {
        answering(which, |i| Edit::Replace(i.with_result(json!({"task": {"id": "t", "status": {}}}))))
    }

    #[test]
    fn refusals_pass() {
        let driven = World::honest().drive();
        passes(&VersionEnforced, &driven);
        assert_eq!(driven.judge(&VersionEnforced).len(), 4, "one twice, none, and an empty one");
    }

    #[test]
    fn a_served_version_is_caught() {
        caught(&VersionEnforced, &served(version::UNSUPPORTED), ReasonCode::VersionNotEnforced);
        caught(&VersionEnforced, &served(version::MISSING), ReasonCode::VersionNotEnforced);
        caught(&VersionEnforced, &served(version::EMPTY), ReasonCode::VersionNotEnforced);
    }

    #[test]
    fn the_code_alone_will_do_and_another_error_will_not() {
        let bare = |code: i64| {
            answering(version::UNSUPPORTED, move |i| {
                Edit::Replace(i.with_error(json!({"code": code, "message": "no"})))
            })
        };
        passes(&VersionEnforced, &bare(-32009));
        caught(&VersionEnforced, &bare(-32603), ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn an_agent_of_both_versions_may_not_know_the_method() {
        let old = World::with_card(|card| {
            let other = json!({"url": "https://agent.example.test/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"});
            card["supportedInterfaces"].as_array_mut().unwrap().push(other);
        });
        let unknown = |i: &crate::testing::Item<'_>| {
            let missing = i.axes.get(version::AXIS).is_some_and(|v| v == version::MISSING || v == version::EMPTY);
            let error = json!({"code": -32601, "message": "no"});
            if missing { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        };
        passes(&VersionEnforced, &old.drive().edit(unknown));
        caught(&VersionEnforced, &World::honest().drive().edit(unknown), ReasonCode::ErrorCodeMismatch);
    }
}
