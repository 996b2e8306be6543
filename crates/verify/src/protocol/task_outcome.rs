//! `a2a.task.outcome`: an example of which the contract says that it fails, is rejected or waits for a credential does so
//! (T-01).

use ostiary_protocol::a2a::{StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::outcome,
};

/// The check.
pub(super) struct TaskOutcome;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.outcome",
    version: 1,
    summary: "The task of an example stands still where the contract says.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-01", "S-01"],
    reads: Reads::Any(&[outcome::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::CapabilityNotKept],
    severity: Severity::Error,
    liar: "a_failure_that_passes_for_success_is_caught",
};

impl Check for TaskOutcome {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if facts.tapes().is_empty() {
            return vec![facts.not_applicable("skills.yaml", "/skill_contract/examples/leads_to")];
        }
        let all = answers::all(facts);
        facts.tapes().iter().filter_map(|tape| judge(facts, *tape, &all)).collect()
    }
}

fn judge(facts: &Facts<'_>, tape: Tape<'_>, all: &[Answered<'_>]) -> Option<Finding> {
    let wanted = outcome::state_of(&tape.recording.axes)?;
    let own: Vec<&Answered<'_>> = all.iter().filter(|a| a.tape.index == tape.index).collect();
    let sent = own.iter().find(|a| a.operation() == "SendMessage")?;
    let x = sent.exchange.id;
    if let Some(unusable) = sent.unusable(facts) {
        return Some(unusable);
    }
    if sent.credential_refused() {
        let remedy = "the credential was refused";
        return Some(facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x));
    }
    let finding = match (still(&own), sent.first_item()) {
        (Some((seq, state)), _) if state == wanted => {
            facts.pass(vec![tape.cite(sent.exchange.sent.seq), tape.cite(seq)])
        }
        (Some((_, state)), _) => failed(facts, sent, wanted, state.to_string()),
        (None, Some((StreamItem::Message(_), _))) => failed(facts, sent, wanted, "a message without a task".to_owned()),
        (None, Some(_)) => {
            let remedy = "the task did not stand still in time";
            facts.inconclusive(ReasonCode::TargetUnresponsive, "the outcome of the task", remedy)
        }
        (None, None) => {
            let label = sent.reply.error().map_or_else(|| "no task".to_owned(), |(error, _)| error.label());
            failed(facts, sent, wanted, label)
        }
    };
    Some(finding.at_exchange(x))
}

fn failed(facts: &Facts<'_>, sent: &Answered<'_>, wanted: TaskState, observed: String) -> Finding {
    let expected = format!("a task that comes to {wanted}");
    facts.fail(ReasonCode::CapabilityNotKept, sent.cite(), expected, observed)
}

/// The first state in which the task stood still. That it leaves it is judged elsewhere.
fn still(own: &[&Answered<'_>]) -> Option<(Seq, TaskState)> {
    let states = own.iter().filter_map(|a| match a.operation() {
        "GetTask" => a.task().and_then(|(task, seq)| Some((seq, task.state()?))),
        _ => a.first_item().and_then(|(item, seq)| Some((seq, item.status()?.state()?))),
    });
    states.into_iter().find(|(_, state)| state.is_terminal() || state.is_interrupted())
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn outcomes_as_the_contract_says_pass() {
        passes(&TaskOutcome, &World::asking().drive());
    }

    #[test]
    fn a_failure_that_passes_for_success_is_caught() {
        for told in ["failed", "rejected"] {
            let completed = World::asking().drive().edit(|i| {
                if i.scenario != outcome::ID || i.axes.get(outcome::AXIS).is_none_or(|o| o != told) {
                    return Edit::Keep;
                }
                i.changed(|a| {
                    for at in ["/result/status", "/result/task/status"] {
                        if let Some(status) = a.pointer_mut(at) {
                            status["state"] = json!("TASK_STATE_COMPLETED");
                        }
                    }
                })
            });
            caught(&TaskOutcome, &completed, ReasonCode::CapabilityNotKept);
        }
    }

    #[test]
    fn a_contract_of_successes_only_is_not_judged() {
        is(&TaskOutcome, &World::honest().drive(), Outcome::NotApplicable);
    }
}
