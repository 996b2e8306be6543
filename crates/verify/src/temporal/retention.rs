//! `a2a.time.retention`: an ended task can be read for as long as the contract keeps it (W-06).

use ostiary_protocol::a2a::ErrorKind;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use super::{measure::millis, unpromised};
use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{retained, terminal},
};

/// The check.
pub(super) struct Retention;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.time.retention",
    version: 1,
    summary: "An ended task can be read for `terminal_retention_ms`.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-06"],
    reads: Reads::Any(&[retained::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::RetentionNotKept],
    severity: Severity::Error,
    liar: "a_task_that_is_forgotten_early_is_caught",
};

impl Check for Retention {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(promised) = facts.bundle().temporal.terminal_retention_ms else {
            return vec![unpromised(facts, "terminal_retention_ms")];
        };
        let all = answers::all(facts);
        let sent = all.iter().find(|a| a.operation() == "SendMessage");
        let after = |a: &&Answered<'_>| {
            a.tape.recording.mark(terminal::ENDED).is_some_and(|(_, ended)| a.exchange.sent.seq > ended)
        };
        let last = all.iter().filter(|a| a.operation() == "GetTask").rfind(after);
        match (sent, last) {
            (Some(sent), Some(last)) => vec![judge(facts, promised, sent, last)],
            _ => vec![answers::no_task(facts)],
        }
    }
}

/// The task ended after its message was sent, so that a look by then is within the promise.
fn judge(facts: &Facts<'_>, promised: u64, sent: &Answered<'_>, last: &Answered<'_>) -> Finding {
    let waited = millis(last.exchange.sent.at.0.saturating_sub(sent.exchange.sent.at.0));
    let cited = || -> Vec<EventRef> { [sent.cite(), last.cite()].concat() };
    if last.task().is_some() {
        let latency = u64::try_from(retained::LATENCY.as_millis()).unwrap_or(u64::MAX);
        if waited.saturating_add(latency) >= promised {
            return facts.pass(cited());
        }
        let remedy =
            format!("the task was there after {waited} ms; {promised} ms are promised, and were not waited for");
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "the rest of the retention", remedy);
    }
    match last.reply.error() {
        Some(_) if waited > promised => {
            let remedy = format!("the last look came after {waited} ms, when the promise was over");
            facts.inconclusive(ReasonCode::ObservationIncomplete, "a look within the retention", remedy)
        }
        Some((error, _)) if error.may_mean(ErrorKind::TaskNotFound) => {
            let expected = format!("the ended task for {promised} ms");
            let observed = format!("{} after at most {waited} ms", error.label());
            facts.fail(ReasonCode::RetentionNotKept, cited(), expected, observed)
        }
        _ => last.unusable(facts).unwrap_or_else(|| {
            let remedy = "the last look was answered with something else than the task; see a2a.message.response";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "the task", remedy)
        }),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn keeping(millis: u64) -> Driven {
        let mut world = World::honest();
        world.put("temporal.yaml", &format!("temporal_contract:\n  terminal_retention_ms: {millis}\n"));
        world.drive()
    }

    #[test]
    fn a_promise_that_is_waited_out_passes() {
        passes(&Retention, &keeping(0));
        passes(&Retention, &keeping(20_000));
    }

    #[test]
    fn of_a_long_promise_only_so_much_is_known() {
        is(&Retention, &keeping(3_600_000), Outcome::Inconclusive);
    }

    #[test]
    fn what_is_not_promised_is_not_judged() {
        is(&Retention, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn a_task_that_is_forgotten_early_is_caught() {
        for millis in [20_000, 3_600_000] {
            let mut looks = 0;
            let forgotten = keeping(millis).edit(|i| {
                if i.scenario != retained::ID || i.operation != "GetTask" {
                    return Edit::Keep;
                }
                looks += 1;
                let gone = json!({"code": -32001, "message": "no"});
                if looks > 1 { Edit::Replace(i.with_error(gone)) } else { Edit::Keep }
            });
            caught(&Retention, &forgotten, ReasonCode::RetentionNotKept);
        }
    }
}
