//! `a2a.credential.ends`: a task outlives its credential, and the credential does not (W-04).
//!
//! Verifiers let clocks differ by a while. So a credential that has just ended and is taken is held against one that ended
//! at the same time and was never shown: who refuses that one does not look at the first one's end any more.

use ostiary_protocol::a2a::{Card, ErrorKind, TaskState};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::{Facts, Tape},
    scenarios::credential_ends::{self as scenario, ENDED, FRESH, OLD, UNSEEN},
};

/// The check.
pub(super) struct CredentialEnds;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.credential.ends",
    version: 1,
    summary: "A credential that ends while its task runs is refused from then on; with a fresh one the task goes on.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-04", "G-01"],
    reads: Reads::Any(&[scenario::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CredentialExpiredAccepted, ReasonCode::RecoveryFailed, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "a_credential_that_is_remembered_beyond_its_end_is_caught",
};

impl Check for CredentialEnds {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !facts.card().is_some_and(|v| Card::new(v.clone()).declares_security()) {
            return vec![facts.not_applicable(CARD, "/securitySchemes")];
        }
        let all = answers::all(facts);
        facts.tapes().iter().flat_map(|tape| judge(facts, *tape, &all)).collect()
    }
}

/// The looks that were taken with one credential.
fn shown<'s, 'a>(tape: Tape<'a>, all: &'s [Answered<'a>], name: &str) -> Vec<&'s Answered<'a>> {
    let marks: Vec<_> = tape
        .recording
        .events
        .iter()
        .filter_map(|e| match &e.kind {
            ostiary_record::Kind::Mark { label, value } if label.0 == scenario::SHOWN => {
                Some((e.seq, value.as_deref()))
            }
            _ => None,
        })
        .collect();
    let of = |a: &&Answered<'a>| {
        let last = marks.iter().rev().find(|(seq, _)| *seq < a.exchange.sent.seq);
        a.tape.index == tape.index && a.operation() == "GetTask" && last.is_some_and(|(_, shown)| *shown == Some(name))
    };
    all.iter().filter(of).collect()
}

fn judge(facts: &Facts<'_>, tape: Tape<'_>, all: &[Answered<'_>]) -> Vec<Finding> {
    let one = |name: &str| shown(tape, all, name).into_iter().next();
    let Some(ended) = one(ENDED) else { return vec![answers::no_task(facts)] };
    if let Some(unusable) = ended.unusable(facts) {
        return vec![unusable];
    }
    let fresh = shown(tape, all, FRESH);
    match ended.task() {
        None if refused(ended) => vec![goes_on(facts, ended, &fresh, outlived(tape, all))],
        None => vec![unclear(facts, ended)],
        Some((task, _)) if task.state() == Some(TaskState::AuthRequired) => {
            vec![goes_on(facts, ended, &fresh, outlived(tape, all))]
        }
        Some(_) => vec![served(facts, ended, one(UNSEEN), one(OLD))],
    }
}

/// Whether the caller was refused. Around the looks the same look is served, so that an error of the agent's own counts,
/// and so does one that does not know the task.
fn refused(answered: &Answered<'_>) -> bool {
    let Some((error, _)) = answered.reply.error() else { return false };
    let named = [ErrorKind::Unauthenticated, ErrorKind::Forbidden, ErrorKind::TaskNotFound];
    matches!(error.http_status, Some(401 | 403)) || error.kind().is_none_or(|kind| named.contains(&kind))
}

/// The credential was taken after its end: that is no tolerance of clocks where another one of that age is refused, or one
/// that is much older is taken, too.
fn served(
    facts: &Facts<'_>,
    ended: &Answered<'_>,
    unseen: Option<&Answered<'_>>,
    old: Option<&Answered<'_>>,
) -> Finding {
    let x = ended.exchange.id;
    let expected = "a credential to be refused once it has ended, whenever it was shown first";
    let fail = |other: &Answered<'_>, observed: &str| {
        let cited: Vec<EventRef> = [ended.cite(), other.cite()].concat();
        facts.fail(ReasonCode::CredentialExpiredAccepted, cited, expected, observed).at_exchange(x)
    };
    match (unseen, old) {
        (Some(unseen), _) if refused(unseen) => {
            fail(unseen, "the task is served; another credential that ended at that time is refused")
        }
        (_, Some(old)) if old.task().is_some() => fail(old, "the task is served, also to one that ended an hour ago"),
        _ => {
            let remedy =
                "the credential is taken shortly after its end, as clocks may differ; its later end was not waited for";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an end beyond all tolerance", remedy).at_exchange(x)
        }
    }
}

/// With a fresh credential the task is read, and reaches its end.
fn goes_on(facts: &Facts<'_>, ended: &Answered<'_>, fresh: &[&Answered<'_>], outlived: bool) -> Finding {
    let cite = |a: &Answered<'_>| [ended.cite(), a.cite()].concat();
    let expected = "the task to be served and to end with a fresh credential";
    let lost = |a: &&&Answered<'_>| a.reply.error().is_some_and(|(e, _)| e.may_mean(ErrorKind::TaskNotFound));
    if let Some(lost) = fresh.iter().find(lost) {
        return facts.fail(ReasonCode::RecoveryFailed, cite(lost), expected, "the task is not there any more");
    }
    let Some(last) = fresh.last() else {
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "a fresh credential", "none was shown");
    };
    if last.task().is_none() && refused(last) {
        return facts.fail(ReasonCode::RecoveryFailed, cite(last), expected, "the fresh credential is refused");
    }
    match last.task().and_then(|(task, _)| task.state()) {
        Some(state) if state.is_terminal() || state == TaskState::AuthRequired => {
            if outlived {
                return facts.pass(cite(last));
            }
            crate::story::too_brief(facts)
        }
        Some(state) => {
            let remedy = format!("the task was still {state} when the last look was taken");
            facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the task", remedy)
        }
        None => unclear(facts, last),
    }
}

/// Whether the task was at work when it was last read with the credential before its end.
fn outlived(tape: Tape<'_>, all: &[Answered<'_>]) -> bool {
    let Some((_, mark)) = tape.recording.mark(scenario::TASK) else { return false };
    let before = |a: &&Answered<'_>| a.tape.index == tape.index && a.exchange.sent.seq < mark;
    let mut states = all.iter().filter(before).filter_map(|a| a.task()?.0.state());
    states.next_back().is_some_and(|state| !state.is_terminal())
}

fn unclear(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    let said = answered.reply.error().map_or_else(|| "no task".to_owned(), |(error, _)| error.label());
    let remedy = format!("the look was answered with {said}, which says nothing of the credential");
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a refusal of the credential", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    /// The looks with the credentials so named, in the order of the scenario, are served.
    fn serving(names: &'static [&'static str]) -> Driven {
        let order = [ENDED, UNSEEN, OLD];
        let mut refused = 0;
        World::honest().drive().edit(move |i| {
            let look = i.scenario == scenario::ID && i.operation == "GetTask" && i.answer.get("detail").is_some();
            if !look {
                return Edit::Keep;
            }
            refused += 1;
            let name = order[(refused - 1) % order.len()];
            let task = json!({"id": i.request["params"]["id"], "contextId": "c",
                "status": {"state": "TASK_STATE_WORKING"}});
            let answer = json!({"jsonrpc": "2.0", "id": i.request["id"], "result": task});
            if names.contains(&name) { Edit::Replace(answer) } else { Edit::Keep }
        })
    }

    fn fresh(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let mut looks = 0;
        World::honest().drive().edit(|i| {
            let read = i.scenario == scenario::ID && i.operation == "GetTask" && i.answer.get("result").is_some();
            looks += usize::from(read);
            // the first look is that of the control
            if read && looks > 1 { change(i) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_credential_that_ends_and_a_task_that_goes_on_pass() {
        passes(&CredentialEnds, &World::honest().drive());
    }

    #[test]
    fn a_credential_that_is_remembered_beyond_its_end_is_caught() {
        caught(&CredentialEnds, &served_by_status(&[ENDED]), ReasonCode::CredentialExpiredAccepted);
        caught(&CredentialEnds, &served_by_status(&[ENDED, UNSEEN, OLD]), ReasonCode::CredentialExpiredAccepted);
    }

    #[test]
    fn a_tolerance_of_clocks_is_no_lie() {
        is(&CredentialEnds, &served_by_status(&[ENDED, UNSEEN]), Outcome::Inconclusive);
    }

    #[test]
    fn a_task_that_is_lost_to_the_fresh_credential_is_caught() {
        let gone = fresh(|i| Edit::Replace(i.with_error(json!({"code": -32001, "message": "no"}))));
        caught(&CredentialEnds, &gone, ReasonCode::RecoveryFailed);
    }

    #[test]
    fn where_nobody_is_asked_for_a_credential_none_ends() {
        is(&CredentialEnds, &World::public().drive(), Outcome::NotApplicable);
    }

    /// The same, with the status of an answer that is served.
    fn served_by_status(names: &'static [&'static str]) -> Driven {
        let mut driven = serving(names);
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == scenario::ID) {
            let served: Vec<_> = recording
                .exchanges()
                .iter()
                .filter(|x| String::from_utf8_lossy(&x.body()).contains("\"result\""))
                .map(|x| x.id)
                .collect();
            for event in &mut recording.events {
                if let ostiary_record::Kind::Head { x, status, .. } = &mut event.kind
                    && served.contains(x)
                {
                    *status = 200;
                }
            }
        }
        driven
    }
}
