//! SARIF 2.1.0, as code scanners read it: a rule is a reason code with the catalogue's help, a result is a finding that
//! somebody must look at.
//!
//! SARIF has the kind `open` for what could not be told, but then forbids a level, and scanners hide what has none. An
//! INCONCLUSIVE must not look like a PASS, so it is a warning whose properties name the verdict.

use ostiary_canon::Digest;
use ostiary_record::{Finding, FindingLine, Outcome, Place, ReasonCode, Severity, reason::ReasonRow};
use serde_json::{Value, json};

use super::{
    Broken, Subject,
    weight::{Weight, is_empty_handed, said, weight},
};

/// Where the schema is published.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Under which name our fingerprints stand; changes when they are computed otherwise.
const FINGERPRINT: &str = "ostiary/v1";
/// The rule of a layer in which nothing could be judged.
const EMPTY_LAYER: ReasonCode = ReasonCode::ObservationIncomplete;

/// Reports as one log, one run a report; what could not be judged is a run that did not succeed.
#[must_use]
pub fn sarif(subjects: &[Subject<'_>], broken: &[Broken<'_>]) -> Value {
    log(subjects.iter().map(run).chain(broken.iter().map(broken_run)).collect())
}

/// The log of a command that could not run.
#[must_use]
pub fn sarif_broken(message: &str) -> Value {
    log(vec![unsuccessful(message)])
}

fn broken_run(broken: &Broken<'_>) -> Value {
    let mut run = unsuccessful(broken.why);
    // an id of its own, or a scanner takes it for the next run of another document
    run["automationDetails"] = json!({"id": format!("ostiary/{}/", broken.name)});
    run
}

fn unsuccessful(message: &str) -> Value {
    let notification = json!({"level": "error", "message": {"text": message}});
    let invocation = json!({"executionSuccessful": false, "toolExecutionNotifications": [notification]});
    json!({"tool": {"driver": driver(env!("CARGO_PKG_VERSION"), &[])}, "invocations": [invocation], "results": []})
}

fn log(runs: Vec<Value>) -> Value {
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": runs})
}

fn run(subject: &Subject<'_>) -> Value {
    let report = subject.report;
    let shown: Vec<(&FindingLine, &'static str)> =
        report.findings.iter().filter_map(|line| Some((line, level(subject, line)?))).collect();
    let empty: Vec<_> =
        ostiary_record::Layer::ALL.into_iter().filter(|layer| is_empty_handed(report, *layer)).collect();
    let mut codes: Vec<ReasonCode> = shown.iter().filter_map(|(line, _)| line.finding.verdict.reason()).collect();
    codes.extend(empty.first().map(|_| EMPTY_LAYER));
    codes.sort_unstable();
    codes.dedup();
    let results = shown.iter().filter_map(|(line, level)| result(subject, &codes, line, level));
    let empty = empty.into_iter().map(|layer| {
        let text = format!("Nothing in layer {layer} could be judged, and what was not seen is not passed.");
        let print = fingerprint(&["", layer.as_str()]);
        json!({"ruleId": EMPTY_LAYER, "ruleIndex": index(&codes, EMPTY_LAYER), "level": "warning",
            "message": {"text": text}, "locations": locations(subject, &Place::default()),
            "partialFingerprints": {FINGERPRINT: print}, "properties": {"verdict": "INCONCLUSIVE", "layer": layer}})
    });
    json!({
        "tool": {"driver": driver(&report.harness_version, &codes)},
        "automationDetails": {"id": format!("ostiary/{}/", subject.name)},
        "invocations": [{"executionSuccessful": true}],
        "columnKind": "unicodeCodePoints",
        "results": results.chain(empty).collect::<Vec<Value>>(),
        "properties": {
            "verdict": report.verdict, "layers": report.layers, "statement": report.statement,
            "bundle_digest": report.bundle_digest, "producer_digest": report.producer_digest,
            "card_digest": report.card_digest, "profiles_passed": report.profiles_passed,
            "profiles_failed": report.profiles_failed,
        },
    })
}

fn driver(version: &str, codes: &[ReasonCode]) -> Value {
    json!({"name": "Ostiary", "version": version, "rules": codes.iter().map(|code| rule(*code)).collect::<Vec<_>>()})
}

fn rule(code: ReasonCode) -> Value {
    let ReasonRow { text, layer, meaning, retry, remedy } = code.row();
    json!({
        "id": text,
        "name": camel(text),
        "shortDescription": {"text": meaning},
        "fullDescription": {"text": meaning},
        "help": {"text": remedy},
        "defaultConfiguration": {"level": "error"},
        "properties": {"layer": layer, "gate": layer.map(|layer| layer.blocks()), "retry": retry},
    })
}

/// `TERMINAL_STATE_REOPENED` as `TerminalStateReopened`, which is how SARIF wants names.
fn camel(text: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{first}{}", rest.to_ascii_lowercase())
    };
    text.split('_').map(word).collect()
}

/// The level of a finding, if it is shown at all.
fn level(subject: &Subject<'_>, line: &FindingLine) -> Option<&'static str> {
    match weight(subject.report, line) {
        Weight::Broken => Some("error"),
        Weight::Unknown => Some("warning"),
        Weight::Aside if line.finding.severity == Severity::Warning => Some("warning"),
        Weight::Aside => Some("note"),
        Weight::Nothing => None,
    }
}

fn result(subject: &Subject<'_>, codes: &[ReasonCode], line: &FindingLine, level: &str) -> Option<Value> {
    let finding = &line.finding;
    let code = finding.verdict.reason()?;
    Some(json!({
        "ruleId": code,
        "ruleIndex": index(codes, code),
        "level": level,
        "message": {"text": message(line)},
        "locations": locations(subject, &finding.place),
        "partialFingerprints": {FINGERPRINT: print_of(finding, code)},
        "properties": {
            "verdict": finding.verdict.outcome(), "check": finding.check, "layer": finding.layer, "gate": line.gate,
            "profile": finding.profile, "case": finding.case, "detail": finding.detail, "covers": finding.covers,
            "consumers_affected": finding.consumers_affected,
        },
    }))
}

fn message(line: &FindingLine) -> String {
    let said = said(line).into_iter().filter(|(name, _)| !matches!(*name, "where" | "covers" | "detail"));
    let said = said.map(|(name, text)| if name.is_empty() { text } else { format!("{name}: {text}") });
    format!("{}\n{}", line.finding.check, said.collect::<Vec<_>>().join("\n"))
}

fn index(codes: &[ReasonCode], code: ReasonCode) -> Option<usize> {
    codes.iter().position(|known| *known == code)
}

/// One location: the document, where it is one of the reader's, and what is meant in it.
fn locations(subject: &Subject<'_>, place: &Place) -> Value {
    let documents = subject.documents;
    let named = place.file.as_ref().and_then(|file| documents.path(file));
    let mut location = serde_json::Map::new();
    if let Some(path) = named.or(documents.home.as_deref()) {
        let mut physical = json!({"artifactLocation": {"uri": uri(path)}});
        // a line is one of the document that was named, and of no other
        if let (Some(_), Some(line)) = (named, place.line.filter(|line| *line > 0)) {
            physical["region"] = json!({"startLine": line});
        }
        location.insert("physicalLocation".to_owned(), physical);
    }
    let mut logical = Vec::new();
    if let Some(pointer) = place.pointer.as_ref().filter(|pointer| !pointer.is_empty()) {
        let document = place.file.as_deref().unwrap_or_default();
        logical.push(json!({"fullyQualifiedName": format!("{document}#{pointer}"), "kind": "member"}));
    }
    if let Some(exchange) = place.exchange {
        logical.push(json!({"fullyQualifiedName": format!("exchange {exchange}"), "kind": "exchange"}));
    }
    if !logical.is_empty() {
        location.insert("logicalLocations".to_owned(), Value::Array(logical));
    }
    if location.is_empty() { json!([]) } else { json!([location]) }
}

/// A path as a relative reference (RFC 3986 §4.2), or as `file` URI where it is absolute: what is no unreserved
/// character is escaped.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            b'\\' => out.push('/'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The same finding in the next run has the same fingerprint: nothing in it that a run makes up, such as what was
/// observed or in which exchange.
fn print_of(finding: &Finding, code: ReasonCode) -> String {
    let profile = finding.profile.as_ref().map(ToString::to_string).unwrap_or_default();
    let case = finding.case.as_ref().map_or("", |case| case.0.as_str());
    let place = &finding.place;
    fingerprint(&[
        &finding.check.0,
        code.as_str(),
        &profile,
        case,
        finding.detail.as_deref().unwrap_or_default(),
        place.file.as_deref().unwrap_or_default(),
        place.pointer.as_deref().unwrap_or_default(),
        if finding.verdict.outcome() == Outcome::Fail { "FAIL" } else { "INCONCLUSIVE" },
    ])
}

fn fingerprint(parts: &[&str]) -> String {
    // no part holds the separator but by malice, and then two findings share a fingerprint: nothing is decided on it
    Digest::of(parts.join("\u{1f}").as_bytes()).hex()
}
