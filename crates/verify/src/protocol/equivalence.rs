//! `a2a.binding.equivalence`: all bindings of an agent show the same tasks and refuse with the same errors (I-09).

use std::collections::BTreeMap;

use ostiary_canon::Profile;
use ostiary_protocol::a2a::{A2aError, ErrorKind, StreamItem, TaskView, canonical};
use ostiary_record::{EventRef, Finding, Gate, Kind, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::{Facts, Tape},
    scenarios::{equivalence, push, send, terminal, undeclared, unknown, version},
};

/// The check.
pub(super) struct Equivalent;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.binding.equivalence",
    version: 1,
    summary: "A task reads alike over every binding, and what is refused is refused with the same error.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09", "I-01", "E-02"],
    reads: Reads::AcrossProfiles(&[
        equivalence::ID,
        send::ID,
        unknown::ID,
        version::ID,
        terminal::ID,
        undeclared::STREAM,
        push::undeclared::ID,
        undeclared::EXTENDED_CARD,
    ]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::BindingsDisagree],
    severity: Severity::Error,
    liar: "a_task_that_reads_otherwise_over_another_binding_is_caught",
};

impl Check for Equivalent {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut protocols: Vec<String> =
            facts.tapes().iter().filter_map(profile_of).map(|p| p.protocol().into()).collect();
        protocols.sort_unstable();
        protocols.dedup();
        if protocols.len() < 2 {
            return vec![facts.not_applicable(CARD, "/supportedInterfaces")];
        }
        let mut out: Vec<Finding> = facts.tapes_of(equivalence::ID).flat_map(|tape| tasks(facts, tape)).collect();
        if out.is_empty() {
            out.push(no_task(facts));
        }
        out.extend(errors(facts));
        out
    }
}

/// The finding where no task was read over all bindings: void where every ordinary message is answered by a message.
fn no_task(facts: &Facts<'_>) -> Finding {
    let sent = answers::of(facts, send::ID);
    let only_message = |a: &Answered<'_>| matches!(a.first_item(), Some((StreamItem::Message(_), _)));
    let own: Vec<&Answered<'_>> = sent.iter().filter(|a| a.operation() == "SendMessage").collect();
    if !own.is_empty() && own.into_iter().all(only_message) {
        return facts.not_applicable("answer to SendMessage", "/message");
    }
    let remedy = "no task was read over all bindings";
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a task over all bindings", remedy)
}

fn profile_of(tape: &Tape<'_>) -> Option<Profile> {
    tape.recording.axes.profile.as_deref().and_then(|p| p.parse().ok())
}

// --- tasks ---

/// One read of a task, with the binding it went over.
struct Read<'a> {
    over: String,
    answered: Answered<'a>,
}

/// What the reads of each task of a recording say.
fn tasks(facts: &Facts<'_>, tape: Tape<'_>) -> Vec<Finding> {
    let reads: Vec<Read<'_>> = answers::by_route(tape)
        .into_iter()
        .filter(|a| a.operation() == "GetTask")
        .map(|answered| Read { over: answered.binding().to_string(), answered })
        .collect();
    let mut out = Vec::new();
    for event in &tape.recording.events {
        let Kind::Mark { label, value: Some(id) } = &event.kind else { continue };
        let Some(protocol) = label.0.strip_prefix(equivalence::TASK) else { continue };
        let of_task = |r: &&Read<'_>| r.answered.exchange.sent.seq > event.seq && names(r, id);
        let own: Vec<&Read<'_>> = reads.iter().filter(of_task).collect();
        out.extend(one_task(facts, protocol, &own));
    }
    out
}

fn names(read: &Read<'_>, id: &str) -> bool {
    read.answered.request().get("id").and_then(Value::as_str) == Some(id)
}

/// All reads of one task against the first that shows it: they come one after the other, when it stands still.
fn one_task(facts: &Facts<'_>, made_over: &str, reads: &[&Read<'_>]) -> Vec<Finding> {
    let shown = |r: &&&Read<'_>| r.answered.task().is_some();
    let Some(first) = reads.iter().find(shown) else {
        let remedy = format!("the task made over {made_over} could be read over no binding");
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "a task", remedy)];
    };
    let still = |r: &&Read<'_>| {
        let state = r.answered.task().and_then(|(t, _)| t.state());
        state.is_none_or(|s| s.is_terminal() || s.is_interrupted())
    };
    if !reads.iter().all(still) {
        let remedy = "the task was still at work, and may have changed between the reads";
        return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "a task that stands still", remedy)];
    }
    reads.iter().map(|read| compared(facts, made_over, first, read)).collect()
}

fn compared(facts: &Facts<'_>, made_over: &str, first: &Read<'_>, read: &Read<'_>) -> Finding {
    let x = read.answered.exchange.id;
    if let Some(unusable) = read.answered.unusable(facts) {
        return unusable;
    }
    let cited = || [first.answered.cite(), read.answered.cite()].concat();
    let fail = |expected: String, observed: String| {
        facts.fail(ReasonCode::BindingsDisagree, cited(), expected, observed).at_exchange(x)
    };
    let (Some((one, _)), Some((other, _))) = (first.answered.task(), read.answered.task()) else {
        let observed = read.answered.reply.error().map_or_else(|| "no task".to_owned(), |(e, _)| e.label());
        return fail(format!("the task made over {made_over} over {}, too", read.over), observed);
    };
    match difference(one, other) {
        Ok(None) => facts.pass(cited()).at_exchange(x),
        Ok(Some(pointer)) => {
            let expected = format!("the task that {} shows", first.over);
            fail(expected, format!("another one over {} at `{pointer}`", read.over)).at_pointer("task", pointer)
        }
        Err(why) => {
            let remedy = format!("a task has no form to compare: {why}; see the checks of its members");
            facts.inconclusive(ReasonCode::ObservationIncomplete, "a task that can be compared", remedy).at_exchange(x)
        }
    }
}

/// Where two forms of one task differ; histories may be cut to different lengths, since that is the server's choice.
fn difference(one: TaskView<'_>, other: TaskView<'_>) -> Result<Option<String>, String> {
    let form = |t: TaskView<'_>| canonical::task(t.0).map_err(|e| e.to_string());
    let (mut one, mut other) = (form(one)?, form(other)?);
    let history = |t: &mut Value| match t.as_object_mut().and_then(|m| m.remove("history")) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    let (short, long) = (history(&mut one), history(&mut other));
    let (short, long) = if short.len() <= long.len() { (short, long) } else { (long, short) };
    if !long.ends_with(&short) {
        return Ok(Some("/history".to_owned()));
    }
    Ok(first_difference(&one, &other, ""))
}

fn first_difference(one: &Value, other: &Value, at: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().find_map(|name| {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                match (a.get(name), b.get(name)) {
                    (Some(one), Some(other)) => first_difference(one, other, &at),
                    _ => Some(at),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(n, (one, other))| first_difference(one, other, &format!("{at}/{n}")))
        }
        _ => (one != other).then(|| at.to_owned()),
    }
}

// --- errors ---

/// A request that is refused, whatever the binding: scenario, variant, operation, and which one of them.
type Condition = (String, String, String, usize);

/// The refusals of one condition, by profile.
struct Refused<'a> {
    profile: Profile,
    answered: Answered<'a>,
}

/// Whether one condition is refused with one error. Whether it is refused at all is judged for each binding apart.
fn errors(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_condition: BTreeMap<Condition, Vec<Refused<'_>>> = BTreeMap::new();
    let mut counted: BTreeMap<(u32, String), usize> = BTreeMap::new();
    for answered in answers::all(facts).into_iter().filter(comparable) {
        let n = counted.entry((answered.tape.index, answered.operation().to_owned())).or_default();
        *n += 1;
        let axes = &answered.tape.recording.axes;
        let values: Vec<String> = axes.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let scenario = answered.tape.recording.scenario.0.clone();
        let condition = (scenario, values.join(" "), answered.operation().to_owned(), *n);
        let Some(profile) = profile_of(&answered.tape) else { continue };
        if answered.reply.error().is_some() {
            by_condition.entry(condition).or_default().push(Refused { profile, answered });
        }
    }
    by_condition.iter().filter_map(|(condition, refused)| disagreement(facts, condition, refused)).collect()
}

fn comparable(answered: &Answered<'_>) -> bool {
    let scenario = answered.tape.recording.scenario.0.as_str();
    let other_version = answered.axis(version::AXIS);
    match scenario {
        equivalence::ID | send::ID => false,
        version::ID => other_version == version::UNSUPPORTED,
        _ => !answered.operation().is_empty(),
    }
}

fn disagreement(facts: &Facts<'_>, condition: &Condition, refused: &[Refused<'_>]) -> Option<Finding> {
    let alike = |a: &Profile, b: &Profile| {
        (a.authorization(), a.tenant_class()) == (b.authorization(), b.tenant_class()) && a.protocol() != b.protocol()
    };
    let pairs = refused.iter().enumerate().flat_map(|(n, a)| refused[n + 1..].iter().map(move |b| (a, b)));
    let (a, b) = pairs.filter(|(a, b)| alike(&a.profile, &b.profile)).find(|(a, b)| differ(a, b))?;
    let label = |r: &Refused<'_>| r.answered.reply.error().map(|(e, _)| e.label()).unwrap_or_default();
    let cited: Vec<EventRef> = [a.answered.cite(), b.answered.cite()].concat();
    let expected = format!("one error for {} of {} over every binding", condition.2, condition.0);
    let observed = format!("{} over {}, {} over {}", label(a), a.profile.protocol(), label(b), b.profile.protocol());
    Some(facts.fail(ReasonCode::BindingsDisagree, cited, expected, observed))
}

/// Whether both errors are known and are not the same; a status that several errors share is any of them.
fn differ(a: &Refused<'_>, b: &Refused<'_>) -> bool {
    let (Some((a, _)), Some((b, _))) = (a.answered.reply.error(), b.answered.reply.error()) else { return false };
    let may = |error: &A2aError, kind: Option<ErrorKind>| kind.is_none_or(|k| error.may_mean(k));
    !may(a, b.kind()) || !may(b, a.kind())
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    const OTHER: &str = "a2a-http-json-1.0";

    fn edited(change: impl Fn(&mut Value) + 'static) -> Driven {
        World::with_bindings().drive().edit(move |i| {
            // the other binding has no envelope
            let other = i.scenario == equivalence::ID && i.operation == "GetTask" && i.answer.get("jsonrpc").is_none();
            if other { i.changed(&change) } else { Edit::Keep }
        })
    }

    #[test]
    fn bindings_that_agree_pass() {
        let driven = World::with_bindings().drive();
        passes(&Equivalent, &driven);
        assert_eq!(driven.judge(&Equivalent).len(), 4, "two tasks, each read twice");
    }

    #[test]
    fn a_task_that_reads_otherwise_over_another_binding_is_caught() {
        for change in [
            |t: &mut Value| t["artifacts"][0]["parts"][0]["data"]["plan_id"] = json!("other"),
            |t: &mut Value| t["artifacts"] = json!([]),
            |t: &mut Value| t["contextId"] = json!("c2"),
            |t: &mut Value| t["history"][0]["messageId"] = json!("other"),
            |t: &mut Value| *t = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no"}}),
        ] {
            caught(&Equivalent, &edited(change), ReasonCode::BindingsDisagree);
        }
    }

    #[test]
    fn forms_of_one_binding_are_not_differences() {
        passes(&Equivalent, &edited(|t| t["status"]["state"] = json!(3)));
        passes(&Equivalent, &edited(|t| t["metadata"] = json!(null)));
        passes(&Equivalent, &edited(|t| t["history"] = json!([])));
    }

    #[test]
    fn another_error_over_another_binding_is_caught() {
        let driven = World::with_bindings().drive().edit(|i| {
            let other = i.scenario == unknown::ID && i.operation == "GetTask" && i.answer.get("jsonrpc").is_none();
            let error = json!({"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "no"}});
            if other { Edit::Replace(error) } else { Edit::Keep }
        });
        caught(&Equivalent, &driven, ReasonCode::BindingsDisagree);
        assert!(driven.judge(&Equivalent).iter().any(|f| f.message.contains(OTHER)));
    }

    #[test]
    fn one_binding_alone_and_agents_without_tasks_do_not_apply() {
        is(&Equivalent, &World::honest().drive(), Outcome::NotApplicable);
        let mut messages = World::with_bindings();
        messages.makes_tasks = false;
        is(&Equivalent, &messages.drive(), Outcome::NotApplicable);
    }
}
