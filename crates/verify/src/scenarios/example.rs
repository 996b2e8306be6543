//! Which messages are sent: the contract's examples, the card's for skills that the contract has none for, else a greeting.
//!
//! Scenarios and checks read the same list, so that a check knows what each variant had to lead to.

use std::collections::BTreeSet;

use ostiary_contract::{
    Bundle,
    file::skill::{ClaimsRule, ExpectedPart, LeadsTo, Runs, SkillContract, SkillExample},
};
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
    /// How long its task is open, as the contract says.
    pub(crate) runs: Runs,
    /// Where its task first stands still, as the contract says.
    pub(crate) leads_to: LeadsTo,
    /// The parts that a task is sent that waits for input.
    pub(crate) answer: Option<Vec<Value>>,
    /// The schema that holds the acceptance conditions.
    pub(crate) acceptance: Option<String>,
    /// Where the result says what it claims, and on which sources.
    pub(crate) claims: Option<ClaimsRule>,
    /// The parts that the result must have.
    pub(crate) expected_parts: Vec<ExpectedPart>,
}

/// The axis that names the example.
pub(crate) const AXIS: &str = "example";

/// The examples that ordinary messages are, in the order of the contract or card; never none: those that complete, brief
/// ones where a skill has any.
#[must_use]
pub(crate) fn examples(bundle: &Bundle, card: Option<&Value>) -> Vec<Example> {
    let card = card.map(|value| Card::new(value.clone()));
    let mut out = of_contract(bundle, card.as_ref());
    let tried: BTreeSet<String> = out.iter().filter_map(|e| e.skill.clone()).collect();
    let more = card.as_ref().map(of_card).unwrap_or_default();
    out.extend(more.into_iter().filter(|e| e.skill.as_ref().is_none_or(|id| !tried.contains(id))));
    out.retain(|e| e.leads_to == LeadsTo::Completed);
    let brief: BTreeSet<Option<String>> =
        out.iter().filter(|e| e.runs == Runs::Brief).map(|e| e.skill.clone()).collect();
    out.retain(|e| e.runs == Runs::Brief || !brief.contains(&e.skill));
    if out.is_empty() {
        out.push(greeting());
    }
    some_of(out)
}

/// The first example whose task the contract says to be open for long, and to complete then.
#[must_use]
pub(crate) fn long_running(bundle: &Bundle, card: Option<&Value>) -> Option<Example> {
    let fits = |e: &Example| e.runs == Runs::Long && e.leads_to == LeadsTo::Completed;
    of_contract(bundle, card.map(|value| Card::new(value.clone())).as_ref()).into_iter().find(fits)
}

/// The example that most likely is open for long: the one that the contract says to be, else the first.
#[must_use]
pub(crate) fn lasting(bundle: &Bundle, card: Option<&Value>) -> Example {
    long_running(bundle, card).unwrap_or_else(|| examples(bundle, card).swap_remove(0))
}

/// The first example that the contract says to lead there.
#[must_use]
pub(crate) fn leading_to(bundle: &Bundle, card: Option<&Value>, to: LeadsTo) -> Option<Example> {
    of_contract(bundle, card.map(|value| Card::new(value.clone())).as_ref()).into_iter().find(|e| e.leads_to == to)
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
    let read = |skill: &SkillContract| -> Vec<Example> {
        skill.examples.iter().filter_map(|example| contract_example(bundle, card, skill, example)).collect()
    };
    bundle.skills.iter().flat_map(read).collect()
}

fn contract_example(
    bundle: &Bundle,
    card: Option<&Card>,
    skill: &SkillContract,
    example: &SkillExample,
) -> Option<Example> {
    let id = &skill.skill_id.value;
    let modes: Vec<&str> = skill.input_modes.iter().map(|m| m.value.as_str()).collect();
    let content = |name: &str| bundle.fixture(name).map(|(_, fixture)| parts(fixture, &modes));
    Some(Example {
        name: format!("{id}/{}", example.name.value),
        skill: Some(id.clone()),
        parts: content(&example.input_fixture.value)?,
        artifact_schema: example.expected_artifact_schema.as_ref().map(|s| s.value.clone()),
        promised: card.is_none_or(|c| c.skills().iter().any(|s| s.id() == Some(id))),
        runs: example.runs,
        leads_to: example.leads_to,
        answer: example.answer_fixture.as_ref().and_then(|name| content(&name.value)),
        acceptance: example.acceptance.as_ref().map(|s| s.value.clone()),
        claims: example.claims.clone(),
        expected_parts: example.expected_parts.clone(),
    })
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
                runs: Runs::Brief,
                leads_to: LeadsTo::Completed,
                answer: None,
                acceptance: None,
                claims: None,
                expected_parts: Vec::new(),
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
        runs: Runs::Brief,
        leads_to: LeadsTo::Completed,
        answer: None,
        acceptance: None,
        claims: None,
        expected_parts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    const SKILLS: &str = "skill_contract:
  skill_id: work-planning
  input_modes: [application/json]
  output_modes: [application/json]
  examples:
    - { name: slow, input_fixture: work-request-valid.json, runs: long }
    - { name: brief, input_fixture: work-request-valid.json }
    - { name: asking, input_fixture: work-request-valid.json, leads_to: input_required, answer_fixture: work-request-valid.json }
    - { name: failing, input_fixture: work-request-valid.json, leads_to: failed }
";

    fn world(skills: &str) -> World {
        let mut world = World::honest();
        world.put("skills.yaml", skills);
        world
    }

    #[test]
    fn ordinary_messages_are_brief_and_complete() {
        let world = world(SKILLS);
        let bundle = world.bundle();
        let names = |all: &[Example]| all.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&examples(&bundle, Some(&world.card))), ["work-planning/brief"]);
        assert_eq!(long_running(&bundle, Some(&world.card)).expect("one").name, "work-planning/slow");
        let asking = leading_to(&bundle, Some(&world.card), LeadsTo::InputRequired).expect("one");
        assert_eq!((asking.name.as_str(), asking.answer.is_some()), ("work-planning/asking", true));
        assert!(leading_to(&bundle, Some(&world.card), LeadsTo::Rejected).is_none());
    }

    #[test]
    fn a_skill_with_long_examples_alone_is_exercised_by_them() {
        let world = world(&SKILLS.replace("    - { name: brief, input_fixture: work-request-valid.json }\n", ""));
        let names: Vec<String> = examples(&world.bundle(), Some(&world.card)).into_iter().map(|e| e.name).collect();
        assert_eq!(names, ["work-planning/slow"]);
    }
}
