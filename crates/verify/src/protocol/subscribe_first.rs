//! `a2a.subscribe.first`: a subscription begins with the task as it is at that moment.

use ostiary_protocol::a2a::{StreamItem, TaskState, TaskView, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{subscribe_works::nothing_followed, undeclared::declares},
    scenarios::subscribe,
    story::{self, Story},
};

/// The check.
pub(super) struct SubscribeFirst;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.subscribe.first",
    version: 1,
    summary: "A subscription begins with the task, not behind what had been read before.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-01", "A-05"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::StreamOrderInvalid, ReasonCode::StreamSnapshotStale, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "a_subscription_without_the_task_is_caught",
};

impl Check for SubscribeFirst {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let stories: Vec<Story<'_>> =
            [subscribe::TOGETHER, subscribe::ALONE].into_iter().filter_map(|name| story::of(facts, name)).collect();
        let of =
            |s: &Story<'_>| -> Vec<Finding> { s.subscriptions.iter().filter_map(|a| judge(facts, s, a)).collect() };
        let out: Vec<Finding> = stories.iter().flat_map(of).collect();
        match (out.is_empty(), stories.last()) {
            (true, Some(story)) => vec![nothing_followed(facts, story)],
            (true, None) => vec![answers::no_task(facts)],
            (false, _) => out,
        }
    }
}

/// A subscription that is no stream is judged by `a2a.subscribe.works`.
fn judge(facts: &Facts<'_>, story: &Story<'_>, answered: &Answered<'_>) -> Option<Finding> {
    if !answered.reply.streamed {
        return None;
    }
    let (item, seq) = answered.first_item()?;
    let StreamItem::Task(task) = item else {
        let expected = "the task as first event";
        let observed = format!("`{}`", item.member());
        let finding = facts.fail(ReasonCode::StreamOrderInvalid, answered.at(seq), expected, observed);
        return Some(finding.at_exchange(answered.exchange.id));
    };
    let before = story.reads.iter().filter_map(Answered::task).filter(|(_, at)| *at < answered.exchange.sent.seq);
    let finding = match before.max_by_key(|(_, at)| *at).and_then(|(read, at)| Some((stale(read, task)?, at))) {
        Some((observed, at)) => behind(facts, answered, (at, seq), observed),
        None => facts.pass(answered.at(seq)),
    };
    Some(finding.at_exchange(answered.exchange.id))
}

fn behind(facts: &Facts<'_>, answered: &Answered<'_>, (read, seq): (Seq, Seq), observed: String) -> Finding {
    let at = vec![answered.tape.cite(read), answered.tape.cite(seq)];
    facts.fail(ReasonCode::StreamSnapshotStale, at, "the task as it had been read before, or later", observed)
}

/// What shows that a snapshot is older than what was read before. That an end is taken back is judged by
/// `a2a.task.terminal_reopened`.
fn stale(read: TaskView<'_>, snapshot: TaskView<'_>) -> Option<String> {
    if let (Some(then), Some(now)) = (read.status().timestamp(), snapshot.status().timestamp())
        && now < then
    {
        return Some(format!("a status of {now}, after one of {then}"));
    }
    if snapshot.state() == Some(TaskState::Submitted) && read.state().is_some_and(|s| s != TaskState::Submitted) {
        return Some(format!("{}, after it was {}", TaskState::Submitted, read.status().written()));
    }
    let id = |artifact: &'_ Value| artifact.get("artifactId").cloned();
    let has = |artifact: &Value| snapshot.artifacts().iter().any(|a| id(a) == id(artifact));
    let lost = read.artifacts().iter().find(|a| !has(a))?;
    Some(format!("no artifact {}, which had been read", lost.get("artifactId").unwrap_or(&Value::Null)))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    fn first(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| {
            let first = i.operation == "SubscribeToTask" && i.n == 0 && i.is("task");
            if first { change(i) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_subscription_that_begins_with_the_task_passes() {
        passes(&SubscribeFirst, &World::honest().drive());
    }

    #[test]
    fn a_subscription_without_the_task_is_caught() {
        caught(&SubscribeFirst, &first(|_| Edit::Drop), ReasonCode::StreamOrderInvalid);
    }

    #[test]
    fn a_snapshot_of_earlier_is_caught() {
        let old = first(|i| i.changed(|a| a["result"]["task"]["status"]["timestamp"] = json!("2026-11-30T08:00:00Z")));
        caught(&SubscribeFirst, &old, ReasonCode::StreamSnapshotStale);
        let submitted =
            first(|i| i.changed(|a| a["result"]["task"]["status"] = json!({"state": "TASK_STATE_SUBMITTED"})));
        caught(&SubscribeFirst, &submitted, ReasonCode::StreamSnapshotStale);
    }

    #[test]
    fn what_is_not_followed_shows_nothing() {
        is(&SubscribeFirst, &World::without_streaming().drive(), Outcome::NotApplicable);
        let mut messages = World::honest();
        messages.makes_tasks = false;
        is(&SubscribeFirst, &messages.drive(), Outcome::NotApplicable);
    }
}
