//! The agent's card: served byte for byte as configured, and the only source of what the agent supports.

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    config::ConfigError,
    lies::{Lie, Lies},
};

/// The extension that the lying card requires.
const UNKNOWN_EXTENSION: &str = "urn:example:test:approval-context";

/// The configured card with what the agent reads from it.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    bytes: Bytes,
    value: Value,
}

/// A card as it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) bytes: Bytes,
    pub(crate) etag: String,
}

// === impl Card ===

impl Card {
    pub(crate) fn parse(bytes: Bytes) -> Result<Self, ConfigError> {
        let value: Value = serde_json::from_slice(&bytes).map_err(|e| ConfigError::Card(e.to_string()))?;
        if !value.is_object() {
            return Err(ConfigError::Card("it is no JSON object".to_owned()));
        }
        Ok(Self { bytes, value })
    }

    /// Whether a capability is declared; absent means not.
    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.value["capabilities"][capability] == json!(true)
    }

    /// The bytes to serve: the configured ones, unless a lie is told about them.
    pub(crate) fn served(&self, lies: &Lies) -> Served {
        let mut changed = None;
        if lies.tells(Lie::RequiredExtension) {
            require_extension(changed.get_or_insert_with(|| self.value.clone()));
        }
        if lies.tells(Lie::DuplicateSkillId) {
            duplicate_skill(changed.get_or_insert_with(|| self.value.clone()));
        }
        let bytes = changed.map_or_else(|| self.bytes.clone(), |value| Bytes::from(value.to_string()));
        let etag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes)));
        Served { bytes, etag }
    }
}

fn require_extension(card: &mut Value) {
    let extension = json!({"uri": UNKNOWN_EXTENSION, "description": "carries an approval", "required": true});
    let Some(Value::Object(capabilities)) = card.get_mut("capabilities") else { return };
    match capabilities.get_mut("extensions") {
        Some(Value::Array(extensions)) => extensions.push(extension),
        _ => drop(capabilities.insert("extensions".to_owned(), json!([extension]))),
    }
}

fn duplicate_skill(card: &mut Value) {
    if let Some(Value::Array(skills)) = card.get_mut("skills")
        && let Some(first) = skills.first().cloned()
    {
        skills.push(first);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::Card;
    use crate::lies::{Lie, Lies};

    fn card() -> Card {
        let text = r#"{ "capabilities" : {"streaming":true}, "skills":[{"id":"work-planning"}] }"#;
        Card::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    fn served(lie: Lie) -> Value {
        serde_json::from_slice(&card().served(&Lies::from(lie)).bytes).unwrap()
    }

    #[test]
    fn an_honest_card_is_served_byte_for_byte() {
        assert_eq!(card().served(&Lies::none()).bytes, card().bytes);
    }

    #[test]
    fn only_a_literal_true_declares_a_capability() {
        assert!(card().declares("streaming"));
        assert!(!card().declares("pushNotifications"));
    }

    #[test]
    fn the_lying_card_requires_an_extension() {
        assert_eq!(served(Lie::RequiredExtension)["capabilities"]["extensions"][0]["required"], json!(true));
    }

    #[test]
    fn the_lying_card_repeats_its_skill_id() {
        let skills = served(Lie::DuplicateSkillId);
        assert_eq!(skills["skills"][0]["id"], skills["skills"][1]["id"]);
    }
}
