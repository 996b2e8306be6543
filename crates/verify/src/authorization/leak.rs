//! `a2a.error.leak`: errors show no stack trace, credential, internal host or forbidden field (E-03).

use ostiary_protocol::a2a::{
    Card,
    leak::{LeakRules, leaks},
};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{credential, rpc, send, tenant, terminal, undeclared, unknown, version},
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
        undeclared::ID,
        send::ID,
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

impl Check for Leaks {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let forbidden: Vec<String> =
            facts.bundle().errors.iter().flat_map(|e| e.sensitive_fields_forbidden.iter().cloned()).collect();
        let hosts = public_hosts(facts);
        let (mut out, mut seen) = (Vec::new(), Vec::new());
        for answered in answers::all(facts) {
            let Some((error, seq)) = answered.reply.error() else { continue };
            let Some(object) = &error.object else { continue };
            let rules = LeakRules { public: public(&answered, &hosts), forbidden_fields: forbidden.clone() };
            seen.extend(answered.at(seq));
            for leak in leaks(object, &rules) {
                let (expected, observed) =
                    ("an error that keeps internals in", format!("{} is shown", leak.kind.as_str()));
                let finding = facts.fail(ReasonCode::ErrorDataLeak, answered.at(seq), expected, observed);
                let finding = finding.at_exchange(answered.exchange.id).at_pointer("error", leak.pointer);
                out.push(finding.with_detail(leak.kind.as_str()));
            }
        }
        if out.is_empty() { vec![facts.pass(seen)] } else { out }
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
    use serde_json::{Value, json};

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
}
