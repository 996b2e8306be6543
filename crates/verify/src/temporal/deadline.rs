//! `a2a.time.*`: by when an answer must begin, progress must show, and a task must be done (W-01).

use ostiary_contract::file::temporal::Temporal;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use super::{
    measure::{Promise, Span},
    pace::{self, Pace},
    unpromised,
};
use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{example, paced, send},
};

/// One of the five checks: they differ in the promise, and in what is measured.
pub(super) struct Deadline {
    spec: &'static CheckSpec,
    key: &'static str,
    what: &'static str,
    promised: fn(&Temporal) -> Option<u64>,
    spans: fn(&Pace<'_>) -> Vec<Span>,
    /// Whether a task must be seen at work for it.
    at_work: bool,
}

const fn spec(id: &'static str, summary: &'static str, liar: &'static str) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary,
        layer: Layer::Temporal,
        gate: Gate::Security,
        covers: &["W-01"],
        reads: Reads::Any(&[paced::ID, send::ID]),
        depends: &[Input::Candidate, Input::Contract],
        reasons: &[ReasonCode::DeadlineMissed, ReasonCode::ExampleMissing],
        severity: Severity::Error,
        liar,
    }
}

static ACKNOWLEDGED: CheckSpec = spec(
    "a2a.time.acknowledged",
    "A message that is not waited for shows a first sign of life within `acknowledge_within_ms`.",
    "a_late_sign_of_life_is_caught",
);
static FIRST_PROGRESS: CheckSpec = spec(
    "a2a.time.first_progress",
    "A task shows its first progress within `first_progress_within_ms`.",
    "late_first_progress_is_caught",
);
static GAP: CheckSpec = spec(
    "a2a.time.progress_gap",
    "No silence between two signs of progress is longer than `progress_gap_within_ms`.",
    "a_long_silence_is_caught",
);
static STEP: CheckSpec =
    spec("a2a.time.step", "No step of a task takes longer than `step_within_ms`.", "a_long_step_is_caught");
static TASK: CheckSpec =
    spec("a2a.time.task", "An example's task stands still within `task_within_ms`.", "a_long_task_is_caught");

// === impl Deadline ===

impl Deadline {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self {
            spec: &ACKNOWLEDGED,
            key: "acknowledge_within_ms",
            what: "the first sign of life",
            promised: |t| t.acknowledge_within_ms,
            spans: |p| p.acknowledged().into_iter().collect(),
            at_work: false,
        },
        Self {
            spec: &FIRST_PROGRESS,
            key: "first_progress_within_ms",
            what: "the first progress",
            promised: |t| t.first_progress_within_ms,
            spans: |p| p.first_progress().into_iter().collect(),
            at_work: false,
        },
        Self {
            spec: &GAP,
            key: "progress_gap_within_ms",
            what: "the next sign of progress",
            promised: |t| t.progress_gap_within_ms,
            spans: |p| p.gaps(),
            at_work: true,
        },
        Self {
            spec: &STEP,
            key: "step_within_ms",
            what: "a step",
            promised: |t| t.step_within_ms,
            spans: |p| p.steps(),
            at_work: true,
        },
        Self {
            spec: &TASK,
            key: "task_within_ms",
            what: "the whole task",
            promised: |t| t.task_within_ms,
            spans: |p| p.whole().into_iter().collect(),
            at_work: false,
        },
    ];
}

impl Check for Deadline {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(millis) = (self.promised)(&facts.bundle().temporal) else {
            return vec![unpromised(facts, self.key)];
        };
        let promise = Promise { key: self.key, millis, what: self.what };
        let spans: Vec<Span> = pace::of(facts).iter().flat_map(self.spans).collect();
        if !spans.is_empty() {
            return promise.judge(facts, &spans);
        }
        if self.at_work && example::long_running(facts.bundle(), facts.card()).is_none() {
            let remedy = "add an example with `runs: long` to skills.yaml";
            return vec![facts.inconclusive(ReasonCode::ExampleMissing, "a task at work", remedy)];
        }
        vec![answers::no_task(facts)]
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, MonoNanos, Outcome};

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes, seconds};

    const PROMISES: &str = "temporal_contract:
  acknowledge_within_ms: 1000
  first_progress_within_ms: 2000
  progress_gap_within_ms: 2000
  step_within_ms: 2000
  task_within_ms: 20000
";

    const fn check(n: usize) -> Deadline {
        let [acknowledged, first_progress, gap, step, task] = Deadline::ALL;
        match n {
            0 => acknowledged,
            1 => first_progress,
            2 => gap,
            3 => step,
            _ => task,
        }
    }

    fn promising(mut world: World) -> Driven {
        world.put("temporal.yaml", PROMISES);
        world.drive()
    }

    /// The paced recordings with so many seconds more before the n-th piece of the message's answer and all after it.
    fn late(mut driven: Driven, piece: u32, by: u64) -> Driven {
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == paced::ID) {
            let first = recording.exchanges().first().map(|x| x.id);
            let is = |e: &ostiary_record::Event| match &e.kind {
                Kind::Head { x, .. } => piece == 0 && Some(*x) == first,
                Kind::Frame { x, n, .. } => *n + 1 == piece && Some(*x) == first,
                _ => false,
            };
            let at = recording.events.iter().position(is).expect("the answer has that piece");
            for event in &mut recording.events[at..] {
                event.at = MonoNanos(event.at.0 + seconds(by));
            }
        }
        driven
    }

    #[test]
    fn an_agent_that_keeps_its_times_passes_by_stream_and_by_looks() {
        for world in [World::honest, World::without_streaming] {
            let driven = promising(world());
            for n in 0..5 {
                passes(&check(n), &driven);
            }
        }
    }

    #[test]
    fn what_is_not_promised_is_not_judged() {
        let driven = World::honest().drive();
        for n in 0..5 {
            is(&check(n), &driven, Outcome::NotApplicable);
        }
    }

    #[test]
    fn a_late_sign_of_life_is_caught() {
        caught(&check(0), &late(promising(World::honest()), 0, 2), ReasonCode::DeadlineMissed);
        caught(&check(0), &late(promising(World::without_streaming()), 0, 2), ReasonCode::DeadlineMissed);
        passes(&check(2), &late(promising(World::honest()), 0, 2));
    }

    #[test]
    fn late_first_progress_is_caught() {
        let late = late(promising(World::honest()), 2, 4);
        caught(&check(1), &late, ReasonCode::DeadlineMissed);
        passes(&check(0), &late);
    }

    #[test]
    fn a_long_silence_is_caught() {
        caught(&check(2), &late(promising(World::honest()), 4, 4), ReasonCode::DeadlineMissed);
    }

    #[test]
    fn a_long_step_is_caught() {
        let late = late(promising(World::honest()), 4, 4);
        caught(&check(3), &late, ReasonCode::DeadlineMissed);
        passes(&check(4), &late);
    }

    #[test]
    fn a_long_task_is_caught() {
        caught(&check(4), &late(promising(World::honest()), 4, 40), ReasonCode::DeadlineMissed);
    }

    #[test]
    fn a_time_that_lies_between_two_looks_is_not_told() {
        let mut driven = promising(World::without_streaming());
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == paced::ID) {
            let looks = recording.exchanges().into_iter().filter(|x| x.intent.is_some_and(|op| op.0 == "GetTask"));
            let first = looks.map(|x| x.sent.seq).next().expect("a look");
            // the answer of the first look comes late: what it shows may have been so long before
            for event in recording.events.iter_mut().filter(|e| e.seq > first) {
                event.at = MonoNanos(event.at.0 + seconds(5));
            }
        }
        is(&check(1), &driven, Outcome::Inconclusive);
    }

    #[test]
    fn silence_of_a_contract_without_a_long_example_is_not_told() {
        let mut world = World::without_streaming();
        let brief: String = include_str!("../testing/skills.yaml").lines().take(8).map(|l| format!("{l}\n")).collect();
        world.put("skills.yaml", &brief);
        let driven = promising(world);
        passes(&check(4), &driven);
    }
}
