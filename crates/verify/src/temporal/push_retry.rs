//! `a2a.push.retry`: a notification that its receiver cannot take is repeated at most as often, and no sooner, than
//! `push_retry` of temporal.yaml says (W-02).

use std::collections::BTreeMap;

use ostiary_contract::file::temporal::RetryPolicy;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    callbacks::{self, Arrival},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::redelivery,
    temporal::unpromised,
};

/// The check.
pub(super) struct PushRetry;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.retry",
    version: 1,
    summary: "A notification that is not taken is repeated no more often and no sooner than `push_retry` says.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-02"],
    reads: Reads::Each(&[redelivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract, Input::Environment],
    reasons: &[ReasonCode::CallbackRetryExcessive, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_sender_that_hammers_is_caught",
};

/// What clocks and schedulers may take off a pause, in percent.
const SLACK: u64 = 10;

impl Check for PushRetry {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let promised = facts.bundle().temporal.push_retry.as_ref();
        let Some(policy) = promised else { return vec![unpromised(facts, "push_retry")] };
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let arrivals = callbacks::arrivals(facts);
        let tried: Vec<&Arrival<'_>> = arrivals.iter().filter(|a| a.is_to(redelivery::FAILING)).collect();
        if tried.is_empty() {
            let answers = answers::all(facts);
            let taken = callbacks::asked(&answers).iter().any(callbacks::Asked::taken);
            return vec![if taken { callbacks::unreachable(facts) } else { answers::no_task(facts) }];
        }
        let mut events: BTreeMap<String, Vec<&Arrival<'_>>> = BTreeMap::new();
        for arrival in &tried {
            // the body as it came: what differs is another attempt at nothing, and judged elsewhere
            events.entry(arrival.delivery.body.as_str().unwrap_or_default().to_owned()).or_default().push(arrival);
        }
        let mut out: Vec<Finding> = events.values().filter_map(|attempts| excess(facts, policy, attempts)).collect();
        if out.is_empty() {
            out.push(facts.pass(answers::some_of(tried.iter().map(|a| a.cite()).collect())));
        }
        out
    }
}

/// What is too much about the attempts at one event.
fn excess(facts: &Facts<'_>, policy: &RetryPolicy, attempts: &[&Arrival<'_>]) -> Option<Finding> {
    let fail = |expected, observed| {
        let at = answers::some_of(attempts.iter().map(|a| a.cite()).collect());
        Some(facts.fail(ReasonCode::CallbackRetryExcessive, at, expected, observed))
    };
    if attempts.len() as u64 > u64::from(policy.max_attempts) {
        return fail(format!("at most {} attempts at one event", policy.max_attempts), format!("{}", attempts.len()));
    }
    let pauses = attempts.windows(2).map(|w| w[1].at.0.saturating_sub(w[0].at.0) / 1_000_000);
    let shortest = pauses.min()?;
    let least = policy.backoff_ms.saturating_mul(100 - SLACK) / 100;
    let observed = || format!("{shortest} ms");
    if shortest < least {
        fail(format!("at least {} ms between attempts", policy.backoff_ms), observed())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, MonoNanos, Outcome};

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes};

    /// The run under a promise, with the attempts at each event made those that `change` gives.
    fn under(policy: &str, change: impl Fn(Delivery) -> Vec<Delivery>) -> Driven {
        let mut world = World::pushing();
        world.put("temporal.yaml", &format!("temporal_contract:\n  push_retry: {policy}\n"));
        let driven = world.drive();
        let mut before = String::new();
        driven.deliveries(|_, d| {
            if d.to.as_deref() != Some(redelivery::FAILING) {
                return vec![d];
            }
            let body = d.body.as_str().unwrap_or_default().to_owned();
            let again = body == before;
            before = body;
            if again { vec![] } else { change(d) }
        })
    }

    fn after(delivery: &Delivery, millis: u64) -> Delivery {
        Delivery { at: MonoNanos(delivery.at.0 + millis * 1_000_000), ..delivery.clone() }
    }

    #[test]
    fn as_often_and_as_late_as_promised_passes() {
        let driven = under("{max_attempts: 3, backoff_ms: 200}", |d| vec![d.clone(), after(&d, 200), after(&d, 600)]);
        passes(&PushRetry, &driven);
        passes(&PushRetry, &under("{max_attempts: 3, backoff_ms: 200}", |d| vec![d]));
    }

    #[test]
    fn a_sender_that_hammers_is_caught() {
        let often = under("{max_attempts: 3, backoff_ms: 200}", |d| (0..4).map(|n| after(&d, n * 300)).collect());
        let soon = under("{max_attempts: 3, backoff_ms: 200}", |d| vec![d.clone(), after(&d, 20)]);
        for driven in [often, soon] {
            caught(&PushRetry, &driven, ReasonCode::CallbackRetryExcessive);
        }
    }

    #[test]
    fn without_a_promise_it_does_not_apply() {
        is(&PushRetry, &World::pushing().drive(), Outcome::NotApplicable);
    }
}
