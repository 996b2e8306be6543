//! `a2a.push.authentication`: a notification shows the credential of its configuration, so that its receiver can tell it
//! from anybody's (A2A 1.0 §4.3.3, §13.2; A-08).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity, Shown};

use crate::{
    answers,
    callbacks::{self, Arrival},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::delivery,
};

/// The check.
pub(super) struct Authentication;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.authentication",
    version: 1,
    summary: "Each notification shows the scheme and credentials that its configuration names, or the agent's signature.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["A-08"],
    reads: Reads::Each(&[delivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CallbackUnauthenticated, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_notification_without_its_credential_is_caught",
};

impl Check for Authentication {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let arrivals = callbacks::arrivals(facts);
        let judged = arrivals.iter().filter(|a| !a.stray && a.delivery.shown != Shown::NotAsked);
        let (mut seen, mut wrong) = (Vec::new(), Vec::new());
        for arrival in judged {
            match not_shown(facts, arrival) {
                None if arrival.delivery.shown == Shown::Right => seen.push(arrival.cite()),
                None => {}
                Some(observed) => wrong.push((arrival.cite(), observed)),
            }
        }
        let expected = "`Authorization` with the scheme and credentials of the configuration, or the agent's signature";
        let code = ReasonCode::CallbackUnauthenticated;
        let each = callbacks::grouped(wrong).into_iter();
        let mut out: Vec<Finding> = each.map(|(at, observed)| facts.fail(code, at, expected, observed)).collect();
        if !seen.is_empty() {
            out.push(facts.pass(answers::some_of(seen)));
        }
        if out.is_empty() { vec![nothing(facts)] } else { out }
    }
}

/// What a notification does not show; its token is another matter, since no specification says in which field it stands.
fn not_shown(facts: &Facts<'_>, arrival: &Arrival<'_>) -> Option<String> {
    let signs = facts.environment().callbacks.as_ref().is_some_and(|c| c.signed.is_some());
    let token = arrival.is_to(delivery::DELETED) && !signs;
    let to = arrival.delivery.to.as_deref().unwrap_or_default();
    match &arrival.delivery.shown {
        Shown::NotAsked | Shown::Right => None,
        Shown::Missing if token => None,
        Shown::Missing => Some(format!("callback `{to}`: nothing of it")),
        Shown::Wrong(why) => Some(format!("callback `{to}`: {why}")),
    }
}

fn nothing(facts: &Facts<'_>) -> Finding {
    let answers = answers::all(facts);
    let taken = callbacks::asked(&answers).iter().any(callbacks::Asked::taken);
    if taken { callbacks::unreachable(facts) } else { answers::no_task(facts) }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes};

    fn showing(name: &'static str, shown: Shown) -> Driven {
        World::pushing().drive().deliveries(|_, mut d| {
            if d.to.as_deref() == Some(name) {
                d.shown = shown.clone();
            }
            vec![d]
        })
    }

    #[test]
    fn what_the_configuration_names_passes() {
        passes(&Authentication, &World::pushing().drive());
    }

    #[test]
    fn a_notification_without_its_credential_is_caught() {
        for name in [delivery::INLINE, delivery::SECOND] {
            for shown in [Shown::Missing, Shown::Wrong("the credentials of `Authorization` are others".into())] {
                caught(&Authentication, &showing(name, shown), ReasonCode::CallbackUnauthenticated);
            }
        }
    }

    #[test]
    fn a_token_may_be_left_out_and_not_be_another_one() {
        passes(&Authentication, &showing(delivery::DELETED, Shown::Missing));
        let other = showing(delivery::DELETED, Shown::Wrong("the token is another one".into()));
        caught(&Authentication, &other, ReasonCode::CallbackUnauthenticated);
    }

    #[test]
    fn the_secret_stands_on_no_tape() {
        let driven = World::pushing().drive();
        let text = serde_json::to_string(&driven.run).expect("a run is JSON");
        assert!(text.contains("⟨credential:callback:inline⟩"));
        assert!(!text.contains("Y2FsbGJhY2s6"), "a credential of a callback stands in the clear");
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Authentication, &World::honest().drive(), Outcome::NotApplicable);
    }
}
