//! `a2a.task.cancel_told`: who waits for a task that is canceled meanwhile is told its end.

use ostiary_protocol::a2a::{StreamItem, TaskState};
use ostiary_record::{End, Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    cancels::{self, Cancel},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{cancel, example},
    story,
};

/// The check.
pub(super) struct CancelTold;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.cancel_told",
    version: 1,
    summary: "Who waits for a task, by a stream or an answer, is told the end that a cancel led to.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-14"],
    reads: Reads::Any(&[cancel::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::CancelUntold],
    severity: Severity::Error,
    liar: "who_waits_and_is_told_another_end_is_caught",
};

impl Check for CancelTold {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let cancels = cancels::of(facts);
        if cancels.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let out: Vec<Finding> = cancels.iter().filter_map(|c| Some(judge(facts, c, c.waiting.as_ref()?))).collect();
        if out.is_empty() && example::long_running(facts.bundle(), facts.card()).is_none() {
            return vec![story::too_brief(facts)];
        }
        if out.is_empty() {
            let remedy = "no task was canceled while somebody waited for it";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "a call that waits", remedy)];
        }
        out
    }
}

fn judge(facts: &Facts<'_>, cancel: &Cancel<'_>, waiting: &Answered<'_>) -> Finding {
    let x = waiting.exchange.id;
    let Some((state, at)) = cancel.last().filter(|(state, _)| state.is_terminal()) else {
        let remedy = "the task did not end after its cancel; see a2a.task.cancel";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "the end of the task", remedy).at_exchange(x);
    };
    let cited = || [waiting.cite(), vec![cancel.cite(at)]].concat();
    let expected = format!("who waits to be told that the task is {state}");
    let untold = |observed: String| facts.fail(ReasonCode::CancelUntold, cited(), expected.clone(), observed);
    let finding = match (told(waiting), &waiting.reply.end) {
        (Some((told, _)), _) if told == state => facts.pass(cited()),
        (_, Some(End::Deadline)) => untold("nothing before our deadline".to_owned()),
        (Some((told, _)), _) if told.is_terminal() => untold(format!("{told}")),
        // a stream that ends early, and an answer that does not wait, have checks of their own
        (Some((told, _)), _) => {
            let finding = untold(format!("an answer that ends with {told}"));
            finding.as_severity(Severity::Warning)
        }
        (None, _) => match waiting.reply.error() {
            Some((error, _)) => untold(error.label()).as_severity(Severity::Warning),
            None => waiting.unusable(facts).unwrap_or_else(|| untold("an empty answer".to_owned())),
        },
    };
    finding.at_exchange(x)
}

/// The last state that the waiting call was told.
fn told(waiting: &Answered<'_>) -> Option<(TaskState, Seq)> {
    let state = |item: &StreamItem<'_>| item.status().and_then(|s| s.state());
    waiting.reply.stream_items().filter_map(|(seq, item)| Some((state(&item.ok()?)?, seq))).last()
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn waiting(state: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            let delivered = i.axes.get(cancel::AXIS).is_some_and(|p| p == cancel::DELIVERY);
            let last = i.answer["result"]["task"]["status"]["state"] == "TASK_STATE_CANCELED";
            if i.operation == "SendMessage" && delivered && last {
                return i.changed(|a| a["result"]["task"]["status"]["state"] = json!(state));
            }
            Edit::Keep
        })
    }

    #[test]
    fn who_waits_is_told() {
        passes(&CancelTold, &World::honest().drive());
    }

    #[test]
    fn who_waits_and_is_told_another_end_is_caught() {
        caught(&CancelTold, &waiting("TASK_STATE_COMPLETED"), ReasonCode::CancelUntold);
    }

    #[test]
    fn an_answer_that_does_not_wait_is_a_warning() {
        let early = waiting("TASK_STATE_WORKING");
        assert_eq!(warnings(&CancelTold, &early), [ReasonCode::CancelUntold; 1]);
    }

    #[test]
    fn an_agent_of_messages_only_has_nothing_to_cancel() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&CancelTold, &world.drive(), Outcome::NotApplicable);
    }
}
