//! `a2a.error.leak`: errors show no stack trace, credential, internal host or forbidden field (E-03).

use ostiary_protocol::a2a::{
    A2aError, Card,
    leak::{Leak, LeakRules, leaks},
};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{credential, malformed, media_type, push, rpc, send, tenant, terminal, undeclared, unknown, version},
};

/// The check.
pub(super) struct Leaks;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.error.leak",
    version: 1,
    summary: "Errors show no stack trace, credential, internal host or forbidden field.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["E-03", "G-02"],
    reads: Reads::Any(&[
        unknown::ID,
        rpc::ID,
        version::ID,
        terminal::ID,
        undeclared::STREAM,
        push::undeclared::ID,
        undeclared::EXTENDED_CARD,
        send::ID,
        malformed::ID,
        media_type::ID,
        tenant::ID,
        credential::MISSING,
        credential::EXPIRED,
        credential::FOREIGN,
    ]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::ErrorDataLeak],
    severity: Severity::Error,
    liar: "a_stack_trace_in_an_error_is_caught",
};

/// How much of a page is looked at: 64 KiB, more than any error page that people read.
const PAGE_BYTES: usize = 64 << 10;

impl Check for Leaks {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (mut out, mut seen) = (Vec::new(), Vec::new());
        for answered in answers::all(facts) {
            let Some((_, seq)) = error_of(&answered) else { continue };
            seen.extend(answered.at(seq));
            for leak in shown(facts, &answered) {
                let (expected, observed) =
                    ("an error that keeps internals in", format!("{} is shown", leak.kind.as_str()));
                let finding = facts.fail(ReasonCode::ErrorDataLeak, answered.at(seq), expected, observed);
                let finding = finding.at_exchange(answered.exchange.id).at_pointer("error", leak.pointer);
                out.push(finding.with_detail(leak.kind.as_str()));
            }
        }
        if out.is_empty() { vec![facts.pass(answers::some_of(seen))] } else { out }
    }
}

/// What the error of an answer shows and should not.
pub(crate) fn shown(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Leak> {
    let Some((error, _)) = error_of(answered) else { return Vec::new() };
    let forbidden = facts.bundle().errors.iter().flat_map(|e| e.sensitive_fields_forbidden.iter().cloned());
    let public = public(answered, &public_hosts(facts));
    leaks(&error, &LeakRules { public, forbidden_fields: forbidden.collect() })
}

/// The error as the caller sees it: the object of the binding, or the whole page that came in its place.
pub(crate) fn error_of(answered: &Answered<'_>) -> Option<(Value, Seq)> {
    let page = || {
        let body = answered.exchange.body();
        Value::String(String::from_utf8_lossy(&body[..body.len().min(PAGE_BYTES)]).into_owned())
    };
    match answered.reply.error() {
        Some((A2aError { object: Some(object), .. }, seq)) => Some((object.clone(), seq)),
        Some((_, seq)) => Some((page(), seq)),
        None => answered.reply.malformed().map(|(_, seq)| (page(), seq)),
    }
}

/// What the caller sent is the caller's to see again; its credential is not, and is not in the body.
fn public(answered: &Answered<'_>, hosts: &[String]) -> Vec<String> {
    let request = String::from_utf8_lossy(answered.exchange.request.as_bytes()).into_owned();
    hosts.iter().cloned().chain([request]).collect()
}

/// The addresses in the card are public.
fn public_hosts(facts: &Facts<'_>) -> Vec<String> {
    let Some(card) = facts.card().map(|v| Card::new(v.clone())) else { return Vec::new() };
    card.interfaces().iter().filter_map(|i| i.url.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Blob, Kind};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, passes};

    fn errors(change: impl Fn(&mut Value)) -> Driven {
        World::honest()
            .drive()
            .edit(|i| if i.answer.get("error").is_some() { i.changed(|a| change(&mut a["error"])) } else { Edit::Keep })
    }

    #[test]
    fn errors_that_keep_internals_in_pass() {
        passes(&Leaks, &World::honest().drive());
        passes(&Leaks, &errors(|e| e["message"] = json!("see https://agent.example.test/rpc")));
    }

    #[test]
    fn a_stack_trace_in_an_error_is_caught() {
        let trace = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 42, in run";
        caught(&Leaks, &errors(|e| e["message"] = json!(trace)), ReasonCode::ErrorDataLeak);
        let info = |e: &mut Value| e["data"] = json!([{"@type": "x", "metadata": {"accessToken": "…"}}]);
        caught(&Leaks, &errors(info), ReasonCode::ErrorDataLeak);
        caught(&Leaks, &errors(|e| e["message"] = json!("no route to 10.0.3.7:5432")), ReasonCode::ErrorDataLeak);
    }

    #[test]
    fn a_stack_trace_on_an_error_page_is_caught() {
        let mut driven = World::honest().drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == rpc::ID) {
            for event in &mut recording.events {
                match &mut event.kind {
                    Kind::Head { status, .. } => *status = 500,
                    Kind::Frame { bytes, .. } => {
                        *bytes =
                            Blob::from("<pre>Traceback (most recent call last)\n  File \"a.py\", line 3, in f</pre>");
                    }
                    _ => {}
                }
            }
        }
        caught(&Leaks, &driven, ReasonCode::ErrorDataLeak);
    }
}
