//! `skills.yaml`, a fixture for each skill, and the cases that send it.

use std::fmt::Write as _;

use ostiary_protocol::{
    MediaType,
    a2a::{Card, card::Skill},
};
use serde_json::{Value, json};

use super::{
    MARK, Source,
    contract::streams,
    text::{document, list, scalar, slug},
};
use crate::bundle::Files;

/// What a skill is sent, and whether that is a guess.
struct Fixture {
    value: Value,
    guessed: bool,
}

pub(super) fn write(source: &Source<'_>, files: &mut Files) {
    let Some(card) = &source.card else { return };
    let skills: Vec<(String, Skill<'_>)> = skills(card);
    if skills.is_empty() {
        return;
    }
    let mut text = String::from(
        "# What each skill takes and gives, and a request that must work. The requests are the card's examples.\n\
         skill_contract:\n",
    );
    for (name, skill) in &skills {
        one(card, name, *skill, &mut text, files);
    }
    files.insert("skills.yaml".to_owned(), text.into());
    negatives(source, card, files);
}

/// The skills that have an id, each with a name for its files that no other has.
fn skills(card: &Card) -> Vec<(String, Skill<'_>)> {
    let mut out: Vec<(String, Skill<'_>)> = Vec::new();
    for skill in card.skills() {
        let Some(id) = skill.id().filter(|id| !id.is_empty()) else { continue };
        if out.iter().any(|(_, known)| known.id() == Some(id)) {
            continue;
        }
        let name = slug(id);
        let taken = out.iter().any(|(known, _)| *known == name);
        out.push((if taken { format!("{name}-{}", out.len() + 1) } else { name }, skill));
    }
    out
}

fn one(card: &Card, name: &str, skill: Skill<'_>, text: &mut String, files: &mut Files) {
    let id = scalar(skill.id().unwrap_or_default());
    let modes = |own: &str, default: &str| skill.modes(own).unwrap_or_else(|| card.modes(default));
    let (input, output) = (modes("inputModes", "defaultInputModes"), modes("outputModes", "defaultOutputModes"));
    let fixture = fixture(skill, &input);
    let _ = writeln!(text, "  - skill_id: {id}");
    let _ = writeln!(text, "    input_modes: {}", list(input.iter().copied()));
    let _ = writeln!(text, "    output_modes: {}", list(output.iter().copied()));
    let _ = writeln!(text, "    examples:\n      - name: {name}-example");
    let guess =
        format!(" {MARK}the card has no example that fits; write a request that must work into fixtures/{name}.json");
    let _ = writeln!(text, "        input_fixture: {name}.json{}", if fixture.guessed { &guess } else { "" });
    if output.iter().any(|mode| is_json(mode)) {
        let what = "expected_artifact_schema: the schema in schemas/ that the answer must satisfy";
        let _ = writeln!(text, "        {MARK}{what}");
    }
    let _ = writeln!(text, "    forbidden: [] {MARK}effects that this skill never has");
    files.insert(format!("fixtures/{name}.json"), document(&fixture.value).into());
    let mut case = |suffix: &str, operation: &str| {
        let text = format!(
            "# Run against the agent: the skill's example is done.\ncase: {name}-{suffix}\nwhen:\n  operation: {operation}\n  \
             skill: {id}\n  input_fixture: {name}.json\nexpect:\n  result: PASS\n"
        );
        files.insert(format!("cases/positive/{name}-{suffix}.yaml"), text.into());
    };
    case("answers", "a2a.send_message");
    if streams(card) {
        case("streams", "a2a.send_streaming_message");
    }
}

/// The first example of the card that fits the skill's media types, else a guess.
fn fixture(skill: Skill<'_>, modes: &[&str]) -> Fixture {
    let (json_mode, text_mode) =
        (modes.iter().any(|m| is_json(m)), modes.is_empty() || modes.iter().any(|m| is_text(m)));
    let examples = skill.examples();
    let parsed = |text: &&str| serde_json::from_str::<Value>(text).ok().filter(|v| v.is_object() || v.is_array());
    if let Some(value) = examples.iter().find_map(parsed).filter(|_| json_mode) {
        return Fixture { value, guessed: false };
    }
    match (examples.first(), text_mode) {
        (Some(text), true) => Fixture { value: json!(text), guessed: false },
        (None, true) => Fixture { value: json!("hello"), guessed: true },
        (text, false) if json_mode => Fixture { value: json!({"text": text.unwrap_or(&"hello")}), guessed: true },
        (text, false) => Fixture { value: json!(text.unwrap_or(&"hello")), guessed: true },
    }
}

/// The standard negatives that need nothing but the agent.
fn negatives(source: &Source<'_>, card: &Card, files: &mut Files) {
    let (drivable, _) = source.protocols();
    let mut names = Vec::new();
    if drivable.iter().any(|p| p.starts_with("a2a-jsonrpc-")) {
        names.push("invalid_json_rpc_envelope");
    }
    names.extend(["unsupported_protocol_version", "terminal_task_message_append"]);
    if !streams(card) {
        names.push("undeclared_streaming_request");
    }
    if !source.public() {
        names.extend(["failed_authentication", "expired_task_credential", "cross_tenant_task_access"]);
    }
    let mut text = String::from("# Standard negatives, by name.\nnegative_cases:\n");
    for name in names {
        let _ = writeln!(text, "  - {name}");
    }
    files.insert("cases/negative/standard.yaml".to_owned(), text.into());
}

fn is_json(mode: &str) -> bool {
    MediaType::parse(mode).is_some_and(|m| m.is_json())
}

fn is_text(mode: &str) -> bool {
    let plain = MediaType::parse("text/plain");
    MediaType::parse(mode).zip(plain).is_some_and(|(mode, plain)| mode.includes(&plain))
}
