//! `a2a.message.accepted_modes`: an agent that has no output for its caller says so, or gives what the caller takes (S-01).

use ostiary_protocol::{MediaType, a2a::TaskState, media_type};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Output, outputs},
    scenarios::media_type as undeclared,
};

/// The check. It warns only: agents SHOULD tailor their output to `acceptedOutputModes`, and need not.
pub(super) struct AcceptedModes;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.accepted_modes",
    version: 1,
    summary: "A caller is given no output of a media type that it does not accept.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["S-01"],
    reads: Reads::Each(&[undeclared::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ContentModeMismatch],
    severity: Severity::Warning,
    liar: "an_output_that_nobody_asked_for_is_warned_about",
};

impl Check for AcceptedModes {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let asked = |a: &Answered<'_>| a.axis(undeclared::AXIS) == undeclared::OUTPUT;
        let refused = answers::of(facts, undeclared::ID).into_iter().filter(|a| asked(a) && a.reply.error().is_some());
        let given = outputs(facts).into_iter().filter(|o| asked(&o.answered));
        let refused = refused.map(|a| facts.pass(a.cite()).at_exchange(a.exchange.id));
        let out: Vec<Finding> = refused.chain(given.map(|o| judge(facts, &o))).collect();
        if out.is_empty() {
            let remedy = "the message was not answered with an output or an error";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer", remedy)];
        }
        out
    }
}

fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Finding {
    let x = output.answered.exchange.id;
    let accepted = MediaType::parse(undeclared::UNDECLARED);
    let given: Vec<MediaType> =
        output.artifacts.iter().flat_map(|a| &a.parts).filter_map(media_type::of_part).collect();
    let other = given.iter().find(|m| Some(*m) != accepted.as_ref());
    match other {
        Some(other) if !matches!(output.state, Some(TaskState::Rejected | TaskState::Failed)) => {
            let expected = format!("{}, which is all that the caller accepts, or a refusal", undeclared::UNDECLARED);
            facts.fail(ReasonCode::ContentModeMismatch, output.cite(), expected, other.to_string()).at_exchange(x)
        }
        _ => facts.pass(output.cite()).at_exchange(x),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, warnings};

    #[test]
    fn an_output_that_nobody_asked_for_is_warned_about() {
        let driven = World::honest().drive();
        assert!(driven.judge(&AcceptedModes).iter().all(|f| f.verdict.outcome() == Outcome::Pass));
        let liar = driven.edit(|i| {
            if i.scenario != undeclared::ID {
                return Edit::Keep;
            }
            let artifact = json!({"artifactId": "a", "parts": [{"data": {}}]});
            let status = json!({"state": "TASK_STATE_COMPLETED"});
            Edit::Replace(i.with_result(json!({"task": {"id": "t", "status": status, "artifacts": [artifact]}})))
        });
        assert_eq!(warnings(&AcceptedModes, &liar), [ReasonCode::ContentModeMismatch]);
    }
}
