//! `a2a.push.destination`: notifications go to the registered callback and nowhere else, as far as our receiver and
//! an egress observer see.

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    callbacks::{self, egress::departures},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::{delivery, inside, redelivery},
};

/// The check.
pub(super) struct Destination;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.destination",
    version: 1,
    summary: "What is meant for a callback is sent to its address alone.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["A-06"],
    reads: Reads::Each(&[delivery::ID, redelivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CallbackElsewhere, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_notification_to_another_address_is_caught",
};

impl Check for Destination {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        if arrivals.is_empty() {
            let taken = callbacks::asked(&answers).iter().any(callbacks::Asked::taken);
            return vec![if taken { callbacks::unreachable(facts) } else { answers::no_task(facts) }];
        }
        let expected = "deliveries to the registered addresses alone";
        // other scenarios ask for these at the same time; see a2a.push.inside
        let seen = facts.tapes_of(delivery::ID).next().map(departures).unwrap_or_default();
        let calls = seen.forbidden.iter().filter(|call| !inside::is_probe(&call.host));
        let calls = calls.map(|call| (call.at.clone(), format!("a call to `{}:{}`", call.host, call.port)));
        let strays = arrivals.iter().filter(|a| a.stray);
        let strays = strays.map(|a| (a.cite(), format!("one to `{}`", a.delivery.target)));
        let each = callbacks::grouped(strays.chain(calls)).into_iter();
        let code = ReasonCode::CallbackElsewhere;
        let mut out: Vec<Finding> = each.map(|(at, observed)| facts.fail(code, at, expected, observed)).collect();
        if out.is_empty() {
            let came = arrivals.iter().map(callbacks::Arrival::cite);
            out.push(if seen.complete {
                facts.pass(answers::some_of(came.chain(seen.at).collect()))
            } else {
                unseen(facts)
            });
        }
        out
    }
}

/// What was not seen can prove nothing.
fn unseen(facts: &Facts<'_>) -> Finding {
    let remedy = "nothing came to another address of the receiver, and nobody saw what else left the agent: add an egress \
                  observer with `only_way_out: true` to the environment, and let the agent use it as its proxy";
    facts.inconclusive(ReasonCode::ObserverMissing, "observer:egress", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, Kind, Outcome, Source};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        scenarios::push::STRAY,
        testing::{Driven, World, caught, is, passes},
    };

    /// The run with what an egress observer saw.
    fn seeing(egress: &Value, complete: bool) -> Driven {
        let mut driven = World::pushing().drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == delivery::ID) {
            let last = recording.events.last().expect("it is not empty").clone();
            let seq = ostiary_record::Seq(last.seq.0 + 1);
            let window = (ostiary_record::Seq(0), last.seq);
            let kind = Kind::Observed { window, effects: json!({"egress": egress}), complete };
            let from = Source::Observer(ostiary_record::event::ObserverId("egress".into()));
            recording.events.push(ostiary_record::Event { seq, from, kind, ..last });
        }
        driven
    }

    fn call(host: &str, allowed: bool) -> Value {
        json!({"n": 0, "host": host, "port": 443, "allowed": allowed})
    }

    #[test]
    fn calls_to_callbacks_alone_pass_where_all_of_them_are_seen() {
        passes(&Destination, &seeing(&json!([call("hooks.example.test", true)]), true));
        // another scenario's probe
        passes(&Destination, &seeing(&json!([call("169.254.169.254", false)]), true));
    }

    #[test]
    fn what_nobody_saw_is_not_told() {
        for driven in [World::pushing().drive(), seeing(&json!([]), false)] {
            assert_eq!(driven.verdict(&Destination), (Outcome::Inconclusive, Some(ReasonCode::ObserverMissing)));
        }
    }

    #[test]
    fn a_notification_to_another_address_is_caught() {
        let driven = World::pushing().drive();
        let came = driven.came(delivery::ID, delivery::INLINE).first().cloned().expect("one came");
        let stray = Delivery { to: None, target: "/elsewhere".to_owned(), ..came };
        caught(&Destination, &driven.inbound(delivery::ID, STRAY, &stray), ReasonCode::CallbackElsewhere);
        let elsewhere = json!([call("hooks.example.test", true), call("collector.example.test", false)]);
        for complete in [false, true] {
            caught(&Destination, &seeing(&elsewhere, complete), ReasonCode::CallbackElsewhere);
        }
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Destination, &World::honest().drive(), Outcome::NotApplicable);
    }
}
