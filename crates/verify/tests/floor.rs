//! The number of scenarios over each binding may not shrink: `floor/floor.json` holds what two fixed agents got once.
//!
//! `BLESS=1` raises the floor. What is less than the floor is never blessed: whoever takes a scenario away says so by
//! editing the file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use ostiary_contract::Bundle;
use ostiary_record::{CredentialKind, EnvironmentFacts, MonoNanos, Monotonic, SubjectFacts};
use ostiary_verify::{Harness, PlanInput, discover, plan};
use serde_json::{Value, json};

const CONTRACT: &str = "contract_bundle:
  contract_id: floor
  contract_version: 1.0.0
  protocol: { a2a: \"1.0\", json_schema: \"2020-12\" }
  producer:
    agent_id: floor
    artifact_digest: sha256:0000000000000000000000000000000000000000000000000000000000000001
  declarations: { agent_card: agent-card.json }
";

const SKILLS: &str = "skill_contract:
  skill_id: count
  input_modes: [text/plain]
  output_modes: [application/json]
  examples:
    - { name: brief, input_fixture: brief.json }
    - { name: long, input_fixture: brief.json, runs: long }
    - { name: asks, input_fixture: brief.json, leads_to: input_required, answer_fixture: brief.json }
    - { name: fails, input_fixture: brief.json, leads_to: failed }
";

/// An agent with every binding that declares everything, or nothing.
fn card(everything: bool) -> Value {
    let interface =
        |binding: &str, url: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
    json!({
        "name": "Floor", "description": "Counts.", "version": "1.0.0",
        "supportedInterfaces": [
            interface("JSONRPC", "https://agent.example.test/rpc"),
            interface("HTTP+JSON", "https://agent.example.test/rest"),
            interface("GRPC", "agent.example.test:443"),
        ],
        "capabilities": {"streaming": everything, "pushNotifications": everything, "extendedAgentCard": everything},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "count", "name": "Count", "description": "Counts.", "tags": ["text"]}],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
    })
}

fn environment() -> EnvironmentFacts {
    let subject = |tenant: &str, credential| SubjectFacts {
        tenant: Some(tenant.to_owned()),
        credential,
        ..SubjectFacts::default()
    };
    EnvironmentFacts {
        name: "floor".to_owned(),
        strictness: "development".to_owned(),
        cleared_effects: ["read", "write", "destructive"].map(str::to_owned).into(),
        subjects: [
            ("user-a", subject("a", CredentialKind::Valid)),
            ("user-b", subject("b", CredentialKind::Valid)),
            ("expired-a", subject("a", CredentialKind::Expired)),
            ("foreign-a", subject("a", CredentialKind::Foreign)),
        ]
        .map(|(name, facts)| (name.to_owned(), facts))
        .into(),
        ..EnvironmentFacts::default()
    }
}

struct Still;

impl Monotonic for Still {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}

/// How many variants of each scenario are planned over each binding; repetitions count once.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

fn counts(card: &Value) -> Counts {
    let text = card.to_string();
    let files = [
        ("contract.yaml", CONTRACT.to_owned()),
        ("skills.yaml", SKILLS.to_owned()),
        ("fixtures/brief.json", "\"one two\"".to_owned()),
        ("agent-card.json", text.clone()),
    ];
    let files: BTreeMap<String, Bytes> = files.into_iter().map(|(path, text)| (path.to_owned(), text.into())).collect();
    let bundle = Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"));
    let discovered = discover::Discovered::read(discover::of_card(Arc::new(Still), text.into()));
    let environment = environment();
    let input = PlanInput {
        gate: None,
        only: &[],
        bundle: &bundle,
        discovered: &discovered,
        environment: &environment,
        seed: 0,
        calls: 100_000,
    };
    let mut out = Counts::new();
    let steps = plan(&Harness::standard(), &input).steps;
    for step in steps.iter().filter(|step| step.axes.repetition == 0) {
        let profile = step.axes.profile.clone().unwrap();
        // pairs are spread over the bindings, and which gets how many is up to the dice
        let spread = step.scenario == "a2a.message.combined";
        let binding = if spread { "all together" } else { profile.split_once("-1.0").unwrap().0 }.to_owned();
        *out.entry(binding).or_default().entry(step.scenario.to_owned()).or_default() += 1;
    }
    out
}

/// What is less than the floor, in words.
fn below(floor: &Counts, now: &Counts) -> Vec<String> {
    let of = |counts: &Counts, binding: &str, scenario: &str| {
        counts.get(binding).and_then(|scenarios| scenarios.get(scenario)).copied().unwrap_or_default()
    };
    let mut out = Vec::new();
    for (binding, scenarios) in floor {
        for (scenario, least) in scenarios {
            let found = of(now, binding, scenario);
            if found < *least {
                out.push(format!("{scenario} over {binding}: {found}, once {least}"));
            }
        }
    }
    out
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the developer's switch to rewrite generated files")]
fn the_number_of_scenarios_over_each_binding_does_not_shrink() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/floor/floor.json");
    let floors: BTreeMap<String, Counts> =
        serde_json::from_str(&fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned())).unwrap();
    let agents = [("declares everything", card(true)), ("declares nothing", card(false))];
    let now: BTreeMap<String, Counts> = agents.iter().map(|(name, card)| ((*name).to_owned(), counts(card))).collect();
    for (name, floor) in &floors {
        let less = below(floor, &now[name]);
        assert!(less.is_empty(), "the agent that {name} gets fewer scenarios:\n  {}", less.join("\n  "));
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, serde_json::to_string_pretty(&now).unwrap() + "\n").unwrap();
    }
    let known: BTreeSet<&String> = floors.keys().collect();
    assert!(std::env::var_os("BLESS").is_some() || known.len() == now.len(), "there is no floor; run with BLESS=1");
}

#[test]
fn less_than_the_floor_is_told_by_scenario_and_binding() {
    let counts = |n| Counts::from([("a2a-grpc".to_owned(), BTreeMap::from([("a2a.message.send".to_owned(), n)]))]);
    assert_eq!(below(&counts(2), &counts(3)), [""; 0]);
    assert_eq!(below(&counts(2), &counts(1)), ["a2a.message.send over a2a-grpc: 1, once 2"]);
    assert_eq!(below(&counts(2), &Counts::new()), ["a2a.message.send over a2a-grpc: 0, once 2"]);
}
