//! The statement of a report (V-06, V-08): sentences of fixed form on what was verified and what was not.
//!
//! It never says more than the recordings show. Equal names and equal schemas are no equivalence, and the statement does
//! not say so.

use ostiary_record::{DigestSource, EnvironmentFacts, Finding, Layer, Outcome};

use crate::{
    judge::Scene,
    report::Outcomes,
    statement::{seen::Seen, unverified::unverified},
};

mod seen;
mod unverified;

/// The whole statement.
pub(crate) fn statement(scene: &Scene<'_>, outcomes: &Outcomes, findings: &[Finding]) -> String {
    let seen = Seen::of(scene.run);
    let kinds = Kinds::of(outcomes, &seen);
    let parts = [
        format!("Verified: {}.", who(scene)),
        format!("Profiles: {}.", list(outcomes.passed.iter().map(ToString::to_string))),
        format!("Inputs: {} scenarios, operations {}.", seen.scenarios, list(seen.operations.iter().cloned())),
        format!("States: {}.", list(seen.states.iter().cloned())),
        format!("Of declaration, structure, invocation and effect: {}.", kinds.verified()),
        format!("Of the levels declaration, implementation, meaning and operation: {}.", kinds.levels()),
        format!("Not verified: {}.", unverified(scene, outcomes, findings, &seen, &kinds).join("; ")),
    ];
    parts.join(" ")
}

/// Which of the four things that a verification can be about were shown (V-06).
pub(crate) struct Kinds {
    pub(crate) declaration: bool,
    pub(crate) structure: bool,
    pub(crate) invocation: bool,
    pub(crate) effect: bool,
}

// === impl Kinds ===

impl Kinds {
    fn of(outcomes: &Outcomes, seen: &Seen) -> Self {
        let passed = |layer: Layer| outcomes.layers.get(&layer).copied().flatten() == Some(Outcome::Pass);
        Self {
            declaration: passed(Layer::Declaration),
            structure: passed(Layer::Schema),
            invocation: passed(Layer::Protocol) && !seen.operations.is_empty(),
            effect: passed(Layer::Behavior) && seen.complete_observations > 0,
        }
    }

    fn named(&self) -> [(&'static str, bool); 4] {
        [
            ("declaration", self.declaration),
            ("structure", self.structure),
            ("invocation", self.invocation),
            ("effect", self.effect),
        ]
    }

    fn verified(&self) -> String {
        list(self.named().into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name.to_owned()))
    }

    pub(crate) fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.named().into_iter().filter(|(_, shown)| !shown).map(|(name, _)| name)
    }

    /// What a verification before operation can reach: the declaration, and the implementation where it was invoked.
    /// What answers mean, and how the agent fares in operation, is never shown by it.
    fn levels(&self) -> String {
        let levels = [("declaration", self.declaration), ("implementation", self.invocation)];
        list(levels.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| name.to_owned()))
    }
}

/// Versions of both sides, as far as they are known (P-06); unknown is written as unknown.
fn who(scene: &Scene<'_>) -> String {
    let contract = &scene.bundle.contract;
    let card = scene.discovered.card.as_ref();
    let text = |key: &str| card.and_then(|c| c.get(key)).and_then(serde_json::Value::as_str).unwrap_or("unknown");
    let source = scene.producer_source();
    let digest = contract.producer.digest().map_or_else(|| "unknown".to_owned(), |d| d.to_string());
    let pin = |pin: &Option<ostiary_contract::decode::Located<String>>| {
        pin.as_ref().map_or("none", |p| p.value.as_str()).to_owned()
    };
    let runtime = &contract.producer.runtime;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    format!(
        "provider {} version {} (artifact {digest}, {}; model {}, SDK {}, backend {}) at {}, contract {} {} ({}), consumer \
         the harness {} (judged by {}), protocols A2A {} and MCP {}, environment {} ({}), on {}",
        contract.producer.agent_id.value,
        text("version"),
        source_name(source),
        known(&runtime.model),
        known(&runtime.sdk),
        known(&runtime.backend),
        place(&scene.run.environment),
        contract.contract_id.value,
        contract.contract_version.value,
        scene.bundle.digest,
        scene.run.harness_version,
        scene.harness.version(),
        pin(&contract.protocol.a2a),
        pin(&contract.protocol.mcp),
        scene.run.environment.name,
        scene.run.environment.strictness,
        scene.run.started_at,
    )
}

/// Where the agent was reached, and by which server key.
fn place(environment: &EnvironmentFacts) -> String {
    let endpoint = environment.endpoint.as_deref().unwrap_or("no address");
    match &environment.spki_sha256 {
        Some(key) => format!("{endpoint} (server key {key})"),
        None => format!("{endpoint} (no server key)"),
    }
}

pub(crate) const fn source_name(source: DigestSource) -> &'static str {
    match source {
        DigestSource::Declared => "declared",
        DigestSource::Attested => "attested",
        DigestSource::Observed => "observed",
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
