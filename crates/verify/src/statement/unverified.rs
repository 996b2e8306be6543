//! What was not verified, one entry a gap (V-08): scope is never widened.

use std::collections::BTreeSet;

use ostiary_canon::Profile;
use ostiary_contract::file::skill::{LeadsTo, Runs};
use ostiary_record::{DigestSource, EnvironmentFacts, Finding, Layer, Outcome};
use serde_json::Value;

use crate::{
    judge::Scene,
    plan::activated,
    report::Outcomes,
    statement::{Kinds, seen::Seen, source_name},
};

/// Everything that somebody could believe was verified and was not.
pub(crate) fn unverified(
    scene: &Scene<'_>,
    outcomes: &Outcomes,
    findings: &[Finding],
    seen: &Seen,
    kinds: &Kinds,
) -> Vec<String> {
    let mut out: Vec<String> = kinds.missing().map(str::to_owned).collect();
    if !scene.options.only.is_empty() {
        out.push(format!("all checks but those asked for ({})", scene.options.only.join(", ")));
    }
    out.extend(layers(outcomes));
    out.extend(undecided(findings));
    out.extend(profiles(scene, outcomes));
    out.extend(digests(scene));
    out.extend(card(scene, seen));
    out.extend(contract(scene));
    out.extend(environment(scene));
    out.extend(always(scene, seen));
    out
}

fn layers(outcomes: &Outcomes) -> impl Iterator<Item = String> {
    Layer::ALL.into_iter().filter_map(|layer| match outcomes.layers.get(&layer).copied().flatten() {
        None => Some(format!("layer {layer} (not asked for)")),
        Some(Outcome::Pass) => None,
        Some(outcome) => Some(format!("layer {layer} ({outcome})")),
    })
}

/// The checks that could not tell.
fn undecided(findings: &[Finding]) -> Option<String> {
    let open = findings.iter().filter(|f| f.verdict.outcome() == Outcome::Inconclusive);
    let ids: BTreeSet<&str> = open.map(|f| f.check.0.as_str()).collect();
    let names: Vec<&str> = ids.into_iter().collect();
    (!names.is_empty()).then(|| format!("checks that could not tell ({})", names.join(", ")))
}

fn profiles(scene: &Scene<'_>, outcomes: &Outcomes) -> Vec<String> {
    let wanted = activated(scene.bundle, scene.discovered);
    let open = wanted.iter().filter(|p| !outcomes.passed.contains(p));
    let mut out: Vec<String> = open.map(|p| format!("profile {p}")).collect();
    let about = |p: &Profile| wanted.iter().any(|w| w.protocol() == p.protocol());
    for interface in &scene.discovered.interfaces {
        match interface.protocol().and_then(|p| p.parse::<Profile>().ok()) {
            Some(profile) if about(&profile) => {}
            _ => out.push(format!("interface {} {}", interface.binding, interface.protocol_version)),
        }
    }
    out.push("privilege levels and tenant classes other than those of the profiles named".to_owned());
    out
}

fn digests(scene: &Scene<'_>) -> Option<String> {
    let source = scene.producer_source();
    let known = scene.bundle.contract.producer.digest().is_some();
    match source {
        _ if !known => Some("which artifact runs (no digest)".to_owned()),
        DigestSource::Declared => Some(format!("which artifact runs (its digest is {})", source_name(source))),
        DigestSource::Attested | DigestSource::Observed => None,
    }
}

/// What the card declares and nobody tried.
fn card(scene: &Scene<'_>, seen: &Seen) -> Vec<String> {
    let Some(card) = &scene.discovered.card else { return vec!["the card (none was readable)".to_owned()] };
    let texts = |pointer: &str, key: &str| -> Vec<String> {
        let list = card.pointer(pointer).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        list.iter().filter_map(|v| v.get(key).unwrap_or(v).as_str()).map(str::to_owned).collect()
    };
    let mut out = Vec::new();
    let extensions = texts("/capabilities/extensions", "uri");
    out.extend(extensions.into_iter().map(|uri| format!("extension {uri}")));
    let modes = texts("/defaultInputModes", "").into_iter().chain(texts("/defaultOutputModes", ""));
    let untried: BTreeSet<String> = modes.filter(|mode| !seen.media.contains(mode)).collect();
    out.extend(untried.into_iter().map(|mode| format!("media type {mode}")));
    let contracted = |id: &String| scene.bundle.skills.iter().any(|s| s.skill_id.value == *id);
    let skills = texts("/skills", "id").into_iter().filter(|id| !contracted(id));
    out.extend(skills.map(|id| format!("skill {id} (no skill contract)")));
    let declared = |name: &str| card.pointer(&format!("/capabilities/{name}")) == Some(&Value::Bool(true));
    if declared("pushNotifications") && !seen.callbacks {
        out.push("push notifications".to_owned());
    }
    out
}

/// What the contract names and nobody checked.
fn contract(scene: &Scene<'_>) -> Vec<String> {
    let invariants = scene.bundle.invariants.iter().map(|i| format!("invariant {}", i.value));
    let mut out: Vec<String> = invariants.collect();
    if scene.bundle.contract.protocol.mcp.is_some() {
        out.push("tools over MCP".to_owned());
    }
    if scene.discovered.card.is_some() {
        out.extend(unexampled(scene));
    }
    out
}

/// Kinds of task that the contract has no example for.
fn unexampled(scene: &Scene<'_>) -> Vec<String> {
    let examples = || scene.bundle.skills.iter().flat_map(|s| &s.examples);
    let mut out = Vec::new();
    if !examples().any(|e| e.runs == Runs::Long) {
        out.push("tasks at work for seconds (no example with `runs: long` in skills.yaml)".to_owned());
    }
    if !examples().any(|e| e.leads_to == LeadsTo::InputRequired) {
        out.push("tasks that ask for input (no example with `leads_to: input_required` in skills.yaml)".to_owned());
    }
    out
}

fn environment(scene: &Scene<'_>) -> Vec<String> {
    let environment = &scene.run.environment;
    let doubles = environment.parts.iter().filter(|(_, how)| *how == "double");
    let mut out: Vec<String> = doubles.map(|(part, _)| format!("the real {part} (a double stood for it)")).collect();
    if environment.observed.is_empty() {
        out.push("effects (no observer watched)".to_owned());
    }
    out.extend(target(environment));
    if environment.strictness == "development" {
        out.push("https, public addresses and media types as production demands them".to_owned());
    }
    out
}

/// What is not shown about who answered, where the way to it is the environment's own (B-05).
fn target(environment: &EnvironmentFacts) -> Vec<String> {
    let mut out = Vec::new();
    if environment.endpoint.is_some() && environment.spki_sha256.is_none() {
        out.push("who answered (plain http has no server key)".to_owned());
    }
    let led = environment.connect_to.iter();
    out.extend(led.map(|(from, to)| format!("where {from} leads by its name (connections were led to {to})")));
    if let Some(roots) = &environment.trust_roots {
        out.push(format!("what public authorities say of the server's key (own trust roots {roots})"));
    }
    out
}

/// What no run of this harness shows.
fn always(scene: &Scene<'_>, seen: &Seen) -> Vec<String> {
    let model = scene.bundle.contract.producer.runtime.model.as_deref().unwrap_or("unknown");
    let mut out = vec![
        "the patch level of the protocol (the wire tells major and minor only)".to_owned(),
        "conversion by consumers' SDKs".to_owned(),
        "known consumers (none was replayed)".to_owned(),
        format!("models other than the one that ran ({model})"),
        "languages and inputs other than the fixtures'".to_owned(),
        format!("tasks that run longer than {} s", seen.longest_s.max(1)),
        "wording and plausibility of answers".to_owned(),
        "behaviour in operation".to_owned(),
    ];
    if !seen.files {
        out.push("images, audio and documents".to_owned());
    }
    out
}
