//! The negatives of A2A as data: what each is, which scenario brings it about over which binding, and in which layer it
//! must be caught. Checks put the same six questions to every row (G-02); `docs/negatives.md` shows the table.

use ostiary_protocol::a2a::Binding;
use ostiary_record::Layer;

use crate::{
    answers::{self, Answered},
    facts::Facts,
    scenario::Role,
    scenarios::{
        credential, extension, forbidden,
        malformed::{self, Flaw},
        media_type, push,
        rpc::{self, Wrong},
        tenant, terminal, undeclared, unknown, version,
    },
};

mod effects;
mod refusal;
mod sensitive;

pub(crate) use effects::RefusedEffects;
pub(crate) use refusal::StableRefusal;
pub(crate) use sensitive::KeepsSecrets;

/// One negative.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negative {
    /// Its name, which findings carry in their detail.
    pub(crate) name: &'static str,
    /// The layer that must catch it.
    pub(crate) layer: Layer,
    /// The scenario that brings it about.
    pub(crate) scenario: &'static str,
    /// Which of the scenario's exchanges it is.
    pub(crate) which: Which,
    /// The operation that is refused; empty = a raw request, or any.
    pub(crate) operation: &'static str,
    /// How it is seen whether something was left behind.
    pub(crate) readback: Readback,
}

/// Which exchanges of a scenario a negative is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// All of the operation.
    All,
    /// Those of the variant with this value of an axis.
    Variant(&'static str, &'static str),
    /// Those after the mark of a flaw.
    Flawed(Flaw),
    /// The first of the operation after a mark, by somebody else than the owner of what is reached for.
    After(&'static str, Option<Role>),
}

/// How it is seen whether a refused request left something behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readback {
    /// The tasks of the context are listed before and after.
    Listed,
    /// The task is read afterwards by its owner.
    Task,
    /// Not without an observer of records.
    Observer,
}

const fn row(
    name: &'static str,
    layer: Layer,
    scenario: &'static str,
    which: Which,
    operation: &'static str,
) -> Negative {
    Negative { name, layer, scenario, which, operation, readback: Readback::Observer }
}

const fn wrong(name: &'static str, wrong: Wrong) -> Negative {
    row(name, Layer::Protocol, rpc::ID, Which::Variant(rpc::AXIS, wrong.as_str()), "")
}

const fn flawed(name: &'static str, flaw: Flaw) -> Negative {
    let of = row(name, Layer::Protocol, malformed::ID, Which::Flawed(flaw), "SendMessage");
    Negative { readback: Readback::Listed, ..of }
}

const fn reached(name: &'static str, scenario: &'static str, mark: &'static str, operation: &'static str) -> Negative {
    let role = if mark.len() == tenant::FOREIGN_TASK.len() { Some(Role::OtherTenant) } else { None };
    let of = row(name, Layer::Authorization, scenario, Which::After(mark, role), operation);
    Negative { readback: Readback::Task, ..of }
}

const fn stranger(name: &'static str, scenario: &'static str, role: Role) -> Negative {
    row(name, Layer::Authorization, scenario, Which::After("control_ok", Some(role)), "SendMessage")
}

/// All of them.
pub(crate) const ALL: &[Negative] = &[
    wrong("invalid_json_rpc_envelope", Wrong::Envelope),
    wrong("invalid_json", Wrong::Json),
    wrong("unreadable_message", Wrong::Message),
    wrong("unknown_method", Wrong::Method),
    wrong("invalid_parameters", Wrong::Params),
    row(
        "unsupported_protocol_version",
        Layer::Protocol,
        version::ID,
        Which::Variant(version::AXIS, version::UNSUPPORTED),
        "SendMessage",
    ),
    row("undeclared_streaming_request", Layer::Protocol, undeclared::STREAM, Which::All, "SendStreamingMessage"),
    row("undeclared_callback", Layer::Protocol, push::undeclared::ID, Which::All, "CreateTaskPushNotificationConfig"),
    row("undeclared_extended_card", Layer::Protocol, undeclared::EXTENDED_CARD, Which::All, "GetExtendedAgentCard"),
    row("required_extension_not_named", Layer::Protocol, extension::ID, Which::All, "SendMessage"),
    row("unknown_task", Layer::Protocol, unknown::ID, Which::All, "GetTask"),
    Negative {
        readback: Readback::Task,
        ..row(
            "terminal_task_message_append",
            Layer::Protocol,
            terminal::ID,
            Which::After(terminal::ENDED, None),
            "SendMessage",
        )
    },
    flawed("message_without_id", Flaw::NoId),
    flawed("message_without_parts", Flaw::NoParts),
    flawed("part_without_content", Flaw::NoContent),
    flawed("part_with_two_contents", Flaw::TwoContents),
    flawed("part_with_broken_base64", Flaw::Base64),
    flawed("message_in_unknown_role", Flaw::Role),
    row(
        "undeclared_media_type",
        Layer::Protocol,
        media_type::ID,
        Which::Variant(media_type::AXIS, media_type::INPUT),
        "SendMessage",
    ),
    stranger("missing_credential", credential::MISSING, Role::Anonymous),
    stranger("expired_credential", credential::EXPIRED, Role::Expired),
    stranger("foreign_credential", credential::FOREIGN, Role::Foreign),
    reached("cross_tenant_read", tenant::ID, tenant::FOREIGN_TASK, "GetTask"),
    reached("cross_tenant_cancel", tenant::ID, tenant::FOREIGN_TASK, "CancelTask"),
    row("forbidden_in_own_tenant", Layer::Authorization, forbidden::ID, Which::After(forbidden::TASK, None), ""),
];

/// The scenarios of all negatives.
pub(crate) const SCENARIOS: &[&str] = &[
    rpc::ID,
    version::ID,
    undeclared::STREAM,
    push::undeclared::ID,
    undeclared::EXTENDED_CARD,
    extension::ID,
    unknown::ID,
    terminal::ID,
    malformed::ID,
    media_type::ID,
    credential::MISSING,
    credential::EXPIRED,
    credential::FOREIGN,
    tenant::ID,
    forbidden::ID,
];

// === impl Negative ===

impl Negative {
    /// Whether a binding can say it at all.
    pub(crate) fn can_be_said(&self, binding: &Binding) -> bool {
        match self.which {
            Which::Variant(axis, value) if axis == rpc::AXIS => Wrong::of(binding).iter().any(|w| w.as_str() == value),
            Which::Flawed(flaw) => Flaw::of(binding).any(|f| f == flaw),
            _ => true,
        }
    }

    /// The requests that it is in the recordings of a check, with their answers.
    pub(crate) fn requests<'a>(&self, facts: &Facts<'a>) -> Vec<Answered<'a>> {
        let of = |a: &Answered<'_>| {
            let operation = self.operation.is_empty() || a.operation() == self.operation;
            operation && self.fits(facts, a)
        };
        answers::of(facts, self.scenario).into_iter().filter(of).collect()
    }

    fn fits(&self, facts: &Facts<'_>, answered: &Answered<'_>) -> bool {
        match self.which {
            Which::All => true,
            Which::Variant(axis, value) => answered.axis(axis) == value,
            Which::Flawed(flaw) => Flaw::at(answered.tape.recording, answered.exchange.sent.seq) == Some(flaw),
            Which::After(mark, role) => {
                let after = answered.tape.recording.mark(mark);
                let role = role.is_none_or(|r| facts.actor_of(answered.tape, r) == answered.exchange.actor);
                let subject = self.scenario != forbidden::ID
                    || answered.exchange.actor == Some(answered.axis(forbidden::SUBJECT));
                let about = match after {
                    Some((Some(id), _))
                        if self.readback == Readback::Task && !answered.operation().starts_with("Send") =>
                    {
                        answered.request().get("id").and_then(serde_json::Value::as_str) == Some(id)
                    }
                    _ => true,
                };
                role && subject && about && after.is_some_and(|(_, at)| answered.exchange.sent.seq > at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Harness;

    #[test]
    fn each_negative_has_a_scenario_with_a_control_and_a_name_of_its_own() {
        let harness = Harness::standard();
        for (n, negative) in ALL.iter().enumerate() {
            let scenario = harness.scenario(negative.scenario).unwrap_or_else(|| panic!("no {}", negative.scenario));
            assert_ne!(scenario.spec().control, crate::scenario::Control::NotNeeded, "{}", negative.name);
            assert!(SCENARIOS.contains(&negative.scenario), "{}", negative.name);
            assert!(ALL[n + 1..].iter().all(|other| other.name != negative.name), "{} stands twice", negative.name);
        }
        assert!(SCENARIOS.iter().all(|id| ALL.iter().any(|negative| negative.scenario == *id)));
    }
}
