//! Which messages are sent: the contract's examples, the card's for skills that the contract has none for, else a greeting.
//!
//! Scenarios and checks read the same list, so that a check knows what each variant had to lead to.

use std::collections::BTreeSet;

use ostiary_contract::Bundle;
use ostiary_protocol::{MediaType, a2a::Card};
use serde_json::{Value, json};

/// Most examples that are sent, unless there are more skills: the first one of each skill always is.
const MOST: usize = 8;
/// Most skills that are exercised; of those beyond, nothing is sent, and they are said not to be verified.
const MOST_SKILLS: usize = 32;

/// One message that must work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Example {
    /// Its name among the variants.
    pub(crate) name: String,
    /// The skill it belongs to.
    pub(crate) skill: Option<String>,
    /// The message's parts.
    pub(crate) parts: Vec<Value>,
    /// The schema that an artifact must satisfy; naming one makes an artifact required.
    pub(crate) artifact_schema: Option<String>,
    /// Whether a declaration promises that it works: a greeting may be refused.
    pub(crate) promised: bool,
}

/// The axis that names the example.
pub(crate) const AXIS: &str = "example";

/// All examples, in the order of the contract or card; never none.
#[must_use]
pub(crate) fn examples(bundle: &Bundle, card: Option<&Value>) -> Vec<Example> {
    let card = card.map(|value| Card::new(value.clone()));
    let mut out = of_contract(bundle, card.as_ref());
    let tried: BTreeSet<String> = out.iter().filter_map(|e| e.skill.clone()).collect();
    let more = card.as_ref().map(of_card).unwrap_or_default();
    out.extend(more.into_iter().filter(|e| e.skill.as_ref().is_none_or(|id| !tried.contains(id))));
    if out.is_empty() {
        out.push(greeting());
    }
    some_of(out)
}

/// The first example of each skill, and more of them as far as they are few.
fn some_of(all: Vec<Example>) -> Vec<Example> {
    let mut skills = BTreeSet::new();
    let first: Vec<bool> = all.iter().map(|e| skills.len() < MOST_SKILLS && skills.insert(e.skill.clone())).collect();
    let more = MOST.saturating_sub(skills.len());
    let numbered = all.into_iter().zip(first).scan(0, |others, (example, first)| {
        *others += usize::from(!first);
        Some((first || *others <= more).then_some(example))
    });
    numbered.flatten().collect()
}

/// The example of a variant; the first where the variant names none.
#[must_use]
pub(crate) fn of_variant(axes: &ostiary_record::Axes, bundle: &Bundle, card: Option<&Value>) -> Example {
    let mut all = examples(bundle, card);
    let wanted = axes.values.get(AXIS);
    let at = all.iter().position(|e| Some(&e.name) == wanted).unwrap_or(0);
    all.swap_remove(at)
}

fn of_contract(bundle: &Bundle, card: Option<&Card>) -> Vec<Example> {
    let mut out = Vec::new();
    for skill in &bundle.skills {
        let id = &skill.skill_id.value;
        for example in &skill.examples {
            let Some((_, fixture)) = bundle.fixture(&example.input_fixture.value) else { continue };
            let modes: Vec<&str> = skill.input_modes.iter().map(|m| m.value.as_str()).collect();
            out.push(Example {
                name: format!("{id}/{}", example.name.value),
                skill: Some(id.clone()),
                parts: parts(fixture, &modes),
                artifact_schema: example.expected_artifact_schema.as_ref().map(|s| s.value.clone()),
                promised: card.is_none_or(|c| c.skills().iter().any(|s| s.id() == Some(id))),
            });
        }
    }
    out
}

fn of_card(card: &Card) -> Vec<Example> {
    let mut out = Vec::new();
    for skill in card.skills() {
        let Some(id) = skill.id() else { continue };
        let modes = skill.modes("inputModes").unwrap_or_else(|| card.modes("defaultInputModes"));
        for (n, text) in skill.examples().into_iter().enumerate() {
            let Some(parts) = card_example(text, &modes) else { continue };
            out.push(Example {
                name: format!("{id}/card-{n}"),
                skill: Some(id.to_owned()),
                parts,
                artifact_schema: None,
                promised: true,
            });
        }
    }
    out
}

/// An example of a card is a text: a prompt, or the JSON of what the skill takes. A prompt for a skill that takes no text
/// only tells people what the skill is for, and promises no answer.
fn card_example(text: &str, modes: &[&str]) -> Option<Vec<Value>> {
    if takes_text(modes) {
        return Some(vec![json!({"text": text})]);
    }
    let value = serde_json::from_str::<Value>(text).ok().filter(Value::is_object)?;
    Some(parts(&value, modes))
}

/// The parts of a fixture: itself where it is a list of parts or has one, else its content in the first mode that fits.
pub(crate) fn parts(fixture: &Value, modes: &[&str]) -> Vec<Value> {
    if let Some(parts) = fixture.get("parts").and_then(Value::as_array) {
        return parts.clone();
    }
    let json_mode = modes.iter().find(|m| MediaType::parse(m).is_some_and(|m| m.is_json()));
    match (fixture, json_mode) {
        (Value::String(text), _) => vec![json!({"text": text})],
        (value, Some(mode)) => vec![json!({"data": value, "mediaType": mode})],
        (value, None) if takes_text(modes) => vec![json!({"text": value.to_string()})],
        (value, None) => vec![json!({"data": value})],
    }
}

fn takes_text(modes: &[&str]) -> bool {
    let plain = MediaType::parse("text/plain");
    // what is no media type is judged elsewhere; what is meant is plain enough
    modes.contains(&"text")
        || modes.iter().filter_map(|m| MediaType::parse(m)).any(|m| plain.as_ref().is_some_and(|p| m.includes(p)))
}

fn greeting() -> Example {
    Example {
        name: "greeting".to_owned(),
        skill: None,
        parts: vec![json!({"text": "hello"})],
        artifact_schema: None,
        promised: false,
    }
}
