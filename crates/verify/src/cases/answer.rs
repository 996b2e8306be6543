//! An answer of the agent that a case holds: put on a tape as if it had come over the wire, and judged by the checks
//! that would judge it then.

use ostiary_contract::{Case, CaseKind, JudgeCase, file::case::ExpectedResult};
use ostiary_protocol::a2a::{Card, StreamItem, StreamItem as Item, error, jsonrpc, leak};
use ostiary_record::{
    Axes, Blob, End, Event, ExchangeId, Finding, Kind, MonoNanos, Outcome, ReasonCode, Recording, Route, Run, Seq,
    Severity, Source,
};
use serde_json::{Value, json};

use crate::{
    answers::Kept,
    cases::{
        document,
        expect::{Yielded, compare},
    },
    check::{Check, Reads},
    facts::Facts,
    judge::{Scene, repeat, unit},
    scenarios::{send, stream},
    schema_cost::{self, Undecided},
    stage::CONTROL_OK,
};

/// The profile under which a held answer is judged: no evidence names it, since nothing was called.
const PROFILE: &str = "a2a-jsonrpc-1.0";

pub(super) fn execute(facts: &Facts<'_>, case: &Case) -> Vec<Finding> {
    let CaseKind::Judge(judge) = &case.kind else { return Vec::new() };
    let yielded = match &judge.observed.error {
        Some(error) => of_error(facts, error),
        None => of_results(facts, judge),
    };
    vec![compare(facts, &judge.expect, &yielded, document(facts, case))]
}

/// What an error object shows.
pub(super) fn of_error(facts: &Facts<'_>, object: &Value) -> Yielded {
    let leaked = leaked_fields(facts, object);
    let kind = jsonrpc::error_of(object, None).kind();
    let reason = (!leaked.is_empty()).then(|| ReasonCode::ErrorDataLeak.as_str().to_owned());
    Yielded {
        result: Some(if leaked.is_empty() { ExpectedResult::Pass } else { ExpectedResult::Fail }),
        reasons: Some(reason.into_iter().collect()),
        error: Some(kind.map_or_else(|| "unknown".to_owned(), |k| error::row(k).name.to_owned())),
        leaked_fields: Some(leaked),
        ..Yielded::default()
    }
}

/// The names of the members by which an error shows what it must not: by the general rules, and by every error contract.
pub(super) fn leaked_fields(facts: &Facts<'_>, object: &Value) -> Vec<String> {
    let contracts = facts.bundle().errors.iter();
    let hosts = facts.card().map(hosts).unwrap_or_default();
    let rules = leak::LeakRules {
        public: hosts,
        forbidden_fields: contracts.flat_map(|c| c.sensitive_fields_forbidden.clone()).collect(),
    };
    let name = |l: leak::Leak| l.pointer.rsplit('/').next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = leak::leaks(object, &rules).into_iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

fn hosts(card: &Value) -> Vec<String> {
    Card::new(card.clone()).interfaces().iter().filter_map(|i| i.url).map(str::to_owned).collect()
}

fn of_results(facts: &Facts<'_>, judge: &JudgeCase) -> Yielded {
    let observed = &judge.observed;
    let results: Vec<&Value> = match (&observed.stream, &observed.result) {
        (Some(stream), _) => stream.iter().collect(),
        (None, Some(result)) => vec![result],
        (None, None) => Vec::new(),
    };
    let findings = judged(facts, &results, observed.stream.is_some());
    let failed: Vec<&Finding> = findings.iter().filter(|f| f.verdict.outcome() == Outcome::Fail).collect();
    let passed = findings.iter().any(|f| f.verdict.outcome() == Outcome::Pass);
    let result = match (failed.is_empty(), passed) {
        (false, _) => ExpectedResult::Fail,
        (true, true) => ExpectedResult::Pass,
        (true, false) => ExpectedResult::Inconclusive,
    };
    let reason = |f: &&Finding| f.verdict.reason().map(|r| r.as_str().to_owned());
    let seen = judge.expect.artifact_schema.as_ref().map(|s| artifact(facts, &results, &s.value));
    Yielded {
        result: Some(result),
        reasons: Some(failed.iter().filter_map(reason).collect()),
        details: Some(failed.iter().filter_map(|f| f.detail.clone()).collect()),
        state: Some(last_state(&results)),
        undecided: seen.as_ref().and_then(|s| s.as_ref().err().cloned()),
        artifact: seen.and_then(Result::ok),
        error: Some(String::new()),
        ..Yielded::default()
    }
}

/// The state of the last status among results; empty when there is none.
pub(super) fn last_state(results: &[&Value]) -> String {
    let status = |v: &&&Value| StreamItem::read(v).ok().and_then(|item| item.status()?.state());
    results.iter().rev().find_map(|v| status(&v)).map_or_else(String::new, |state| state.as_str().to_owned())
}

/// Whether an artifact among results satisfies a schema of the bundle, and how it does not.
pub(super) fn artifact(facts: &Facts<'_>, results: &[&Value], schema: &str) -> Result<Result<(), String>, Undecided> {
    let bundle = facts.bundle();
    let Some((_, schema)) = bundle.schema(schema) else {
        return Ok(Err(format!("the bundle has no schema `{schema}`")));
    };
    let mut problems = vec!["no artifact with data".to_owned()];
    let mut undecided = None;
    for data in results.iter().flat_map(|r| artifact_data(r)) {
        match schema_cost::check(bundle, schema, &data, "artifact") {
            Ok(found) if found.is_empty() => return Ok(Ok(())),
            Ok(found) => problems = found.into_iter().map(|v| v.detail).collect(),
            Err(why) => undecided = Some(why),
        }
    }
    undecided.map_or_else(|| Ok(Err(problems.join(", "))), Err)
}

/// The data of all artifacts in one result.
fn artifact_data(result: &Value) -> Vec<Value> {
    let artifacts: Vec<Value> = match Item::read(result) {
        Ok(Item::Task(task)) => task.artifacts().to_vec(),
        Ok(Item::ArtifactUpdate(update)) => vec![update.artifact().clone()],
        _ => Vec::new(),
    };
    let parts = artifacts.iter().filter_map(|a| a.get("parts").and_then(Value::as_array)).flatten();
    parts.filter_map(|p| p.get("data").cloned()).collect()
}

/// What every check that can judge this one exchange says.
fn judged(facts: &Facts<'_>, results: &[&Value], streamed: bool) -> Vec<Finding> {
    let recording = recording(results, streamed);
    let id = recording.scenario.0.clone();
    let scene = facts.scene;
    let run = Run {
        recordings: vec![scene.discovered.recording.clone(), recording],
        not_run: Vec::new(),
        ..scene.run.clone()
    };
    let scene = Scene { run: &run, answers: &Kept::of(&run), ..*scene };
    let can = |check: &&dyn Check| match check.spec().reads {
        Reads::Each(ids) => ids == [id.as_str()],
        Reads::Any(ids) | Reads::AcrossProfiles(ids) => ids.contains(&id.as_str()),
        Reads::Everything => !check.spec().id.starts_with("case."),
        Reads::Declarations => false,
    };
    let findings = scene.harness.checks().filter(can).flat_map(|check| {
        let units = unit::units(&scene, check.spec());
        units.iter().flat_map(|unit| repeat::judge_unit(&scene, check, unit)).collect::<Vec<_>>()
    });
    findings.filter(|f| f.severity == Severity::Error).collect()
}

/// The answer as a recording of the scenario that would have brought it.
fn recording(results: &[&Value], streamed: bool) -> Recording {
    let (scenario, operation, media) = if streamed {
        (stream::ID, "SendStreamingMessage", "text/event-stream")
    } else {
        (send::ID, "SendMessage", "application/json")
    };
    let x = ExchangeId(0);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": operation, "params": {}}).to_string();
    let envelope = |result: &&Value| json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let mut kinds = vec![
        Kind::Opened { target: "case".into(), actor: "case".into() },
        Kind::Sent {
            x,
            route: Route::Http { method: "POST".to_owned(), path: String::new() },
            headers: vec![("A2A-Version".to_owned(), Blob::from("1.0"))],
            bytes: Blob::from(request),
            intent: Some(operation.into()),
        },
        Kind::Head { x, status: 200, headers: vec![("Content-Type".to_owned(), Blob::from(media))] },
    ];
    for (n, result) in (0_u32..).zip(results) {
        let text = envelope(result);
        let bytes = if streamed { format!("data: {text}\n\n") } else { text };
        kinds.push(Kind::Frame { x, n, bytes: Blob::from(bytes) });
    }
    kinds.push(Kind::Ended { x, how: End::Complete });
    let mark = Kind::Mark { label: CONTROL_OK.into(), value: None };
    let wire = kinds.into_iter().map(|kind| (Source::Wire("case".into()), kind));
    let all = wire.chain(std::iter::once((Source::Script, mark)));
    // a second apart: nothing about time can be read from a held answer, least of all that it came at once
    let event = |(seq, (from, kind)): (u64, (Source, Kind))| Event {
        seq: Seq(seq),
        at: MonoNanos(seq * 1_000_000_000),
        from,
        kind,
    };
    let events = (0_u64..).zip(all).map(event).collect();
    let axes = Axes { profile: Some(PROFILE.to_owned()), ..Axes::default() };
    Recording { scenario: scenario.into(), axes, seed: 0, events }
}
