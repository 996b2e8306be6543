//! The canonical forms of a card: the bytes that a signature is over.
//!
//! The specification has one form (§8.4.1); what signers really do differs, so each known practice is a form of its own
//! and has a name. A form that leaves something out says what: that is input nobody signed.

use ostiary_canon::json::{CanonError, canonicalize};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    legacy,
    schema::{CARD, Field, Kind, Presence},
};

/// The member that the JavaScript SDK loses.
const SCHEMES: &str = "securitySchemes";

/// A way from a card to the bytes that are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// §8.4.1: defaults of plain members dropped, members that the schema does not know kept; RFC 8785.
    Specification,
    /// The same of the schema's members alone.
    SpecificationSchema,
    /// The official Python SDK (since August 2026) and JavaScript SDK: the schema's members, then every empty text,
    /// list and object dropped, REQUIRED or not, also inside `params`; RFC 8785.
    Sdk,
    /// The Python SDK before that: the same members, keys in code point order, everything but ASCII escaped.
    OldPython,
    /// The JavaScript SDK given a card in its own types rather than as JSON: as [`Form::Sdk`], and every security scheme
    /// is lost on the way, because it reads its own objects once more as if they were JSON (seen in 1.3.0).
    #[serde(rename = "javascript")]
    JavaScript,
    /// The card as served without `signatures`, nothing dropped; RFC 8785.
    Raw,
}

/// A member of a card that a form leaves out although it says something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsigned {
    /// JSON pointer into the card.
    pub pointer: String,
    /// Why it is left out.
    pub why: LeftOut,
}

/// Why a member is not part of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// A2A 1.0 does not know the member.
    OutsideSchema,
    /// The form drops what is empty, and here emptiness says something.
    Empty,
    /// The signing library loses the member.
    Lost,
}

/// The bytes of a card in one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonical {
    /// Which form.
    pub form: Form,
    /// The signed payload.
    pub bytes: Vec<u8>,
    /// What it does not cover.
    pub unsigned: Vec<Unsigned>,
}

// === impl Form ===

impl Form {
    /// All forms, the specification's first: the order in which they are tried.
    pub const ALL: [Self; 6] =
        [Self::Specification, Self::SpecificationSchema, Self::Sdk, Self::OldPython, Self::JavaScript, Self::Raw];

    /// The form's name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Specification => "specification",
            Self::SpecificationSchema => "specification-schema",
            Self::Sdk => "sdk",
            Self::OldPython => "old-python",
            Self::JavaScript => "javascript",
            Self::Raw => "raw",
        }
    }

    /// What a signature in this form cannot show, in words; `None` = it covers all that the card says.
    ///
    /// A card with and without an empty requirement of authentication is the same in the forms of the SDKs, so taking
    /// one away breaks no signature, and leaves nothing in the card to point at.
    #[must_use]
    pub const fn gap(self) -> Option<&'static str> {
        match self {
            Self::Specification | Self::Raw => None,
            Self::SpecificationSchema => Some("members outside the A2A schema are not covered"),
            Self::Sdk | Self::OldPython => Some(
                "members outside the A2A schema are not covered, nor is anything empty: a security requirement without \
                 scopes or a mutual TLS scheme may have been added or removed since",
            ),
            Self::JavaScript => Some(
                "members outside the A2A schema are not covered, nor is anything empty, nor any security scheme: where \
                 credentials are sent may have been changed since",
            ),
        }
    }

    /// The canonical bytes of `card` in this form.
    ///
    /// # Errors
    /// When a number of the card has no canonical spelling.
    pub fn of(self, card: &Value) -> Result<Canonical, CanonError> {
        let (value, unsigned) = self.project(card);
        let bytes = if self == Self::OldPython { legacy::print(&value) } else { canonicalize(&value)? };
        Ok(Canonical { form: self, bytes, unsigned })
    }

    fn project(self, card: &Value) -> (Value, Vec<Unsigned>) {
        if self == Self::Raw {
            return (Value::Object(without_signatures(card)), Vec::new());
        }
        let mut projection = Projection { keep_unknown: self == Self::Specification, unsigned: Vec::new() };
        let members = projection.message(CARD, &without_signatures(card), "");
        let mut unsigned = projection.unsigned;
        let mut value = Value::Object(members);
        if self == Self::JavaScript && value.as_object_mut().is_some_and(|m| m.shift_remove(SCHEMES).is_some()) {
            unsigned.push(Unsigned { pointer: below("", SCHEMES), why: LeftOut::Lost });
        }
        if matches!(self, Self::Sdk | Self::OldPython | Self::JavaScript) {
            value = strip(value, "", &mut unsigned).unwrap_or_else(|| Value::Object(Map::new()));
        }
        (value, unsigned)
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Projection ===

/// A card on its way through the schema. Values of a wrong type stay as they are: no guess, and no signature fits.
struct Projection {
    keep_unknown: bool,
    unsigned: Vec<Unsigned>,
}

impl Projection {
    fn message(&mut self, fields: &[Field], members: &Map<String, Value>, at: &str) -> Map<String, Value> {
        let mut out = Map::new();
        for (name, value) in members {
            let pointer = below(at, name);
            match fields.iter().find(|field| field.name == name) {
                // ProtoJSON reads `null` as unset.
                Some(_) if value.is_null() => {}
                Some(field) => {
                    let value = self.value(field.kind, value, &pointer);
                    if field.presence == Presence::Kept || !is_default(field.kind, &value) {
                        out.insert(name.clone(), value);
                    }
                }
                None if self.keep_unknown => {
                    out.insert(name.clone(), value.clone());
                }
                None => self.unsigned.push(Unsigned { pointer, why: LeftOut::OutsideSchema }),
            }
        }
        out
    }

    fn value(&mut self, kind: Kind, value: &Value, at: &str) -> Value {
        match (kind, value) {
            (Kind::One(fields), Value::Object(members)) => Value::Object(self.message(fields, members, at)),
            (Kind::Many(fields), Value::Array(items)) => {
                let read = |(n, item): (usize, &Value)| self.value(Kind::One(fields), item, &below(at, &n.to_string()));
                Value::Array(items.iter().enumerate().map(read).collect())
            }
            (Kind::Map(fields), Value::Object(members)) => {
                let read = |(name, item): (&String, &Value)| {
                    (name.clone(), self.value(Kind::One(fields), item, &below(at, name)))
                };
                Value::Object(members.iter().map(read).collect())
            }
            _ => value.clone(),
        }
    }
}

/// The members of a card without the one that no signature covers.
fn without_signatures(card: &Value) -> Map<String, Value> {
    let members = card.as_object().into_iter().flatten();
    members.filter(|(name, _)| *name != "signatures").map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// Whether a value is what an absent plain member of this kind means.
fn is_default(kind: Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Flag, Value::Bool(flag)) => !flag,
        (Kind::Text, Value::String(text)) => text.is_empty(),
        (Kind::Many(_) | Kind::Texts, Value::Array(items)) => items.is_empty(),
        (Kind::Map(_) | Kind::TextMap, Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The value without anything empty, from the inside out; `None` = nothing is left. Each whole that vanishes is noted
/// once, at its outermost place.
fn strip(value: Value, at: &str, unsigned: &mut Vec<Unsigned>) -> Option<Value> {
    let noted = unsigned.len();
    let rest = match value {
        Value::Array(items) => {
            let keep = |(n, item): (usize, Value)| strip(item, &below(at, &n.to_string()), unsigned);
            Value::Array(items.into_iter().enumerate().filter_map(keep).collect())
        }
        Value::Object(members) => {
            let keep =
                |(name, item): (String, Value)| strip(item, &below(at, &name), unsigned).map(|item| (name, item));
            Value::Object(members.into_iter().filter_map(keep).collect())
        }
        scalar => scalar,
    };
    if !is_empty(&rest) {
        return Some(rest);
    }
    unsigned.truncate(noted);
    unsigned.push(Unsigned { pointer: at.to_owned(), why: LeftOut::Empty });
    None
}

/// The pointer of a member (RFC 6901).
fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(form: Form, card: &Value, expected: &str, unsigned: &[&str]) {
        let canonical = form.of(card).unwrap();
        assert_eq!(String::from_utf8(canonical.bytes).unwrap(), expected, "{form}");
        let pointers: Vec<&str> = canonical.unsigned.iter().map(|u| u.pointer.as_str()).collect();
        assert_eq!(pointers, unsigned, "{form}");
    }

    #[test]
    fn a_card_without_anything_empty_is_the_same_in_every_form() {
        let card = json!({"version": "1", "name": "n", "capabilities": {"streaming": false}, "signatures": [1]});
        for form in Form::ALL {
            check(form, &card, r#"{"capabilities":{"streaming":false},"name":"n","version":"1"}"#, &[]);
        }
    }

    #[test]
    fn required_members_stay_and_plain_defaults_go() {
        let card = json!({"name": "n", "description": "", "skills": [], "iconUrl": "", "documentationUrl": null,
            "supportedInterfaces": [{"url": "u", "tenant": ""}], "securitySchemes": {}, "securityRequirements": [],
            "capabilities": {"streaming": false, "extensions": [{"uri": "x", "required": false, "description": ""}]}});
        let strict = concat!(
            r#"{"capabilities":{"extensions":[{"uri":"x"}],"streaming":false},"description":"","iconUrl":"","#,
            r#""name":"n","skills":[],"supportedInterfaces":[{"url":"u"}]}"#
        );
        check(Form::Specification, &card, strict, &[]);
        check(Form::SpecificationSchema, &card, strict, &[]);
        let sdk = concat!(
            r#"{"capabilities":{"extensions":[{"uri":"x"}],"streaming":false},"#,
            r#""name":"n","supportedInterfaces":[{"url":"u"}]}"#
        );
        check(Form::Sdk, &card, sdk, &["/description", "/skills", "/iconUrl"]);
    }

    #[test]
    fn a_requirement_without_scopes_is_outside_the_sdks_form() {
        let card = json!({"name": "n", "securitySchemes": {"m": {"mtlsSecurityScheme": {}}},
            "securityRequirements": [{"schemes": {"m": {"list": []}}}]});
        let strict = concat!(
            r#"{"name":"n","securityRequirements":[{"schemes":{"m":{}}}],"#,
            r#""securitySchemes":{"m":{"mtlsSecurityScheme":{}}}}"#
        );
        check(Form::Specification, &card, strict, &[]);
        check(Form::Sdk, &card, r#"{"name":"n"}"#, &["/securitySchemes", "/securityRequirements"]);
    }

    #[test]
    fn security_schemes_are_outside_the_typed_javascript_form() {
        let card = json!({"name": "n", "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
            "securityRequirements": [{"schemes": {"b": {"list": ["read"]}}}]});
        let rest = r#"{"name":"n","securityRequirements":[{"schemes":{"b":{"list":["read"]}}}]}"#;
        check(Form::JavaScript, &card, rest, &["/securitySchemes"]);
    }

    #[test]
    fn members_outside_the_schema_are_covered_or_told() {
        let card = json!({"name": "n", "url": "http://old", "skills": [{"id": "s", "x/y": 1}]});
        check(Form::Specification, &card, r#"{"name":"n","skills":[{"id":"s","x/y":1}],"url":"http://old"}"#, &[]);
        check(Form::Sdk, &card, r#"{"name":"n","skills":[{"id":"s"}]}"#, &["/url", "/skills/0/x~1y"]);
    }

    #[test]
    fn params_are_free_and_only_the_sdks_look_into_them() {
        let params = json!({"a": "", "b": null, "c": false, "d": [[], 1]});
        let card = json!({"capabilities": {"extensions": [{"params": params}]}});
        let strict = r#"{"capabilities":{"extensions":[{"params":{"a":"","b":null,"c":false,"d":[[],1]}}]}}"#;
        check(Form::Specification, &card, strict, &[]);
        let at = "/capabilities/extensions/0/params";
        let (a, b, d) = (format!("{at}/a"), format!("{at}/b"), format!("{at}/d/0"));
        let sdk = r#"{"capabilities":{"extensions":[{"params":{"c":false,"d":[1]}}]}}"#;
        check(Form::Sdk, &card, sdk, &[&a, &b, &d]);
    }

    #[test]
    fn the_raw_form_drops_nothing_and_old_python_escapes() {
        let card = json!({"name": "Zürich 😀", "iconUrl": null, "tenant": ""});
        check(Form::Raw, &card, r#"{"iconUrl":null,"name":"Zürich 😀","tenant":""}"#, &[]);
        check(Form::OldPython, &card, "{\"name\":\"Z\\u00fcrich \\ud83d\\ude00\"}", &["/tenant"]);
    }

    #[test]
    fn a_value_of_a_wrong_type_is_neither_guessed_nor_dropped() {
        let card = json!({"name": 7, "skills": {"id": "s"}, "capabilities": ["streaming"], "securitySchemes": false});
        let text = r#"{"capabilities":["streaming"],"name":7,"securitySchemes":false,"skills":{"id":"s"}}"#;
        check(Form::Specification, &card, text, &[]);
        check(Form::Sdk, &card, text, &[]);
    }
}
