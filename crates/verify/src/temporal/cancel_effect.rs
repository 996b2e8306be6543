//! `a2a.time.cancel`: an acknowledged cancel shows within its time (W-03, as far as the task's state goes).

use ostiary_protocol::a2a::TaskState;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use super::{
    measure::{Promise, Span},
    unpromised,
};
use crate::{
    answers,
    cancels::{self, Cancel},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::cancel,
};

/// The check.
pub(super) struct CancelEffect;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.time.cancel",
    version: 1,
    summary: "After a cancel is acknowledged its task reads CANCELED within `cancellation_effect_within_ms`.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-03"],
    reads: Reads::Any(&[cancel::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::DeadlineMissed],
    severity: Severity::Error,
    liar: "a_cancel_that_shows_late_is_caught",
};

impl Check for CancelEffect {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(millis) = facts.bundle().temporal.cancellation_effect_within_ms else {
            return vec![unpromised(facts, "cancellation_effect_within_ms")];
        };
        let cancels = cancels::of(facts);
        if cancels.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let promise =
            Promise { key: "cancellation_effect_within_ms", millis, what: "CANCELED after the acknowledged cancel" };
        let spans: Vec<Span> = cancels.iter().filter_map(span).collect();
        if spans.is_empty() {
            let remedy = "no cancel of a task at work was acknowledged; see a2a.task.cancel";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an acknowledged cancel", remedy)];
        }
        promise.judge(facts, &spans)
    }
}

/// From the acknowledgement to the first look that shows CANCELED; `None` where nothing was acknowledged, or the task had
/// its end before.
fn span(cancel: &Cancel<'_>) -> Option<Span> {
    let (acknowledged, told) = cancel.acknowledged()?;
    let mut open = acknowledged;
    let mut last = told;
    for look in &cancel.looks {
        let (task, seq) = look.task()?;
        let cite: Vec<EventRef> = vec![cancel.cite(told), cancel.cite(seq)];
        match task.state()? {
            TaskState::Canceled => {
                let least = open.0.saturating_sub(acknowledged.0);
                // it reads CANCELED since its answer at the latest, and where the cancel itself was answered so, at once
                let at_once = cancel.told() == Some(TaskState::Canceled);
                let most = cancel.time(seq).0.saturating_sub(acknowledged.0);
                return Some(Span { least, most: Some(if at_once { 0 } else { most }), at: cite });
            }
            state if state.is_terminal() => return None,
            _ => {
                open = look.exchange.sent.at;
                last = seq;
            }
        }
    }
    let at = vec![cancel.cite(told), cancel.cite(last)];
    (last != told).then(|| Span { least: open.0.saturating_sub(acknowledged.0), most: None, at })
}

#[cfg(test)]
mod tests {
    use ostiary_record::{MonoNanos, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, seconds};

    fn promising() -> Driven {
        let mut world = World::honest();
        world.put("temporal.yaml", "temporal_contract:\n  cancellation_effect_within_ms: 2000\n");
        world.drive()
    }

    /// The cancel is answered with WORKING, and so are the first `looks` looks after it; each takes a second.
    fn slow(looks: usize) -> Driven {
        let mut seen = 0;
        let mut driven = promising().edit(|i| {
            let working = || i.changed(|a| a["result"]["status"]["state"] = json!("TASK_STATE_WORKING"));
            match i.operation {
                "CancelTask" if i.scenario == cancel::ID => {
                    seen = 0;
                    working()
                }
                "GetTask" if i.scenario == cancel::ID && seen < looks => {
                    seen += 1;
                    working()
                }
                _ => Edit::Keep,
            }
        });
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == cancel::ID) {
            let asked: Vec<_> = recording.exchanges().iter().map(|x| x.sent.seq).collect();
            for event in &mut recording.events {
                let before = asked.iter().filter(|seq| **seq <= event.seq).count();
                event.at = MonoNanos(event.at.0 + seconds(1) * u64::try_from(before).expect("few"));
            }
        }
        driven
    }

    #[test]
    fn a_cancel_that_shows_at_once_passes() {
        passes(&CancelEffect, &promising());
        passes(&CancelEffect, &slow(0));
    }

    #[test]
    fn a_cancel_that_shows_late_is_caught() {
        caught(&CancelEffect, &slow(9), ReasonCode::DeadlineMissed);
    }

    #[test]
    fn what_is_not_promised_is_not_judged() {
        is(&CancelEffect, &World::honest().drive(), Outcome::NotApplicable);
    }
}
