//! `a2a.push.inside`: callback addresses of the agent's own network are refused, and no redirect leads there (A2A 1.0
//! §13.2; A-07).
//!
//! The specification recommends it, so that it is graded. What arrives inside is a way into the agent's network: FAIL in
//! production, a warning in development. An address that is taken and not called is a warning, where the agent was seen not
//! to call such addresses; where nobody could have seen a call, that is missing.

use std::collections::BTreeMap;

use ostiary_record::{EventRef, Finding, Gate, Kind, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    callbacks::{self, Arrival, Asked, egress::departures},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::inside,
};

/// The check.
pub(super) struct Inside;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.inside",
    version: 1,
    summary: "Callbacks inside the agent's own network are refused: loopback, private, link-local, metadata, redirects.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["A-07"],
    reads: Reads::Each(&[inside::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CallbackAddressUnchecked, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_delivery_inside_is_caught",
};

/// One address that was asked for.
struct Probe {
    name: String,
    url: String,
    /// Whether it leads to the port inside of our receiver, so that a delivery is seen.
    seen: bool,
}

/// What became of the probes.
#[derive(Default)]
struct Sorted {
    refused: Vec<EventRef>,
    /// Called inside: what shows it, and by which address.
    called: Vec<(EventRef, String)>,
    /// Taken, and no delivery came where one would have been seen.
    kept_away: Vec<(EventRef, String)>,
    /// Taken, without TLS.
    plain: Vec<(EventRef, String)>,
    /// Taken, and nobody could have seen a delivery.
    unseen: Vec<(EventRef, String)>,
    unusable: Vec<Finding>,
}

// === impl Probe ===

impl Probe {
    /// Whether a call to this host and port is one to its address.
    fn leads_to(&self, host: &str, port: u64) -> bool {
        inside::place_of(&self.url).is_some_and(|(h, p)| h == host && u64::from(p) == port)
    }
}

impl Check for Inside {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        let asked = callbacks::asked(&answers);
        let Some(control) = asked.iter().find(|a| a.name == inside::CONTROL) else {
            return vec![answers::no_task(facts)];
        };
        if let Some(unusable) = control.answered.unusable(facts) {
            return vec![unusable];
        }
        if !control.taken() {
            return vec![callbacks::not_taken(facts, control)];
        }
        let mut out = graded(facts, sorted(facts, &asked, &arrivals), control.answered);
        out.push(rebinding(facts));
        out
    }
}

fn sorted(facts: &Facts<'_>, asked: &[Asked<'_, '_>], arrivals: &[Arrival<'_>]) -> Sorted {
    let mut out = Sorted::default();
    let probes = probes(facts);
    let left = facts.tapes().first().map(|tape| departures(*tape)).unwrap_or_default();
    let arrived = |name: &str| arrivals.iter().find(|a| a.is_to(name)).map(Arrival::cite);
    let called = |probe: &Probe| {
        let tried = left.forbidden.iter().find(|d| probe.leads_to(&d.host, d.port));
        tried.map(|d| d.at.clone())
    };
    let redirected = probes.values().find(|probe| probe.name == inside::REDIRECTED);
    if let Some(at) = redirected.and_then(|probe| arrived(&probe.name).or_else(|| called(probe))) {
        out.called.push((at, "a redirect from an address that may be called".to_owned()));
    }
    let control = arrived(inside::CONTROL).is_some();
    for asked in asked {
        let url = asked.config.get("url").and_then(Value::as_str).unwrap_or_default();
        let Some(probe) = probes.get(url) else { continue };
        let at = || asked.answered.cite().first().cloned();
        if let Some(at) = arrived(&probe.name).or_else(|| called(probe).filter(|_| asked.taken())) {
            out.called.push((at, format!("`{}`", probe.url)));
        } else if let Some(unusable) = asked.answered.unusable(facts) {
            out.unusable.push(unusable);
        } else if asked.answered.reply.error().is_some() {
            out.refused.extend(asked.answered.cite());
        } else if probe.name == inside::PLAIN.0 {
            out.plain.extend(at().map(|at| (at, probe.url.clone())));
        } else if (probe.seen || left.complete) && control {
            out.kept_away.extend(at().map(|at| (at, probe.url.clone())));
        } else {
            out.unseen.extend(at().map(|at| (at, probe.url.clone())));
        }
    }
    out
}

/// The probes by their addresses, as the scenario says.
fn probes(facts: &Facts<'_>) -> BTreeMap<String, Probe> {
    let marks = facts.tapes().iter().flat_map(|t| &t.recording.events).filter_map(|event| match &event.kind {
        Kind::Mark { label, value: Some(value) } if label.0 == inside::PROBE => value.split_once(' '),
        _ => None,
    });
    let probe = |(name, url): (&str, &str)| {
        let seen = !inside::ELSEWHERE.iter().any(|(n, _)| *n == name);
        (url.to_owned(), Probe { name: name.to_owned(), url: url.to_owned(), seen })
    };
    marks.map(probe).collect()
}

fn graded(facts: &Facts<'_>, sorted: Sorted, control: &Answered<'_>) -> Vec<Finding> {
    let expected = "a callback inside the agent's own network is refused, and never called";
    let fail = |at: Vec<EventRef>, what: String| facts.fail(ReasonCode::CallbackAddressUnchecked, at, expected, what);
    let grave = if facts.production() { Severity::Error } else { Severity::Warning };
    let mut out = sorted.unusable;
    for (at, by) in &sorted.called {
        out.push(fail(vec![at.clone()], format!("a call inside, by {by}")).as_severity(grave));
    }
    // whoever was seen not to call what it took looks again before each delivery
    let looks_again = !sorted.kept_away.is_empty() && sorted.called.is_empty();
    let taken = |list: &[(EventRef, String)], what: &str| {
        let urls: Vec<&str> = list.iter().map(|(_, url)| url.as_str()).collect();
        let at = list.iter().map(|(at, _)| at.clone()).collect();
        fail(at, format!("{what}: {}", urls.join(", "))).as_severity(Severity::Warning)
    };
    if !sorted.plain.is_empty() {
        out.push(taken(&sorted.plain, "taken without TLS"));
    }
    if !sorted.kept_away.is_empty() {
        out.push(taken(&sorted.kept_away, "taken and not called"));
    }
    if !sorted.unseen.is_empty() && (looks_again || !facts.production()) {
        out.push(taken(&sorted.unseen, "taken"));
    } else if !sorted.unseen.is_empty() && sorted.called.is_empty() {
        let remedy = format!("the agent took {}, and nobody could see whether it calls that", sorted.unseen[0].1);
        out.push(facts.inconclusive(ReasonCode::ObserverMissing, "observer:egress", remedy));
    }
    if out.iter().all(|f| f.severity != Severity::Error) {
        let seen: Vec<EventRef> = control.cite().into_iter().chain(sorted.refused).collect();
        out.push(facts.pass(answers::some_of(seen)));
    }
    out
}

/// What this build cannot try, said and not counted.
fn rebinding(facts: &Facts<'_>) -> Finding {
    let remedy = "whether a name is looked up again before each delivery was not tried: that needs a resolver of ours that \
                  the agent asks, and so an agent that the harness starts";
    let finding = facts.inconclusive(ReasonCode::ObserverMissing, "resolver", remedy);
    finding.as_severity(Severity::Note)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn world(strictness: &str) -> World {
        let mut world = World::pushing();
        world.environment.strictness = strictness.to_owned();
        world
    }

    /// An agent that takes an address where `takes` says so.
    fn taking(strictness: &str, takes: impl Fn(&str) -> bool) -> Driven {
        world(strictness).drive().edit(|i| {
            let url = i.request["params"]["url"].as_str().unwrap_or_default();
            let asked = i.scenario == inside::ID && i.operation == "CreateTaskPushNotificationConfig";
            if asked && i.answer.get("error").is_some() && takes(url) {
                return Edit::Replace(i.with_result(json!({"id": "p", "url": url})));
            }
            Edit::Keep
        })
    }

    fn delivered(driven: Driven, name: &str) -> Driven {
        let came = driven.came(inside::ID, inside::CONTROL).first().cloned().expect("one came");
        let delivery = Delivery { to: Some(name.to_owned()), target: format!("/inside/{name}/1"), ..came };
        driven.inbound(inside::ID, &format!("callback:{name}"), &delivery)
    }

    #[test]
    fn refusing_all_of_them_passes() {
        let driven = world("production").drive();
        passes(&Inside, &driven);
        let told = driven.judge(&Inside).into_iter().filter(|f| f.severity == Severity::Note);
        assert_eq!(told.filter_map(|f| f.verdict.reason()).collect::<Vec<_>>(), [ReasonCode::ObserverMissing]);
    }

    #[test]
    fn a_delivery_inside_is_caught() {
        for name in ["loopback", "decimal", inside::REDIRECTED, inside::INLINE] {
            let driven = delivered(taking("production", |url| url.contains("/inside/")), name);
            caught(&Inside, &driven, ReasonCode::CallbackAddressUnchecked);
            let driven = delivered(taking("development", |url| url.contains("/inside/")), name);
            passes(&Inside, &driven);
            assert!(warnings(&Inside, &driven).contains(&ReasonCode::CallbackAddressUnchecked));
        }
    }

    #[test]
    fn what_is_taken_and_not_called_is_a_warning() {
        let driven = taking("production", |_| true);
        passes(&Inside, &driven);
        assert_eq!(warnings(&Inside, &driven), [ReasonCode::CallbackAddressUnchecked; 3]);
    }

    #[test]
    fn an_address_without_tls_is_a_warning() {
        let driven = taking("production", |url| url == inside::PLAIN.1);
        passes(&Inside, &driven);
        assert_eq!(warnings(&Inside, &driven), [ReasonCode::CallbackAddressUnchecked]);
    }

    #[test]
    fn what_is_taken_where_nobody_could_see_a_call_is_not_told() {
        let driven = taking("production", |url| !url.contains("/inside/") && url != inside::PLAIN.1);
        assert_eq!(driven.verdict(&Inside), (Outcome::Inconclusive, Some(ReasonCode::ObserverMissing)));
    }

    #[test]
    fn who_refuses_the_control_proves_nothing() {
        let mut world = world("production");
        world.environment.callbacks = Some(ostiary_record::CallbackFacts::default());
        let driven = world.drive().edit(|i| {
            let asked = i.scenario == inside::ID && i.operation == "CreateTaskPushNotificationConfig";
            if asked { Edit::Replace(i.with_error(json!({"code": -32602, "message": "no"}))) } else { Edit::Keep }
        });
        assert_eq!(driven.verdict(&Inside), (Outcome::Inconclusive, Some(ReasonCode::CallbackRefused)));
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Inside, &World::honest().drive(), Outcome::NotApplicable);
    }
}
