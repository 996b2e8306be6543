//! `a2a.message.response`: an ordinary message is answered with a task or a message (I-01, I-09).

use ostiary_protocol::a2a::{Answer, StreamItem, stream::StreamItemError};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{example, send},
};

/// The check.
pub(super) struct Response;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.response",
    version: 1,
    summary: "Each example is answered with a task or a message, in the envelope of the binding.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-01", "I-09", "G-01"],
    reads: Reads::Any(&[send::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[
        ReasonCode::ResponseMalformed,
        ReasonCode::CapabilityNotKept,
        ReasonCode::TaskNotFound,
        ReasonCode::SendNotBlocking,
    ],
    severity: Severity::Error,
    liar: "an_answer_of_another_shape_is_caught",
};

impl Check for Response {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::all(facts);
        let sent = all.iter().filter(|a| a.operation() == "SendMessage");
        let read = all.iter().filter(|a| a.operation() == "GetTask");
        let sent = sent.flat_map(|a| [Some(judge_send(facts, a)), early(facts, a)].into_iter().flatten());
        sent.chain(read.filter_map(|a| judge_read(facts, a))).collect()
    }
}

fn judge_send(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    let x = answered.exchange.id;
    let expected = "a `task` or a `message` in the envelope of the binding";
    let malformed = |observed: String| {
        facts.fail(ReasonCode::ResponseMalformed, answered.cite(), expected, observed).at_exchange(x)
    };
    let Some(item) = answered.reply.first() else { return malformed("an empty answer".to_owned()) };
    match &item.answer {
        Answer::Malformed(why) => malformed(why.clone()),
        Answer::Error(error) => refused(facts, answered, &error.label()),
        Answer::Result(_) if !item.echoes_id => malformed("the id of the request is not echoed".to_owned()),
        Answer::Result(value) => match StreamItem::read(value) {
            Ok(StreamItem::Task(_)) => facts.pass(answered.cite()).at_exchange(x).with_business(true, "unknown"),
            Ok(StreamItem::Message(_)) => facts.pass(answered.cite()).at_exchange(x),
            Ok(other) => malformed(format!("`{}`", other.member())),
            Err(problem @ StreamItemError::Legacy { .. }) => malformed(format!("{problem}; the card says 1.0")),
            Err(problem) => malformed(problem.to_string()),
        },
    }
}

/// A warning where the answer came before the task stood still: to wait is the default, although §3.1.1 also says to
/// return immediately.
fn early(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    let (StreamItem::Task(task), seq) = answered.first_item()? else { return None };
    let state = task.state().filter(|s| !s.is_terminal() && !s.is_interrupted())?;
    let expected = "an answer once the task is terminal or interrupted, as `returnImmediately` was not asked for";
    let finding = facts.fail(ReasonCode::SendNotBlocking, answered.at(seq), expected, state.to_string());
    Some(finding.at_exchange(answered.exchange.id).as_severity(Severity::Warning))
}

/// A refused message breaks a promise only when a declaration made one; a wrong credential tells nothing.
fn refused(facts: &Facts<'_>, answered: &Answered<'_>, error: &str) -> Finding {
    let example = example::of_variant(&answered.tape.recording.axes, facts.bundle(), facts.card());
    let x = answered.exchange.id;
    if answered.credential_refused() {
        let remedy = format!("the credential was refused: {error}");
        return facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x);
    }
    if !example.promised {
        let remedy = "add an example to skills.yaml or to the card: the greeting was refused";
        return facts.inconclusive(ReasonCode::ControlFailed, "an example", remedy).at_exchange(x);
    }
    let expected = format!("the example `{}` to be served", example.name);
    facts
        .fail(ReasonCode::CapabilityNotKept, answered.cite(), expected, error)
        .at_exchange(x)
        .with_business(false, "failed")
}

/// A read of the candidate's own task right after it made it; a pass of it is no finding of its own.
fn judge_read(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    if answered.task().is_some() {
        return None;
    }
    if let Some(unusable) = answered.unusable(facts) {
        return Some(unusable);
    }
    let x = answered.exchange.id;
    let expected = "the task that the candidate has just made";
    let (reason, observed) = match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Error(error)) => (ReasonCode::TaskNotFound, error.label()),
        Some(Answer::Malformed(why)) => (ReasonCode::ResponseMalformed, why.clone()),
        Some(Answer::Result(_)) | None => (ReasonCode::ResponseMalformed, "no task".to_owned()),
    };
    Some(facts.fail(reason, answered.cite(), expected, observed).at_exchange(x))
}

#[cfg(test)]
mod tests {
    use ostiary_record::{End, Kind, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn answering(change: impl Fn(&crate::testing::Item<'_>) -> Edit) -> Driven {
        let send = |i: &crate::testing::Item<'_>| i.operation == "SendMessage" && i.scenario == send::ID;
        World::honest().drive().edit(|i| if send(i) { change(i) } else { Edit::Keep })
    }

    #[test]
    fn tasks_and_messages_pass() {
        passes(&Response, &World::honest().drive());
        let mut world = World::honest();
        world.makes_tasks = false;
        passes(&Response, &world.drive());
    }

    #[test]
    fn an_answer_of_another_shape_is_caught() {
        let bare = answering(|i| Edit::Replace(i.with_result(i.answer["result"]["task"].clone())));
        caught(&Response, &bare, ReasonCode::ResponseMalformed);
        let legacy = answering(|i| Edit::Replace(i.with_result(json!({"kind": "task", "id": "t", "status": {}}))));
        caught(&Response, &legacy, ReasonCode::ResponseMalformed);
        caught(&Response, &answering(|_| Edit::Drop), ReasonCode::ResponseMalformed);
        let other_id = answering(|i| i.changed(|a| a["id"] = json!("other")));
        caught(&Response, &other_id, ReasonCode::ResponseMalformed);
    }

    #[test]
    fn a_refused_example_breaks_the_promise() {
        let refused = answering(|i| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"}))));
        caught(&Response, &refused, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn an_answer_before_the_end_is_warned_about() {
        let early = answering(|i| i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_WORKING")));
        passes(&Response, &early);
        assert_eq!(warnings(&Response, &early), [ReasonCode::SendNotBlocking]);
    }

    #[test]
    fn an_agent_that_hangs_or_breaks_off_is_unknown() {
        for (how, reason) in [
            (End::Deadline, ReasonCode::TargetUnresponsive),
            (End::PeerReset { why: "eof".to_owned() }, ReasonCode::TargetUnreachable),
            (End::Limit { which: "body_bytes".to_owned() }, ReasonCode::BudgetExceeded),
        ] {
            let mut silent = answering(|_| Edit::Drop);
            for recording in silent.run.recordings.iter_mut().filter(|r| r.scenario.0 == send::ID) {
                let first = recording.events.iter_mut().find_map(|e| match &mut e.kind {
                    Kind::Ended { how, .. } => Some(how),
                    _ => None,
                });
                *first.unwrap() = how.clone();
            }
            assert_eq!(silent.verdict(&Response), (Outcome::Inconclusive, Some(reason)));
        }
    }

    #[test]
    fn a_refused_greeting_tells_nothing() {
        let mut world = World::honest();
        world.remove("skills.yaml");
        let driven = world.drive().edit(|i| {
            let refusal = json!({"code": -32005, "message": "no"});
            if i.operation == "SendMessage" { Edit::Replace(i.with_error(refusal)) } else { Edit::Keep }
        });
        is(&Response, &driven, Outcome::Inconclusive);
    }

    #[test]
    fn a_task_that_is_gone_at_once_is_caught() {
        let gone = World::honest().drive().edit(|i| {
            let refusal = json!({"code": -32001, "message": "no"});
            let read = i.scenario == send::ID && i.operation == "GetTask";
            if read { Edit::Replace(i.with_error(refusal)) } else { Edit::Keep }
        });
        caught(&Response, &gone, ReasonCode::TaskNotFound);
    }
}
