//! `a2a.message.combinations`: an example is served in every combination of options that is tried (I-09, O-01).

use ostiary_protocol::a2a::{Answer, StreamItem};
use ostiary_record::{End, Finding, Gate, Layer, ReasonCode, Severity, Verdict};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    coverage::matrix,
    facts::{Facts, Tape},
    scenarios::{combined, example},
};

/// The check.
pub(super) struct Combinations;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.combinations",
    version: 1,
    summary: "An example is served in each combination of mode, history, conversation and media types that is tried.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09", "O-01"],
    reads: Reads::Each(&[combined::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[
        ReasonCode::CapabilityNotKept,
        ReasonCode::StreamTruncated,
        ReasonCode::ResponseMalformed,
        ReasonCode::HistoryLengthExceeded,
    ],
    severity: Severity::Error,
    liar: "a_combination_that_is_refused_is_caught",
};

impl Check for Combinations {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::of(facts, combined::ID);
        let sent: Vec<&Answered<'_>> = all.iter().filter(|a| a.operation().starts_with("Send")).collect();
        facts.tapes_of(combined::ID).map(|tape| judge(facts, tape, &sent)).collect()
    }
}

/// The message of the combination is the last one; the one before it only begins the conversation.
fn judge(facts: &Facts<'_>, tape: Tape<'_>, sent: &[&Answered<'_>]) -> Finding {
    let Some(answered) = sent.iter().rfind(|a| a.tape.index == tape.index) else {
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "answer:SendMessage", "nothing was sent");
    };
    if tape.recording.mark(combined::NO_CONTEXT).is_some() {
        let remedy = "the first answer names no conversation that could go on";
        return facts
            .inconclusive(ReasonCode::ControlFailed, "a conversation", remedy)
            .at_exchange(answered.exchange.id);
    }
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    let x = answered.exchange.id;
    let finding = if answered.credential_refused() {
        facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", "the credential was refused")
    } else if let Some((error, _)) = answered.reply.error() {
        refused(facts, answered, &error.label())
    } else if answered.axis(matrix::MODE) == "stream" {
        streamed(facts, answered)
    } else {
        answered_once(facts, answered)
    };
    finding.at_exchange(x)
}

fn refused(facts: &Facts<'_>, answered: &Answered<'_>, error: &str) -> Finding {
    let example = example::of_variant(&answered.tape.recording.axes, facts.bundle(), facts.card());
    if !example.promised {
        let remedy = "add an example to skills.yaml or to the card: the greeting was refused";
        return facts.inconclusive(ReasonCode::ControlFailed, "an example", remedy);
    }
    let expected = format!("the example `{}` to be served with {}", example.name, options(answered));
    facts.fail(ReasonCode::CapabilityNotKept, answered.cite(), expected, error)
}

/// The combination in words.
fn options(answered: &Answered<'_>) -> String {
    let of = |axis: &str| format!("{axis}={}", answered.axis(axis));
    [matrix::MODE, matrix::HISTORY, matrix::CONTEXT, matrix::OUTPUT].map(of).join(", ")
}

fn answered_once(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    let malformed = |observed: String| {
        let expected = "a `task` or a `message` in the envelope of the binding";
        facts.fail(ReasonCode::ResponseMalformed, answered.cite(), expected, observed)
    };
    match answered.reply.first().map(|item| &item.answer) {
        Some(Answer::Result(value)) => match StreamItem::read(value) {
            Ok(StreamItem::Task(task)) => {
                let most = combined::asked_history(answered.axis(matrix::HISTORY));
                match most.filter(|most| task.history().len() > usize::try_from(*most).unwrap_or(usize::MAX)) {
                    // at most so many, never more (§3.2.4)
                    Some(most) => {
                        let expected = format!("at most {most} messages of history, as `historyLength` asks");
                        let observed = format!("{} messages", task.history().len());
                        facts.fail(ReasonCode::HistoryLengthExceeded, answered.cite(), expected, observed)
                    }
                    None => facts.pass(answered.cite()),
                }
            }
            Ok(StreamItem::Message(_)) => facts.pass(answered.cite()),
            Ok(other) => malformed(format!("`{}`", other.member())),
            Err(problem) => malformed(problem.to_string()),
        },
        Some(Answer::Malformed(why)) => malformed(why.clone()),
        Some(Answer::Error(error)) => refused(facts, answered, &error.label()),
        None => malformed("an empty answer".to_owned()),
    }
}

/// A stream is served when it ends where its task stands still, or is one message; its shape is judged by
/// `a2a.stream.*`.
fn streamed(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(finding) = answers::no_stream(facts, answered) {
        return match finding.verdict {
            Verdict::Inconclusive { .. } if !answered.reply.streamed => {
                let expected = format!("a stream with {}", options(answered));
                facts.fail(ReasonCode::CapabilityNotKept, answered.cite(), expected, "an answer that is no stream")
            }
            _ => finding,
        };
    }
    let mut last = "no event".to_owned();
    for item in answered.reply.stream_items().filter_map(|(_, item)| item.ok()) {
        if matches!(item, StreamItem::Message(_)) {
            return facts.pass(answered.cite());
        }
        if let Some(status) = item.status() {
            let written = status.written();
            if written.state().is_some_and(|s| s.is_terminal() || s.is_interrupted()) {
                return facts.pass(answered.cite());
            }
            last = written.to_string();
        }
    }
    if matches!(answered.reply.end, Some(End::Deadline | End::Limit { .. } | End::LocalAbort) | None) {
        return facts.inconclusive(
            ReasonCode::TargetUnresponsive,
            "the end of the stream",
            "the stream was still open",
        );
    }
    let expected = format!("a terminal or interrupted state before the stream ends, with {}", options(answered));
    facts.fail(ReasonCode::StreamTruncated, answered.cite(), expected, last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, passes};

    fn answering(of: impl Fn(&Item<'_>) -> bool, change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let this = |i: &Item<'_>| i.scenario == combined::ID && i.operation.starts_with("Send") && of(i);
        World::honest().drive().edit(|i| if this(i) { change(i) } else { Edit::Keep })
    }

    fn is(i: &Item<'_>, axis: &str, value: &str) -> bool {
        i.axes.get(axis).is_some_and(|v| v == value)
    }

    #[test]
    fn every_pair_of_options_is_tried_and_served() {
        let driven = World::honest().drive();
        passes(&Combinations, &driven);
        let own = driven.run.recordings.iter().filter(|r| r.scenario.0 == combined::ID);
        let rows: Vec<_> = own.map(|r| &r.axes.values).collect();
        for (a, v) in [(matrix::MODE, "stream"), (matrix::MODE, "immediate"), (matrix::HISTORY, "none")] {
            for (b, w) in [(matrix::CONTEXT, "continued"), (matrix::OUTPUT, "declared"), (matrix::CONTEXT, "new")] {
                assert!(rows.iter().any(|r| r[a] == v && r[b] == w), "{a}={v} with {b}={w} in {rows:?}");
            }
        }
        // 3 modes × 3 histories × 2 × 2 = 36
        assert!((9..=12).contains(&rows.len()), "{} rows", rows.len());
    }

    #[test]
    fn a_combination_that_is_refused_is_caught() {
        let refused = answering(
            |i| is(i, matrix::MODE, "immediate") && is(i, matrix::OUTPUT, "declared"),
            |i| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"}))),
        );
        caught(&Combinations, &refused, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn more_history_than_was_asked_for_is_caught() {
        let long = answering(
            |i| is(i, matrix::HISTORY, "none") && !is(i, matrix::MODE, "stream"),
            |i| i.changed(|a| a["result"]["task"]["history"] = json!([{"messageId": "m"}])),
        );
        caught(&Combinations, &long, ReasonCode::HistoryLengthExceeded);
    }

    #[test]
    fn a_stream_that_is_cut_in_one_combination_is_caught() {
        let cut = answering(
            |i| is(i, matrix::CONTEXT, "continued") && i.operation == "SendStreamingMessage",
            |i| if i.n > 0 { Edit::Drop } else { Edit::Keep },
        );
        caught(&Combinations, &cut, ReasonCode::StreamTruncated);
    }
}
