//! `a2a.version.matched`: versions are compared by major and minor number, and by nothing else (I-02).

use ostiary_protocol::a2a::{Answer, ErrorKind};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::version,
};

/// The check. It warns only: an agent may know more minor versions than it declares, as official SDKs that compare the
/// major number alone take it; and callers should not send a patch number in the first place.
pub(super) struct VersionMatched;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.version.matched",
    version: 1,
    summary: "An unpublished minor version is refused, and a patch number changes nothing.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-02"],
    reads: Reads::Each(&[version::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[
        ReasonCode::VersionNotEnforced,
        ReasonCode::VersionHeaderRejected,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
    ],
    severity: Severity::Warning,
    liar: "a_served_minor_version_and_a_considered_patch_number_are_warned_about",
};

impl Check for VersionMatched {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let judge = |a: &Answered<'_>| match a.axis(version::AXIS) {
            version::MINOR => {
                let named: &[ErrorKind] = &[ErrorKind::VersionNotSupported];
                refusal::judge(facts, a, Refusal { named, tolerated: &[], served: ReasonCode::VersionNotEnforced })
            }
            version::PATCH => vec![patch(facts, a)],
            _ => Vec::new(),
        };
        answers::of(facts, version::ID).iter().flat_map(judge).collect()
    }
}

/// The declared version with a patch number is the declared version (§3.6).
fn patch(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    let x = answered.exchange.id;
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Result(_)) => facts.pass(answered.cite()).at_exchange(x),
        Some(Answer::Error(error)) if error.kind() == Some(ErrorKind::VersionNotSupported) => {
            let expected = format!("{} to be read as the version without its patch number", version::PATCH);
            facts.fail(ReasonCode::VersionHeaderRejected, answered.cite(), expected, error.label()).at_exchange(x)
        }
        other => {
            let remedy = match other {
                Some(Answer::Error(error)) => error.label(),
                _ => "the answer cannot be read".to_owned(),
            };
            facts.inconclusive(ReasonCode::ControlFailed, "a message that works", remedy).at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, warnings};

    #[test]
    fn a_served_minor_version_and_a_considered_patch_number_are_warned_about() {
        let driven = World::honest().drive();
        assert_eq!(warnings(&VersionMatched, &driven), []);
        let passed = driven.judge(&VersionMatched);
        assert!(passed.iter().all(|f| f.verdict.outcome() == Outcome::Pass), "{passed:#?}");
        let liar = driven.edit(|i| match i.axes.get(version::AXIS).map(String::as_str) {
            Some(version::MINOR) => Edit::Replace(i.with_result(json!({"task": {"id": "t", "status": {}}}))),
            Some(version::PATCH) => Edit::Replace(i.with_error(json!({"code": -32009, "message": "no"}))),
            _ => Edit::Keep,
        });
        let told = warnings(&VersionMatched, &liar);
        assert_eq!(told, [ReasonCode::VersionNotEnforced, ReasonCode::VersionHeaderRejected]);
    }

    #[test]
    fn another_error_says_nothing_of_the_patch_number() {
        let busy = World::honest().drive().edit(|i| {
            let patch = i.axes.get(version::AXIS).is_some_and(|v| v == version::PATCH);
            if patch { Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"}))) } else { Edit::Keep }
        });
        let findings = busy.judge(&VersionMatched);
        assert!(findings.iter().any(|f| f.verdict.reason() == Some(ReasonCode::ControlFailed)), "{findings:#?}");
    }
}
