//! `a2a.answer.lost`: who gets no answer reads the task, and the task has gone on (W-07 as far as its state goes, A-14, A-05).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    protocol::lost::judge_all,
    scenarios::lost,
};

/// The check.
pub(super) struct AnswerLost;

static SPEC: CheckSpec = CheckSpec {
    id: lost::DISTURBED,
    version: 1,
    summary: "An answer that is broken off on the way, reset or never there ends no task: it is found, and goes on to its end.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-07", "A-14", "A-05", "G-01"],
    reads: Reads::Any(&[lost::DISTURBED]),
    depends: &[Input::Candidate, Input::Contract, Input::Environment],
    reasons: &[ReasonCode::RecoveryFailed],
    severity: Severity::Error,
    liar: "a_task_that_is_lost_with_its_answer_is_caught",
};

impl Check for AnswerLost {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if facts.tapes().is_empty() {
            let remedy = "permit `faults: [reset, latency, partial_response]` in environment.yaml";
            return vec![facts.inconclusive(ReasonCode::ScenarioNotRun, "a disturbed way to the candidate", remedy)];
        }
        judge_all(facts, ReasonCode::RecoveryFailed)
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{End, Kind, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    fn disturbed() -> World {
        let mut world = World::honest();
        world.environment.faults = ["reset", "latency", "partial_response"].map(str::to_owned).to_vec();
        world
    }

    #[test]
    fn a_task_that_outlives_its_answer_passes_however_the_answer_is_lost() {
        let driven = disturbed().drive();
        passes(&AnswerLost, &driven);
        let mut ends: Vec<(String, End)> = Vec::new();
        for recording in driven.run.recordings.iter().filter(|r| r.scenario.0 == lost::DISTURBED) {
            let sent =
                recording.exchanges().into_iter().filter(|x| x.intent.is_some_and(|op| op.0.starts_with("Send")));
            let lost = sent.last().expect("a message is sent").id;
            let end = recording.events.iter().find_map(|e| match &e.kind {
                Kind::Ended { x, how } if *x == lost => Some(how.clone()),
                _ => None,
            });
            ends.push((recording.axes.values[lost::AXIS].clone(), end.expect("it ended")));
        }
        let reset = End::PeerReset { why: "connection reset".to_owned() };
        let expect = [(lost::RESET, reset.clone()), (lost::TIMEOUT, End::LocalAbort), (lost::PARTIAL, reset)];
        assert_eq!(ends, expect.map(|(how, end)| (how.to_owned(), end)));
    }

    #[test]
    fn a_task_that_is_lost_with_its_answer_is_caught() {
        let canceled = disturbed().drive().edit(|i| {
            if i.scenario == lost::DISTURBED && i.operation == "GetTask" {
                return i.changed(|a| a["result"]["status"]["state"] = json!("TASK_STATE_CANCELED"));
            }
            Edit::Keep
        });
        caught(&AnswerLost, &canceled, ReasonCode::RecoveryFailed);
    }

    #[test]
    fn without_faults_in_the_environment_nothing_is_known() {
        is(&AnswerLost, &World::honest().drive(), Outcome::Inconclusive);
    }
}
