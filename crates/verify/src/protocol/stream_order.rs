//! `a2a.stream.first` and `a2a.stream.items`: a stream begins with its task or is one message, and then carries
//! updates of that task only.

use ostiary_protocol::a2a::{StreamItem, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::stream,
};

/// One of the two checks.
pub(super) struct StreamOrder {
    spec: &'static CheckSpec,
    judge: fn(&Facts<'_>, &Answered<'_>, &[(Seq, StreamItem<'_>)]) -> Finding,
}

const fn spec(
    id: &'static str,
    summary: &'static str,
    covers: &'static [&'static str],
    liar: &'static str,
) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary,
        layer: Layer::Protocol,
        gate: Gate::Conformance,
        covers,
        reads: Reads::Any(&[stream::ID]),
        depends: &[Input::Candidate, Input::Card],
        reasons: &[ReasonCode::StreamOrderInvalid],
        severity: Severity::Error,
        liar,
    }
}

static FIRST: CheckSpec = spec(
    "a2a.stream.first",
    "A stream begins with its task, or is one single message.",
    &["A-01"],
    "a_stream_that_begins_with_an_update_is_caught",
);
static ITEMS: CheckSpec = spec(
    "a2a.stream.items",
    "A task's stream carries status and artifact updates of that task only.",
    &["A-02"],
    "an_update_of_another_task_is_caught",
);

// === impl StreamOrder ===

impl StreamOrder {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self { spec: &FIRST, judge: first }, Self { spec: &ITEMS, judge: rest }];
}

impl Check for StreamOrder {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let judge = |a: &Answered<'_>| {
            if let Some(nothing) = answers::no_stream(facts, a) {
                return nothing;
            }
            let items: Vec<_> = a.reply.stream_items().filter_map(|(seq, i)| Some((seq, i.ok()?))).collect();
            (self.judge)(facts, a, &items).at_exchange(a.exchange.id)
        };
        answers::asking(facts, "SendStreamingMessage").iter().map(judge).collect()
    }
}

fn first(facts: &Facts<'_>, answered: &Answered<'_>, items: &[(Seq, StreamItem<'_>)]) -> Finding {
    let (seq, item) = &items[0];
    match item {
        StreamItem::Task(_) => facts.pass(answered.at(*seq)),
        StreamItem::Message(_) if items.len() == 1 => facts.pass(answered.at(*seq)),
        StreamItem::Message(_) => {
            let observed = format!("{} events after the message", items.len() - 1);
            facts.fail(ReasonCode::StreamOrderInvalid, answered.at(items[1].0), "one single message", observed)
        }
        StreamItem::StatusUpdate(_) | StreamItem::ArtifactUpdate(_) => {
            let expected = "the task, or a single message, as first event";
            let observed = format!("`{}`", item.member());
            facts.fail(ReasonCode::StreamOrderInvalid, answered.at(*seq), expected, observed)
        }
    }
}

/// The task may come again as a snapshot: one binding allows it before closing, and it tells no untruth in the others.
fn rest(facts: &Facts<'_>, answered: &Answered<'_>, items: &[(Seq, StreamItem<'_>)]) -> Finding {
    let task = items[0].1.task_id();
    let expected = || format!("updates of the task {} only", task.unwrap_or("of the stream"));
    let fail =
        |seq: Seq, observed: String| facts.fail(ReasonCode::StreamOrderInvalid, answered.at(seq), expected(), observed);
    if matches!(items[0].1, StreamItem::Message(_)) {
        return answers::message_only(facts);
    }
    for (seq, item) in &items[1..] {
        if matches!(item, StreamItem::Message(_)) {
            return fail(*seq, "`message`".to_owned());
        }
        if item.task_id() != task {
            return fail(*seq, format!("`{}` of the task {}", item.member(), item.task_id().unwrap_or("without id")));
        }
    }
    facts.pass(answers::some_of(items.iter().map(|(seq, _)| answered.tape.cite(*seq)).collect()))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, unstreamed};

    const FIRST: StreamOrder = StreamOrder { spec: &super::FIRST, judge: first };
    const ITEMS: StreamOrder = StreamOrder { spec: &super::ITEMS, judge: rest };

    fn streaming(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| if i.operation == "SendStreamingMessage" { change(i) } else { Edit::Keep })
    }

    #[test]
    fn honest_streams_pass() {
        let driven = World::honest().drive();
        passes(&FIRST, &driven);
        passes(&ITEMS, &driven);
        let mut messages = World::honest();
        messages.makes_tasks = false;
        let driven = messages.drive();
        passes(&FIRST, &driven);
        is(&ITEMS, &driven, Outcome::NotApplicable);
    }

    #[test]
    fn what_is_no_stream_shows_nothing() {
        for driven in unstreamed() {
            is(&FIRST, &driven, Outcome::Inconclusive);
            is(&ITEMS, &driven, Outcome::Inconclusive);
        }
    }

    #[test]
    fn a_stream_that_begins_with_an_update_is_caught() {
        caught(&FIRST, &streaming(|i| if i.n == 0 { Edit::Drop } else { Edit::Keep }), ReasonCode::StreamOrderInvalid);
        let message = json!({"message": {"messageId": "m", "parts": []}});
        let two = streaming(|i| if i.n == 0 { Edit::Replace(i.with_result(message.clone())) } else { Edit::Keep });
        caught(&FIRST, &two, ReasonCode::StreamOrderInvalid);
    }

    #[test]
    fn an_update_of_another_task_is_caught() {
        let other = streaming(|i| match i.n {
            2 => i.changed(|a| a["result"]["artifactUpdate"]["taskId"] = json!("other")),
            _ => Edit::Keep,
        });
        caught(&ITEMS, &other, ReasonCode::StreamOrderInvalid);
        let message = json!({"message": {"messageId": "m", "parts": []}});
        let between = streaming(|i| if i.n == 1 { Edit::Replace(i.with_result(message.clone())) } else { Edit::Keep });
        caught(&ITEMS, &between, ReasonCode::StreamOrderInvalid);
    }
}
