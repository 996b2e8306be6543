//! `a2a.task.timestamps`: a task's status times never go backwards (T-07), and are times of UTC.

use ostiary_protocol::a2a::trace::{Sighting, Step};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input},
    facts::Facts,
    protocol::machine::TASKS,
};

/// The check.
pub(super) struct Timestamps;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.timestamps",
    version: 1,
    summary: "The status times of a task never go backwards.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-07"],
    reads: TASKS,
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::TimestampBackwards, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_clock_that_is_stepped_back_is_caught",
};

impl Check for Timestamps {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let traces = answers::traces(facts);
        let sightings: Vec<&Sighting> =
            traces.iter().flat_map(|(_, t)| t.tasks().flat_map(|(_, s)| s.iter())).collect();
        if sightings.is_empty() {
            return vec![answers::no_task(facts)];
        }
        if sightings.iter().all(|s| s.timestamp_text.is_none()) {
            return vec![facts.not_applicable("answers with a task", "/status/timestamp")];
        }
        let steps: Vec<Step<'_>> = traces.iter().flat_map(|(_, t)| t.steps()).collect();
        let mut out: Vec<Finding> = formats(facts, &sightings).into_iter().collect();
        out.extend(steps.iter().filter_map(|s| backwards(facts, s)));
        if out.iter().all(|f| f.severity != Severity::Error) {
            let timed = |s: &&Step<'_>| s.from.timestamp.is_some() && s.to.timestamp.is_some();
            let seen: Vec<EventRef> =
                steps.iter().filter(timed).flat_map(|s| [s.from.at.clone(), s.to.at.clone()]).collect();
            out.push(facts.pass(answers::some_of(seen)));
        }
        out
    }
}

/// One finding for all times of a wrong form: an agent writes them all alike.
fn formats(facts: &Facts<'_>, sightings: &[&Sighting]) -> Option<Finding> {
    let text = |s: &Sighting| s.timestamp_text.clone().unwrap_or_default();
    let none = sightings.iter().find(|s| s.timestamp_text.is_some() && s.timestamp.is_none());
    let offset = || sightings.iter().find(|s| s.timestamp.is_some() && !text(s).ends_with(['Z', 'z']));
    let (sighting, severity) = match none {
        Some(sighting) => (sighting, Severity::Error),
        None => (offset()?, Severity::Warning),
    };
    let expected = "a time of UTC, such as 2026-11-30T09:52:29.752Z";
    let observed = format!("`{}`", text(sighting));
    let finding = facts.fail(ReasonCode::ResponseMalformed, vec![sighting.at.clone()], expected, observed);
    Some(finding.at_exchange(sighting.exchange).as_severity(severity))
}

fn backwards(facts: &Facts<'_>, step: &Step<'_>) -> Option<Finding> {
    let (from, to) = (step.from.timestamp?, step.to.timestamp?);
    if from <= to {
        return None;
    }
    let at = vec![step.from.at.clone(), step.to.at.clone()];
    let finding = facts.fail(ReasonCode::TimestampBackwards, at, format!("{from} or later"), to.to_string());
    Some(finding.at_exchange(step.to.exchange))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn last_of_stream(timestamp: &str) -> Driven {
        World::honest().drive().edit(|i| match (i.operation, i.n) {
            ("SendStreamingMessage", 3) => {
                i.changed(|a| a["result"]["statusUpdate"]["status"]["timestamp"] = json!(timestamp))
            }
            _ => Edit::Keep,
        })
    }

    /// Changes every timestamp of every answer.
    fn every(change: impl Fn(&str) -> Option<String>) -> Driven {
        World::honest().drive().edit(|i| {
            let mut answer = i.answer.clone();
            for pointer in ["/result/status", "/result/task/status", "/result/statusUpdate/status"] {
                let Some(status) = answer.pointer_mut(pointer).and_then(Value::as_object_mut) else { continue };
                let changed = status.get("timestamp").and_then(Value::as_str).and_then(&change);
                match changed {
                    Some(text) => status.insert("timestamp".to_owned(), json!(text)),
                    None => status.remove("timestamp"),
                };
            }
            Edit::Replace(answer)
        })
    }

    #[test]
    fn times_that_go_on_pass() {
        passes(&Timestamps, &World::honest().drive());
    }

    #[test]
    fn a_clock_that_is_stepped_back_is_caught() {
        caught(&Timestamps, &last_of_stream("2026-11-30T08:00:00Z"), ReasonCode::TimestampBackwards);
    }

    #[test]
    fn a_time_without_zone_is_caught_and_an_offset_warned_about() {
        caught(&Timestamps, &every(|t| Some(t.trim_end_matches('Z').to_owned())), ReasonCode::ResponseMalformed);
        let offset = every(|t| Some(t.replace('Z', "+00:00")));
        passes(&Timestamps, &offset);
        assert_eq!(warnings(&Timestamps, &offset), [ReasonCode::ResponseMalformed]);
    }

    #[test]
    fn times_are_optional() {
        is(&Timestamps, &every(|_| None), Outcome::NotApplicable);
    }
}
