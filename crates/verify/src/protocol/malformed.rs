//! `a2a.message.malformed`, `a2a.message.unreadable`: a message that is none is refused as such (G-01, E-02).

use std::collections::BTreeSet;

use ostiary_protocol::a2a::{Answer, ErrorKind, StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, Outcome, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::malformed::{self, Flaw},
};

/// One of the two checks: they differ in the flaws, and in how much it matters.
pub(super) struct MalformedMessage {
    spec: &'static CheckSpec,
    flaws: &'static [Flaw],
}

/// Servers must validate what they are sent (§3.3.2), and the data definition marks what is required: an id and parts.
static MALFORMED: CheckSpec = CheckSpec {
    id: "a2a.message.malformed",
    version: 1,
    summary: "A message without an id, or without parts, is refused as such.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["G-01", "E-01", "E-02"],
    reads: Reads::Each(&[malformed::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorNotRefused, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_served_message_that_is_none_is_caught",
};

/// What the definition only says in words, or what a reader of ProtoJSON drops, is warned about: no official SDK looks at
/// all of it.
static UNREADABLE: CheckSpec = CheckSpec {
    id: "a2a.message.unreadable",
    summary: "A part with no content, two contents or broken base64, and a role that does not exist, are refused.",
    severity: Severity::Warning,
    liar: "what_a_lenient_reader_drops_is_warned_about",
    ..MALFORMED
};

// === impl MalformedMessage ===

impl MalformedMessage {
    /// Both.
    pub(super) const ALL: [Self; 2] = [
        Self { spec: &MALFORMED, flaws: &[Flaw::NoId, Flaw::NoParts] },
        Self { spec: &UNREADABLE, flaws: &[Flaw::NoContent, Flaw::TwoContents, Flaw::Base64, Flaw::Role] },
    ];
}

impl Check for MalformedMessage {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        // each is sent twice: what the second answer says again is said once
        let (mut out, mut told) = (Vec::new(), BTreeSet::new());
        for (flaw, answered) in flawed(facts).into_iter().filter(|(flaw, _)| self.flaws.contains(flaw)) {
            for finding in judge(facts, flaw, &answered) {
                let verdict = (finding.verdict.outcome(), finding.verdict.reason(), finding.severity);
                if told.insert(format!("{} {verdict:?}", flaw.mark())) {
                    out.push(finding);
                }
            }
        }
        out
    }
}

/// The requests that have a flaw, with it.
fn flawed<'a>(facts: &Facts<'a>) -> Vec<(Flaw, Answered<'a>)> {
    let sent = answers::of(facts, malformed::ID).into_iter().filter(|a| a.operation() == "SendMessage");
    sent.filter_map(|a| Flaw::at(a.tape.recording, a.exchange.sent.seq).map(|flaw| (flaw, a))).collect()
}

fn judge(facts: &Facts<'_>, flaw: Flaw, answered: &Answered<'_>) -> Vec<Finding> {
    if let Some(state) = refusing_state(answered) {
        let expected = format!("{} to be refused with an error", flaw.what());
        let finding =
            facts.fail(ReasonCode::ErrorCodeMismatch, answered.cite(), expected, format!("a task in {state}"));
        let warning = finding.at_exchange(answered.exchange.id).as_severity(Severity::Warning);
        return vec![facts.pass(answered.cite()).at_exchange(answered.exchange.id), warning];
    }
    let (named, tolerated) = expected(flaw);
    let served = ReasonCode::ErrorNotRefused;
    let findings = refusal::judge(facts, answered, Refusal { named, tolerated, served });
    let named = |f: Finding| {
        let failed = f.verdict.outcome() == Outcome::Fail;
        if failed { f.with_detail(flaw.mark().trim_start_matches("flaw.")) } else { f }
    };
    findings.into_iter().map(named).collect()
}

/// A task may say the refusal, too, where the agent's own code looks first.
fn refusing_state(answered: &Answered<'_>) -> Option<TaskState> {
    let Some(Answer::Result(_)) = answered.reply.first().map(|i| &i.answer) else { return None };
    let state = match answered.first_item()?.0 {
        StreamItem::Task(task) => task.state()?,
        _ => return None,
    };
    matches!(state, TaskState::Rejected | TaskState::Failed).then_some(state)
}

fn expected(flaw: Flaw) -> (&'static [ErrorKind], &'static [ErrorKind]) {
    use ErrorKind as K;
    match flaw {
        Flaw::NoId | Flaw::NoParts => (&[K::InvalidParams], &[K::InvalidRequest]),
        Flaw::NoContent => (&[K::InvalidParams, K::ContentTypeNotSupported], &[K::InvalidRequest]),
        // what a parser does not take may be called by the parser's name, where the binding has one
        Flaw::TwoContents | Flaw::Base64 | Flaw::Role => {
            (&[K::InvalidParams, K::InvalidRequest, K::Parse], &[K::ContentTypeNotSupported])
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, passes, warnings};

    fn answering(broken: impl Fn(&serde_json::Value) -> bool, change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| {
            let own = i.scenario == malformed::ID && i.operation == "SendMessage";
            if own && broken(&i.request["params"]["message"]) { change(i) } else { Edit::Keep }
        })
    }

    fn served(i: &Item<'_>) -> Edit {
        Edit::Replace(i.with_result(json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}})))
    }

    #[test]
    fn refused_messages_pass() {
        let driven = World::honest().drive();
        for (check, flaws) in MalformedMessage::ALL.iter().zip([2, 4]) {
            let findings = driven.judge(check);
            assert!(findings.iter().all(|f| f.verdict.outcome() == Outcome::Pass), "{findings:#?}");
            assert_eq!(findings.len(), flaws, "one for each flaw");
        }
    }

    #[test]
    fn a_served_message_that_is_none_is_caught() {
        let check = &MalformedMessage::ALL[0];
        caught(check, &answering(|m| m["parts"] == json!([]), served), ReasonCode::ErrorNotRefused);
        caught(check, &answering(|m| m.get("messageId").is_none(), served), ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn what_a_lenient_reader_drops_is_warned_about() {
        let broken = |m: &serde_json::Value| m["parts"][0].get("raw").is_some();
        let empty = |m: &serde_json::Value| m["parts"][0] == json!({"mediaType": "text/plain"});
        for lenient in [answering(broken, served), answering(empty, served)] {
            passes(&MalformedMessage::ALL[0], &lenient);
            assert_eq!(warnings(&MalformedMessage::ALL[1], &lenient), [ReasonCode::ErrorNotRefused]);
        }
    }

    #[test]
    fn a_crash_is_no_refusal_and_a_rejected_task_is_another_one() {
        let check = &MalformedMessage::ALL[0];
        let broken = |m: &serde_json::Value| m["parts"] == json!([]);
        let crash = answering(broken, |i| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"}))));
        caught(check, &crash, ReasonCode::ErrorCodeMismatch);
        let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_REJECTED"}}});
        let rejected = answering(broken, |i| Edit::Replace(i.with_result(task.clone())));
        passes(check, &rejected);
        assert_eq!(warnings(check, &rejected), [ReasonCode::ErrorCodeMismatch]);
    }
}
