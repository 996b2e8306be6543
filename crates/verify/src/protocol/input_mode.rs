//! `a2a.message.input_mode`: a part of a media type that no skill declares is refused (S-01, G-01).

use ostiary_protocol::a2a::{ErrorKind, StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::media_type,
};

/// The check. It warns only: §3.1.1 names the error and not who has to look, and official SDKs look only where they are
/// told to.
pub(super) struct InputMode;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.input_mode",
    version: 1,
    summary: "A part of a media type that is declared nowhere is refused with ContentTypeNotSupportedError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["S-01", "G-01", "E-02"],
    reads: Reads::Each(&[media_type::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::InputModeNotEnforced, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Warning,
    liar: "a_served_part_of_an_undeclared_type_is_warned_about",
};

impl Check for InputMode {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(pointer) = facts.card().and_then(media_type::takes_anything) {
            return vec![facts.not_applicable(CARD, pointer)];
        }
        let sent = answers::of(facts, media_type::ID);
        let input = sent.iter().filter(|a| a.axis(media_type::AXIS) == media_type::INPUT);
        input.flat_map(|a| judge(facts, a)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Finding> {
    // an agent may look at parts in its own code, and say what it thinks of them by its task
    if matches!(state(answered), Some(TaskState::Rejected | TaskState::Failed | TaskState::InputRequired)) {
        return vec![facts.pass(answered.cite()).at_exchange(answered.exchange.id)];
    }
    let named = &[ErrorKind::ContentTypeNotSupported];
    let tolerated = &[ErrorKind::InvalidParams, ErrorKind::UnsupportedOperation];
    refusal::judge(facts, answered, Refusal { named, tolerated, served: ReasonCode::InputModeNotEnforced })
}

fn state(answered: &Answered<'_>) -> Option<TaskState> {
    match answered.first_item()?.0 {
        StreamItem::Task(task) => task.state(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, warnings};

    fn answering(state: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            let own =
                i.scenario == media_type::ID && i.axes.get(media_type::AXIS).is_some_and(|s| s == media_type::INPUT);
            let task = json!({"task": {"id": "t", "status": {"state": state}}});
            if own { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_served_part_of_an_undeclared_type_is_warned_about() {
        let driven = World::honest().drive();
        assert_eq!(driven.judge(&InputMode)[0].verdict.outcome(), Outcome::Pass);
        assert_eq!(warnings(&InputMode, &answering("TASK_STATE_COMPLETED")), [ReasonCode::InputModeNotEnforced]);
        assert_eq!(warnings(&InputMode, &answering("TASK_STATE_REJECTED")), []);
    }

    #[test]
    fn where_anything_is_taken_nothing_is_undeclared() {
        let driven = World::with_card(|c| c["defaultInputModes"] = json!(["application/*"])).drive();
        assert_eq!(driven.judge(&InputMode)[0].verdict.outcome(), Outcome::NotApplicable);
    }
}
