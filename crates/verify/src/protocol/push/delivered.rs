//! `a2a.push.delivered`: at least one delivery is attempted to each registered callback (A2A 1.0 §4.3.3).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    callbacks::{self, Asked},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::delivery,
};

/// The check.
pub(super) struct Delivered;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.delivered",
    version: 1,
    summary: "At least one notification is sent to each registered callback, in a message or beside it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09"],
    reads: Reads::Each(&[delivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[
        ReasonCode::CallbackNotDelivered,
        ReasonCode::CallbackRefused,
        ReasonCode::CapabilityNotKept,
        ReasonCode::ObserverMissing,
    ],
    severity: Severity::Error,
    liar: "a_callback_that_nothing_comes_to_is_caught",
};

impl Check for Delivered {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        let asked = callbacks::asked(&answers);
        let reachable = facts.environment().callbacks.as_ref().is_some_and(|c| c.public);
        let any = arrivals.iter().any(|a| !a.stray);
        let mut out = Vec::new();
        for asked in asked.iter().filter(|a| a.name != delivery::DELETED) {
            let came: Vec<_> = arrivals.iter().filter(|a| a.is_to(&asked.name)).map(callbacks::Arrival::cite).collect();
            out.push(match () {
                () if !came.is_empty() => facts.pass(answers::some_of(came)),
                () => match asked.answered.unusable(facts) {
                    Some(unusable) => unusable,
                    None if !asked.taken() => callbacks::refused(facts, asked),
                    None if !expected(&answers, asked) => continue,
                    None if any || reachable => missing(facts, asked),
                    None => callbacks::unreachable(facts),
                },
            });
        }
        if out.is_empty() { vec![answers::no_task(facts)] } else { out }
    }
}

/// Whether something was still to happen when the callback was registered: a message's task begins with it.
fn expected(answers: &[answers::Answered<'_>], asked: &Asked<'_, '_>) -> bool {
    let (tape, sent) = (asked.answered.tape, asked.answered.exchange.sent.seq);
    let started = callbacks::task_of(answers, tape).is_some();
    let inline = asked.answered.operation() == "SendMessage";
    // the look behind the registrations says whether it was open then
    let next = answers.iter().find(|a| a.tape.index == tape.index && a.operation() == "GetTask");
    let open = next.is_none_or(|look| callbacks::open_at(answers, tape, look.exchange.decisive().max(sent)));
    started && callbacks::ended(answers, tape) && (inline || open)
}

fn missing(facts: &Facts<'_>, asked: &Asked<'_, '_>) -> Finding {
    let at = asked.answered.cite();
    let expected = format!("a delivery to the callback `{}`", asked.name);
    let finding = facts.fail(ReasonCode::CallbackNotDelivered, at, expected, "none, although its task ended");
    finding.at_exchange(asked.answered.exchange.id)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{CallbackFacts, Outcome};

    use super::*;
    use crate::testing::{World, caught, is, passes};

    #[test]
    fn a_delivery_to_each_callback_passes() {
        let driven = World::pushing().drive();
        passes(&Delivered, &driven);
        assert_eq!(driven.judge(&Delivered).len(), 2);
    }

    #[test]
    fn a_callback_that_nothing_comes_to_is_caught() {
        for name in [delivery::INLINE, delivery::SECOND] {
            let driven = World::pushing().drive();
            let driven = driven.deliveries(|_, d| if d.to.as_deref() == Some(name) { vec![] } else { vec![d] });
            caught(&Delivered, &driven, ReasonCode::CallbackNotDelivered);
        }
        caught(&Delivered, &World::pushing().drive().deliveries(|_, _| vec![]), ReasonCode::CallbackNotDelivered);
    }

    #[test]
    fn nothing_at_a_private_address_is_not_broken() {
        let mut world = World::pushing();
        world.environment.callbacks = Some(CallbackFacts::default());
        let driven = world.drive().deliveries(|_, _| vec![]);
        assert_eq!(driven.verdict(&Delivered), (Outcome::Inconclusive, Some(ReasonCode::CallbackRefused)));
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Delivered, &World::honest().drive(), Outcome::NotApplicable);
    }
}
