//! The agent card (§8) with presence kept: a view over the JSON as served, never through a defaulting struct.
//!
//! `null` counts as unset, as ProtoJSON reads it. [`Card::problems`] says all that is wrong with it at once.

use serde_json::Value;

use crate::a2a::binding::{Binding, Version};

mod address;
mod change;
mod endpoint;
mod extension;
pub mod format;
mod interface;
mod legacy;
mod lint;
mod look_alike;
mod required;
mod security;

pub use address::{Address, AddressProblem, AddressWeight, address_problems};
pub use change::{Change, ChangeKind, changes};
pub use endpoint::{Disagreement, Endpoint, disagreements_between, disagreements_within, endpoints};
pub use format::{CardFormat, recognise};
pub use interface::is_of_others;
pub use legacy::{Lost, Projection, project};
pub use lint::{Grade, Problem, ProblemKind};
pub use look_alike::{looks_like, unreadable_looks_like};

/// A card as served.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    value: Value,
}

/// One entry of `supportedInterfaces`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Where it stands: `/supportedInterfaces/0`.
    pub pointer: String,
    /// Where it is served.
    pub url: Option<&'a str>,
    /// Its binding.
    pub binding: Option<Binding>,
    /// Its protocol version as written.
    pub version_text: Option<&'a str>,
    /// The routing value that each request must carry.
    pub tenant: Option<&'a str>,
}

/// One entry of `skills`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skill<'a> {
    /// As on the wire.
    pub value: &'a Value,
    /// Its place in the list.
    pub index: usize,
}

/// One entry of `capabilities.extensions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Where it stands: `/capabilities/extensions/0`.
    pub pointer: String,
    /// Its name.
    pub uri: &'a str,
    /// Whether callers must support it.
    pub required: bool,
}

/// A capability that a card declares by a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Streaming operations.
    Streaming,
    /// Callbacks.
    PushNotifications,
    /// A card for authenticated callers.
    ExtendedAgentCard,
}

// === impl Card ===

impl Card {
    /// The card of a JSON value.
    #[must_use]
    pub const fn new(value: Value) -> Self {
        Self { value }
    }

    /// The JSON as served.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// Which version's shape it has.
    #[must_use]
    pub fn format(&self) -> CardFormat {
        recognise(&self.value)
    }

    /// A member that is set; `null` is not.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        set(&self.value, name)
    }

    /// A text member.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// The interfaces, in order of preference.
    #[must_use]
    pub fn interfaces(&self) -> Vec<Interface<'_>> {
        let read = |(n, entry)| Interface {
            pointer: format!("/supportedInterfaces/{n}"),
            url: text_of(entry, "url"),
            binding: text_of(entry, "protocolBinding").map(Binding::parse),
            version_text: text_of(entry, "protocolVersion"),
            tenant: text_of(entry, "tenant").filter(|t| !t.is_empty()),
        };
        list_of(&self.value, "supportedInterfaces").iter().enumerate().map(read).collect()
    }

    /// The skills.
    #[must_use]
    pub fn skills(&self) -> Vec<Skill<'_>> {
        list_of(&self.value, "skills").iter().enumerate().map(|(index, value)| Skill { value, index }).collect()
    }

    /// What the card says about a capability; `None` = nothing, which means that it is not offered.
    #[must_use]
    pub fn capability(&self, capability: Capability) -> Option<bool> {
        self.get("capabilities").and_then(|c| set(c, capability.member())).and_then(Value::as_bool)
    }

    /// The declared extensions that have a name.
    #[must_use]
    pub fn extensions(&self) -> Vec<Extension<'_>> {
        let list = self.get("capabilities").map_or(&[][..], |c| list_of(c, "extensions"));
        let read = |(n, entry)| {
            Some(Extension {
                pointer: format!("/capabilities/extensions/{n}"),
                uri: text_of(entry, "uri")?,
                required: set(entry, "required").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        list.iter().enumerate().filter_map(read).collect()
    }

    /// The media types of a list: `defaultInputModes` or `defaultOutputModes`.
    #[must_use]
    pub fn modes(&self, name: &str) -> Vec<&str> {
        list_of(&self.value, name).iter().filter_map(Value::as_str).collect()
    }

    /// The names of the security schemes.
    #[must_use]
    pub fn scheme_names(&self) -> Vec<&str> {
        let schemes = self.get("securitySchemes").and_then(Value::as_object);
        schemes.map(|s| s.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    /// Whether some security scheme is declared or demanded, by the card or by one of its skills.
    #[must_use]
    pub fn declares_security(&self) -> bool {
        let of_skill = |s: &Skill<'_>| !list_of(s.value, "securityRequirements").is_empty();
        !self.scheme_names().is_empty()
            || !list_of(&self.value, "securityRequirements").is_empty()
            || self.skills().iter().any(of_skill)
    }

    /// Whether each request needs a credential: requirements are declared and none of the alternatives is empty (an
    /// empty one lets anybody in, as in OpenAPI).
    #[must_use]
    pub fn demands_credential(&self) -> bool {
        let list = list_of(&self.value, "securityRequirements");
        let anybody = |r: &Value| set(r, "schemes").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
        !list.is_empty() && !list.iter().any(anybody)
    }

    /// Everything that is wrong with the card by 1.0, in the order of the specification's tables.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        lint::problems(self)
    }

    /// Everything that is wrong with a 0.3 or 0.2 card by its own version's rules.
    #[must_use]
    pub fn legacy_problems(&self) -> Vec<Problem> {
        legacy::problems(self)
    }
}

// === impl Interface ===

impl Interface<'_> {
    /// The protocol version, where it is `Major.Minor`.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.version_text.and_then(Version::parse)
    }
}

// === impl Skill ===

impl<'a> Skill<'a> {
    /// Where it stands.
    #[must_use]
    pub fn pointer(&self) -> String {
        format!("/skills/{}", self.index)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<&'a str> {
        text_of(self.value, "id")
    }

    /// Its own media types (`inputModes` or `outputModes`); `None` = the card's defaults hold.
    #[must_use]
    pub fn modes(&self, name: &str) -> Option<Vec<&'a str>> {
        let list = list_of(self.value, name);
        (!list.is_empty()).then(|| list.iter().filter_map(Value::as_str).collect())
    }

    /// Its example requests.
    #[must_use]
    pub fn examples(&self) -> Vec<&'a str> {
        list_of(self.value, "examples").iter().filter_map(Value::as_str).collect()
    }
}

// === impl Capability ===

impl Capability {
    /// The member of `capabilities`.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::PushNotifications => "pushNotifications",
            Self::ExtendedAgentCard => "extendedAgentCard",
        }
    }
}

/// A member that is set.
pub(crate) fn set<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|v| !v.is_null())
}

fn text_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    set(value, name).and_then(Value::as_str)
}

fn list_of<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    set(value, name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    pub(crate) fn honest() -> Value {
        json!({
            "name": "Planner", "description": "Plans work.", "version": "3.4.0",
            "supportedInterfaces": [{"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"streaming": true, "pushNotifications": false},
            "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
            "skills": [{"id": "plan", "name": "Plan", "description": "Plans.", "tags": ["plan"], "examples": ["plan"]}],
            "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "securityRequirements": [{"schemes": {"bearer": {"list": []}}}]
        })
    }

    #[test]
    fn null_is_unset_and_false_is_set() {
        let mut value = honest();
        value["capabilities"]["streaming"] = Value::Null;
        let card = Card::new(value);
        assert_eq!(card.capability(Capability::Streaming), None);
        assert_eq!(card.capability(Capability::PushNotifications), Some(false));
        assert_eq!(card.capability(Capability::ExtendedAgentCard), None);
    }

    #[test]
    fn an_empty_alternative_lets_anybody_in() {
        let mut value = honest();
        assert!(Card::new(value.clone()).demands_credential());
        value["securityRequirements"].as_array_mut().unwrap().push(json!({}));
        assert!(!Card::new(value.clone()).demands_credential());
        assert!(Card::new(value).declares_security());
        assert!(!Card::new(json!({"name": "x"})).declares_security());
    }

    #[test]
    fn an_empty_tenant_is_none() {
        let mut value = honest();
        value["supportedInterfaces"][0]["tenant"] = json!("");
        assert_eq!(Card::new(value.clone()).interfaces()[0].tenant, None);
        value["supportedInterfaces"][0]["tenant"] = json!("acme");
        assert_eq!(Card::new(value).interfaces()[0].tenant, Some("acme"));
    }
}
