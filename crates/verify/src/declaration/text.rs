//! `a2a.card.text`: the texts of a card show all they say, and the card is of a size that readers have use for (C-01,
//! S-04). Skills and descriptions are read to models by whoever chooses an agent.

use ostiary_protocol::hidden;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served_in_its_version,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Texts;

/// Bytes of a card beyond which it deserves a look; the largest seen in the field has less than 100 KiB.
const LARGE: usize = 256 << 10;
/// Bytes that a card must not have. Beyond 4 MiB nothing is read at all, and the card is malformed.
const TOO_LARGE: usize = 1 << 20;
/// Bytes of one text beyond which it is no description any more, as for tools; icons and signatures are shorter, too.
const TOO_LONG: usize = 64 << 10;
/// Texts that are told of one card: enough to repair, bounded for a hostile one.
const MOST: usize = 10;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.text",
    version: 1,
    summary: "No text of the card hides characters from a person, and neither card nor text is oversized.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-01", "S-04"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[ReasonCode::CardTextHidden, ReasonCode::CardOversized],
    severity: Severity::Error,
    liar: "hidden_characters_are_caught",
};

/// What is found while the card is walked.
struct Walk<'f, 'a> {
    facts: &'f Facts<'a>,
    at: Vec<EventRef>,
    out: Vec<Finding>,
}

impl Check for Texts {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served_in_its_version(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let mut walk = Walk { facts, at, out: Vec::new() };
        walk.value(card.value(), &mut String::new());
        let Walk { at, mut out, .. } = walk;
        let bytes = facts.card_document().map_or(0, |(bytes, _)| bytes.len());
        out.extend(size(facts, bytes, &at));
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(facts.pass(at));
        }
        out
    }
}

fn size(facts: &Facts<'_>, bytes: usize, at: &[EventRef]) -> Option<Finding> {
    let (most, severity) = match bytes {
        0..=LARGE => return None,
        _ if bytes <= TOO_LARGE => (LARGE, Severity::Warning),
        _ => (TOO_LARGE, Severity::Error),
    };
    let (expected, observed) = (format!("a card of at most {most} bytes"), format!("{bytes} bytes"));
    let finding = facts.fail(ReasonCode::CardOversized, at.to_vec(), expected, observed);
    Some(finding.at_pointer(CARD, "").with_detail("card_oversized").as_severity(severity))
}

// === impl Walk ===

impl Walk<'_, '_> {
    /// The depth is bounded by the reader that made the value.
    fn value(&mut self, value: &Value, at: &mut String) {
        let length = at.len();
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    at.push('/');
                    at.push_str(&n.to_string());
                    self.value(item, at);
                    at.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    at.push('/');
                    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.hidden(name, at, "the member's name");
                    self.value(value, at);
                    at.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, at: &str) {
        self.hidden(text, at, "the text");
        if text.len() > TOO_LONG && self.out.len() < MOST {
            let (expected, observed) = (format!("at most {TOO_LONG} bytes"), format!("{} bytes", text.len()));
            let finding = self.facts.fail(ReasonCode::CardOversized, self.at.clone(), expected, observed);
            self.out.push(finding.at_pointer(CARD, visible(at)).with_detail("text_oversized"));
        }
    }

    fn hidden(&mut self, text: &str, at: &str, what: &str) {
        if self.out.len() >= MOST {
            return;
        }
        let Some(found) = hidden::find(text) else { return };
        let (kind, first) = (found.kind.as_str(), u32::from(found.first));
        let observed = format!(
            "{what} has {} hidden character(s), the first a {kind} (U+{first:04X}) at {}",
            found.count, found.at
        );
        let expected = "text that shows all it says";
        let finding = self.facts.fail(ReasonCode::CardTextHidden, self.at.clone(), expected, observed);
        self.out.push(finding.at_pointer(CARD, visible(at)).with_detail("text_hidden"));
    }
}

/// A place whose names of members may be the very ones that hide something.
fn visible(at: &str) -> String {
    let hides = |c: char| !c.is_ascii() && hidden::find(c.encode_utf8(&mut [0; 4])).is_some();
    at.chars()
        .map(|c| if c.is_control() || hides(c) { format!("\\u{{{:x}}}", u32::from(c)) } else { c.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, passes, warnings};

    fn with(change: impl FnOnce(&mut Value)) -> Driven {
        let mut driven = World::honest().drive();
        let card = World::with_card(change).card;
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    #[test]
    fn texts_that_show_all_they_say_pass() {
        passes(&Texts, &World::honest().drive());
        let emoji = "Plans work \u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}, \u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}";
        passes(&Texts, &with(|card| card["description"] = json!(emoji)));
    }

    #[test]
    fn hidden_characters_are_caught() {
        for text in ["plan\u{200B}ner", "\u{202E}rennalp", "\u{1B}[8mplan", "plan\u{E0041}"] {
            caught(&Texts, &with(|card| card["name"] = json!(text)), ReasonCode::CardTextHidden);
            caught(&Texts, &with(|card| card["skills"][0]["description"] = json!(text)), ReasonCode::CardTextHidden);
        }
        caught(&Texts, &with(|card| card["x\u{202E}y"] = json!(1)), ReasonCode::CardTextHidden);
    }

    #[test]
    fn a_card_beyond_its_size_is_told_and_then_caught() {
        let skills = |n: usize| {
            with(move |card| {
                let mut skill = card["skills"][0].clone();
                skill["description"] = json!("d".repeat(60_000));
                card["skills"] = vec![skill; n].into();
            })
        };
        let large = skills(5);
        passes(&Texts, &large);
        assert_eq!(warnings(&Texts, &large), [ReasonCode::CardOversized]);
        caught(&Texts, &skills(18), ReasonCode::CardOversized);
        let long = json!("d".repeat(TOO_LONG + 1));
        caught(&Texts, &with(|card| card["description"] = long), ReasonCode::CardOversized);
    }

    #[test]
    fn a_hostile_card_gets_a_bounded_report() {
        let driven = with(|card| card["tags"] = vec![json!("\u{202E}"); 1_000].into());
        assert!(driven.judge(&Texts).len() <= MOST);
    }
}
