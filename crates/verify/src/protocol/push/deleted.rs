//! `a2a.push.deleted`: what happens after a callback was deleted is not told to it (A2A 1.0 §3.1.10).
//!
//! An event that was on its way when the callback was deleted may still come. What happened later is known by another
//! callback of the same task.

use ostiary_record::{Finding, Gate, Layer, MonoNanos, ReasonCode, Seq, Severity};

use crate::{
    answers,
    callbacks::{self, Arrival},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::delivery,
};

/// The check.
pub(super) struct Deleted;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.deleted",
    version: 1,
    summary: "No event that happens after a callback was deleted is delivered to it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-10"],
    reads: Reads::Each(&[delivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract, Input::Environment],
    reasons: &[ReasonCode::CallbackAfterDeletion, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_delivery_after_the_deletion_is_caught",
};

impl Check for Deleted {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        let asked = callbacks::asked(&answers);
        let Some(asked) = asked.iter().find(|a| a.name == delivery::DELETED) else {
            return vec![answers::no_task(facts)];
        };
        if let Some(unusable) = asked.answered.unusable(facts) {
            return vec![unusable];
        }
        let Some((_, gone)) = asked.answered.tape.recording.mark(delivery::GONE) else {
            return vec![callbacks::refused(facts, asked)];
        };
        let deletion = answers.iter().find(|a| a.operation() == "DeleteTaskPushNotificationConfig");
        if deletion.is_some_and(|a| a.reply.error().is_some() || a.reply.malformed().is_some()) {
            let remedy = "it was refused; see a2a.push.configuration";
            return vec![facts.inconclusive(ReasonCode::ControlFailed, "a deletion of the callback", remedy)];
        }
        let after: Vec<&Arrival<'_>> = arrivals.iter().filter(|a| a.is_to(delivery::SECOND) && a.seq > gone).collect();
        let late = arrivals.iter().find(|a| a.is_to(delivery::DELETED) && a.seq > gone && happened_after(a, &after));
        if let Some(late) = late {
            let at = vec![asked.answered.tape.cite(gone), late.cite()];
            let observed = "an event that happened after it";
            return vec![facts.fail(ReasonCode::CallbackAfterDeletion, at, "nothing after the deletion", observed)];
        }
        vec![none_came(facts, &answers, gone, (&arrivals, &after))]
    }
}

/// Whether a late delivery is of an event that another callback was told of as the second one, or later, after the
/// deletion: the first may have been on its way. A body that the other one never got is known by its time alone.
fn happened_after(late: &Arrival<'_>, after: &[&Arrival<'_>]) -> bool {
    let Some(second) = after.get(1).map(|a| a.at) else { return false };
    let same = after.iter().position(|a| a.body.is_some() && a.body == late.body);
    same.map_or(late.at > MonoNanos(second.0), |place| place > 0)
}

fn none_came(
    facts: &Facts<'_>,
    answers: &[answers::Answered<'_>],
    gone: Seq,
    (arrivals, after): (&[Arrival<'_>], &[&Arrival<'_>]),
) -> Finding {
    let Some(tape) = facts.tapes().first().copied() else { return answers::no_task(facts) };
    let before = arrivals.iter().any(|a| a.is_to(delivery::DELETED));
    if before && after.len() > 1 {
        return facts.pass(std::iter::once(tape.cite(gone)).chain(after.iter().map(|a| a.cite())).collect());
    }
    if !callbacks::open_at(answers, tape, gone) || (after.is_empty() && callbacks::ended(answers, tape) && before) {
        return super::ended_too_soon(facts);
    }
    if arrivals.is_empty() {
        return callbacks::unreachable(facts);
    }
    let remedy = "too little happened around the deletion: add an example with `runs: long` to skills.yaml that reports \
                  its progress for longer";
    facts.inconclusive(ReasonCode::ObservationIncomplete, "events before and after the deletion", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, Outcome};

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes};

    /// The run in which the callback goes on to get what another one gets, from the n-th event after its deletion on.
    fn late(from: usize) -> Driven {
        let driven = World::pushing().drive();
        let before = driven.came(delivery::ID, delivery::DELETED).len();
        let deleted = driven.came(delivery::ID, delivery::DELETED).first().cloned().expect("one came");
        let mut second = 0;
        driven.deliveries(|scenario, d| {
            if scenario != delivery::ID || d.to.as_deref() != Some(delivery::SECOND) {
                return vec![d];
            }
            second += 1;
            if second < before + from {
                return vec![d];
            }
            let more = Delivery { withdrawn: true, body: d.body.clone(), at: d.at, ..deleted.clone() };
            vec![d, more]
        })
    }

    #[test]
    fn silence_after_the_deletion_passes() {
        passes(&Deleted, &World::pushing().drive());
    }

    #[test]
    fn a_delivery_after_the_deletion_is_caught() {
        caught(&Deleted, &late(2), ReasonCode::CallbackAfterDeletion);
    }

    #[test]
    fn what_was_on_its_way_may_still_come() {
        let driven = World::pushing().drive();
        let last = driven.came(delivery::ID, delivery::DELETED).last().cloned().expect("one came");
        let mut second = 0;
        let before = driven.came(delivery::ID, delivery::DELETED).len();
        let driven = driven.deliveries(|scenario, d| {
            second += usize::from(scenario == delivery::ID && d.to.as_deref() == Some(delivery::SECOND));
            let now = second == before + 1 && d.to.as_deref() == Some(delivery::SECOND);
            if now { vec![d.clone(), Delivery { withdrawn: true, at: d.at, ..last.clone() }] } else { vec![d] }
        });
        passes(&Deleted, &driven);
    }

    #[test]
    fn without_events_afterwards_nothing_is_told() {
        let driven = World::pushing().drive();
        let driven = driven.deliveries(|_, d| if d.to.as_deref() == Some(delivery::SECOND) { vec![] } else { vec![d] });
        assert!(matches!(driven.verdict(&Deleted).0, Outcome::Inconclusive | Outcome::NotApplicable));
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Deleted, &World::honest().drive(), Outcome::NotApplicable);
    }
}
