//! `a2a.dependency.recovers` and `a2a.dependency.retries`: what an agent does while a dependency is down, and afterwards
//! (W-02, G-01).

use ostiary_protocol::a2a::TaskState;
use ostiary_record::{Disturbed, Finding, Gate, Layer, ReasonCode, Seq, Severity};

use super::{measure::millis, unpromised};
use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::dependency::{self as scenario, ATTEMPTS, BACK, DOWN, NOISE},
};

/// An agent comes back with its dependency.
pub(super) struct Recovers;

/// An agent keeps to its retry policy.
pub(super) struct Retries;

static RECOVERS: CheckSpec = CheckSpec {
    id: "a2a.dependency.recovers",
    version: 1,
    summary: "While a dependency is down an example ends honestly, and when it is back the next one is done.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-02", "G-01"],
    reads: Reads::Any(&[scenario::ID]),
    depends: &[Input::Candidate, Input::Environment],
    reasons: &[ReasonCode::RecoveryFailed, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "an_agent_that_stays_down_is_caught",
};

static RETRIES: CheckSpec = CheckSpec {
    id: "a2a.dependency.retries",
    summary: "A dependency that is down is tried `retry.max_attempts` times at most, `retry.backoff_ms` apart at least.",
    covers: &["W-02"],
    depends: &[Input::Candidate, Input::Contract, Input::Environment],
    reasons: &[ReasonCode::RetryPolicyViolated],
    liar: "a_dependency_that_is_hammered_is_caught",
    ..RECOVERS
};

/// What a busy machine of ours may take off the time between two attempts, in milliseconds.
const MARGIN_MILLIS: u64 = 20;

impl Check for Recovers {
    fn spec(&self) -> &'static CheckSpec {
        &RECOVERS
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::all(facts);
        facts.tapes().iter().map(|tape| recovers(facts, *tape, &all)).chain(no_dependency(facts)).collect()
    }
}

impl Check for Retries {
    fn spec(&self) -> &'static CheckSpec {
        &RETRIES
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(policy) = &facts.bundle().temporal.retry else { return vec![unpromised(facts, "retry")] };
        let policy = (policy.max_attempts, policy.backoff_ms);
        facts.tapes().iter().map(|tape| retries(facts, *tape, policy)).chain(no_dependency(facts)).collect()
    }
}

/// Where nothing can be taken down nothing is known.
fn no_dependency(facts: &Facts<'_>) -> Option<Finding> {
    let remedy = "name it in environment.yaml: `dependencies`, with `faults: [dependency_down]`";
    facts
        .tapes()
        .is_empty()
        .then(|| facts.inconclusive(ReasonCode::ScenarioNotRun, "a dependency that can be taken down", remedy))
}

/// A list of attempts on the tape.
fn attempts(tape: Tape<'_>, label: &str) -> Option<(Vec<Disturbed>, Seq)> {
    let (text, seq) = tape.recording.mark(label)?;
    Some((serde_json::from_str(text?).ok()?, seq))
}

fn recovers(facts: &Facts<'_>, tape: Tape<'_>, all: &[Answered<'_>]) -> Finding {
    let missing = |what: &str, remedy: &str| facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy);
    let (Some((_, down)), Some((_, back))) = (tape.recording.mark(DOWN), tape.recording.mark(BACK)) else {
        return missing("a dependency that is down", "the dependency was not taken down");
    };
    if attempts(tape, ATTEMPTS).is_none_or(|(tried, _)| tried.is_empty()) {
        return missing(
            "an example that needs the dependency",
            "nothing tried to reach the dependency for the example",
        );
    }
    let own = || all.iter().filter(|a| a.tape.index == tape.index);
    let sent = |a: &&Answered<'_>| a.operation() == "SendMessage";
    let during = own().filter(sent).find(|a| a.exchange.sent.seq > down && a.exchange.sent.seq < back);
    let Some(during) = during else { return missing("an example meanwhile", "none was sent") };
    if let Some(hangs) = hangs(facts, during, own().collect(), back) {
        return hangs;
    }
    let last = own().rfind(|a| a.exchange.sent.seq > back && (sent(a) || a.operation() == "GetTask"));
    let Some(last) = last else { return missing("an example afterwards", "none was sent") };
    let seen = [vec![tape.cite(down)], during.cite(), vec![tape.cite(back)], last.cite()].concat();
    let expected = "an example to be done once the dependency is back";
    match (ends(last), ends(during)) {
        (Ends::Done, Ends::Done) => {
            let remedy = "the example was called done while all attempts to reach the dependency were refused; an observer \
                          of its effects must say whether it was";
            facts.inconclusive(ReasonCode::ObserverMissing, "the effect of the example", remedy)
        }
        (Ends::Done, _) => facts.pass(seen),
        (Ends::Otherwise(observed), _) => {
            facts.fail(ReasonCode::RecoveryFailed, seen, expected, observed).at_exchange(last.exchange.id)
        }
        (Ends::Unknown, _) => last
            .unusable(facts)
            .unwrap_or_else(|| missing("the end of the example", "it was still at work when the last look was taken")),
    }
}

/// How an example ended.
enum Ends {
    Done,
    Otherwise(String),
    Unknown,
}

fn ends(answered: &Answered<'_>) -> Ends {
    if let Some((error, _)) = answered.reply.error() {
        return Ends::Otherwise(error.label());
    }
    let read = answered.task().and_then(|(task, _)| task.state());
    let state = read.or_else(|| answered.first_item().and_then(|(item, _)| item.status()?.state()));
    match state {
        Some(TaskState::Completed) => Ends::Done,
        Some(state) if state.is_terminal() || state.is_interrupted() => Ends::Otherwise(state.to_string()),
        Some(_) => Ends::Unknown,
        None if answered.first_item().is_some() => Ends::Done,
        None => Ends::Unknown,
    }
}

/// A task that was begun while the dependency was down and never ends after it is back.
fn hangs(facts: &Facts<'_>, during: &Answered<'_>, own: Vec<&Answered<'_>>, back: Seq) -> Option<Finding> {
    let task = during.first_item()?.0.task_id()?.to_owned();
    let of = |a: &&&Answered<'_>| a.operation() == "GetTask" && a.exchange.sent.seq > back && a.request()["id"] == task;
    let looks: Vec<&&Answered<'_>> = own.iter().filter(of).collect();
    let last = looks.last()?;
    let state = last.task()?.0.state()?;
    // fewer looks than this are none that give up
    const PATIENCE: usize = 8;
    if state.is_terminal() || state.is_interrupted() || looks.len() < PATIENCE {
        return None;
    }
    let cited = [during.cite(), last.cite()].concat();
    let expected = "the task to end once the dependency is back";
    Some(facts.fail(ReasonCode::RecoveryFailed, cited, expected, format!("still {state} after {} looks", looks.len())))
}

fn retries(facts: &Facts<'_>, tape: Tape<'_>, (most, backoff): (u32, u64)) -> Finding {
    let missing = |what: &str, remedy: &str| facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy);
    let Some((tried, at)) = attempts(tape, ATTEMPTS) else {
        return missing("attempts", "the dependency was not taken down");
    };
    if attempts(tape, NOISE).is_none_or(|(unasked, _)| !unasked.is_empty()) {
        let remedy =
            "the dependency is also called when nothing is asked, so that attempts for an example are not told apart";
        return missing("attempts of the example alone", remedy);
    }
    if tried.is_empty() {
        return missing(
            "an example that needs the dependency",
            "nothing tried to reach the dependency for the example",
        );
    }
    let expected = format!("{most} attempts at most, {backoff} ms apart at least");
    let fail =
        |observed: String| facts.fail(ReasonCode::RetryPolicyViolated, vec![tape.cite(at)], &*expected, observed);
    if tried.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        return fail(format!("{} attempts", tried.len()));
    }
    let gaps = tried.windows(2).map(|pair| millis(pair[1].at.0.saturating_sub(pair[0].at.0)));
    match gaps.min().filter(|gap| gap + MARGIN_MILLIS < backoff) {
        Some(gap) => fail(format!("an attempt {gap} ms after the one before it")),
        None => facts.pass(vec![tape.cite(at)]),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Down, Fault, Kind, MonoNanos, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, seconds};

    /// An agent whose store can be taken down; the n-th attempt to reach it comes at these milliseconds.
    fn world(at_millis: &[u64], unasked: &[u64]) -> Driven {
        let mut world = World::honest();
        world.environment.faults = vec!["dependency_down".to_owned()];
        world.environment.dependencies = vec!["store".to_owned()];
        world.put("temporal.yaml", "temporal_contract:\n  retry: { max_attempts: 3, backoff_ms: 200 }\n");
        let mut driven = world.drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == scenario::ID) {
            for event in &mut recording.events {
                let Kind::Mark { label, value } = &mut event.kind else { continue };
                let at = match label.0.as_str() {
                    ATTEMPTS => at_millis,
                    NOISE => unasked,
                    _ => continue,
                };
                *value = Some(json!(at.iter().map(|at| attempt(*at)).collect::<Vec<_>>()).to_string());
            }
        }
        failing(driven)
    }

    fn attempt(at: u64) -> Disturbed {
        let fault = Fault::Down { how: Down::Refuse };
        let at = MonoNanos(seconds(1) / 1000 * at);
        let what = "connection".to_owned();
        Disturbed { n: at.0, at, exchange: 1, what, fault, reached: false, passed_bytes: 0, waited_millis: 0 }
    }

    /// The agent says honestly that the example failed while its store was down: the second message.
    fn failing(driven: Driven) -> Driven {
        let mut sent = 0;
        driven.edit(|i| {
            if i.scenario != scenario::ID || i.operation != "SendMessage" {
                return Edit::Keep;
            }
            sent += 1;
            if sent == 2 {
                return i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_FAILED"));
            }
            Edit::Keep
        })
    }

    #[test]
    fn an_agent_that_fails_honestly_and_comes_back_passes() {
        let driven = world(&[0, 250, 700], &[]);
        passes(&Recovers, &driven);
        passes(&Retries, &driven);
    }

    #[test]
    fn an_agent_that_stays_down_is_caught() {
        let mut sent = 0;
        let stays = world(&[0], &[]).edit(|i| {
            if i.scenario != scenario::ID {
                return Edit::Keep;
            }
            sent += usize::from(i.operation == "SendMessage");
            match i.operation {
                "SendMessage" if sent > 2 => {
                    i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_FAILED"))
                }
                "GetTask" if sent > 2 => i.changed(|a| a["result"]["status"]["state"] = json!("TASK_STATE_FAILED")),
                _ => Edit::Keep,
            }
        });
        caught(&Recovers, &stays, ReasonCode::RecoveryFailed);
    }

    #[test]
    fn a_dependency_that_is_hammered_is_caught() {
        caught(&Retries, &world(&[0, 250, 500, 750], &[]), ReasonCode::RetryPolicyViolated);
        caught(&Retries, &world(&[0, 10], &[]), ReasonCode::RetryPolicyViolated);
    }

    #[test]
    fn what_calls_by_itself_hides_how_often_it_calls_for_an_example() {
        is(&Retries, &world(&[0, 10], &[5]), Outcome::Inconclusive);
    }

    #[test]
    fn an_example_that_does_not_need_the_dependency_proves_nothing() {
        is(&Recovers, &world(&[], &[]), Outcome::Inconclusive);
        is(&Retries, &world(&[], &[]), Outcome::Inconclusive);
    }

    #[test]
    fn without_dependency_or_policy_nothing_is_judged() {
        let driven = World::honest().drive();
        is(&Recovers, &driven, Outcome::Inconclusive);
        is(&Retries, &driven, Outcome::NotApplicable);
    }
}
