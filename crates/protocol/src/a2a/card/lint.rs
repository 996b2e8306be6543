//! What is wrong with a card by A2A 1.0: required members, types and formats, each with a JSON pointer.

use serde_json::Value;

use super::{Card, required, security, set};
use crate::{a2a::binding::Version, media_type::MediaType};

/// Something that is wrong with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which kind of wrong.
    pub kind: ProblemKind,
    /// How bad it is.
    pub grade: Grade,
    /// JSON pointer to the member, also where it is absent.
    pub pointer: String,
    /// What is there and what should be.
    pub what: String,
}

/// The kind of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A required member is absent, null, or an empty list.
    Missing,
    /// A member has the wrong type or format.
    Invalid,
}

/// Whether a problem breaks the specification or is only bad practice that some reading of it allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// Broken.
    Error,
    /// Allowed by some reading.
    Warning,
}

/// What type a member must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A text; empty is allowed by some reading.
    Text,
    /// A text that names something, so that an empty one names nothing.
    Name,
    /// A list of media types.
    Modes,
    /// A list of texts.
    Texts,
    /// A list of objects.
    Objects,
    /// An object.
    Object,
    /// A truth value.
    Bool,
    /// An absolute URL.
    Url,
}

/// Whether a member must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// Collects problems under one object of the card.
pub(super) struct At<'a, 'o> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
    pub(super) out: &'o mut Vec<Problem>,
}

pub(super) fn problems(card: &Card) -> Vec<Problem> {
    let mut out = Vec::new();
    let mut root = At { value: card.value(), pointer: String::new(), out: &mut out };
    root.members(required::CARD);
    root.object("provider", required::PROVIDER);
    root.each("supportedInterfaces", required::INTERFACE);
    root.object("capabilities", required::CAPABILITIES);
    root.each("skills", required::SKILL);
    root.each("signatures", required::SIGNATURE);
    extensions(card, &mut out);
    versions(card, &mut out);
    security::problems(card, &mut out);
    out
}

fn extensions(card: &Card, out: &mut Vec<Problem>) {
    if let Some(capabilities) = card.get("capabilities") {
        let mut at = At { value: capabilities, pointer: "/capabilities".to_owned(), out };
        at.each("extensions", required::EXTENSION);
    }
}

/// §3.6: the version is `Major.Minor`; a patch number should not be there and must not be considered.
fn versions(card: &Card, out: &mut Vec<Problem>) {
    for interface in card.interfaces() {
        let Some(text) = interface.version_text else { continue };
        if Version::parse(text).is_some() {
            continue;
        }
        let grade = if Version::parse_lenient(text).is_some() { Grade::Warning } else { Grade::Error };
        let pointer = format!("{}/protocolVersion", interface.pointer);
        let what = format!("`{text}` is not of the form Major.Minor");
        out.push(Problem { kind: ProblemKind::Invalid, grade, pointer, what });
    }
}

// === impl At ===

impl<'a> At<'a, '_> {
    pub(super) fn members(&mut self, rows: &[(&str, Need, Type)]) {
        for (name, need, kind) in rows {
            self.member(name, *need, *kind);
        }
    }

    /// The members of each object of a list.
    pub(super) fn each(&mut self, name: &str, rows: &[(&str, Need, Type)]) {
        let list = set(self.value, name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (n, entry) in list.iter().enumerate() {
            self.inner(entry, &format!("{name}/{n}")).members(rows);
        }
    }

    /// The members of an object, where it is there.
    pub(super) fn object(&mut self, name: &str, rows: &[(&str, Need, Type)]) {
        if let Some(entry) = set(self.value, name) {
            self.inner(entry, name).members(rows);
        }
    }

    pub(super) fn inner(&mut self, value: &'a Value, under: &str) -> At<'a, '_> {
        At { value, pointer: format!("{}/{under}", self.pointer), out: self.out }
    }

    pub(super) fn push(&mut self, kind: ProblemKind, grade: Grade, name: &str, what: impl Into<String>) {
        let pointer = if name.is_empty() { self.pointer.clone() } else { format!("{}/{name}", self.pointer) };
        self.out.push(Problem { kind, grade, pointer, what: what.into() });
    }

    fn member(&mut self, name: &str, need: Need, kind: Type) {
        let Some(value) = set(self.value, name) else {
            if need == Need::Required {
                self.push(ProblemKind::Missing, Grade::Error, name, format!("`{name}` is required"));
            }
            return;
        };
        if !kind.fits(value) {
            let what = format!("`{name}` is {}, and must be {}", type_of(value), kind.as_str());
            return self.push(ProblemKind::Invalid, Grade::Error, name, what);
        }
        self.emptiness(name, need, kind, value);
        self.entries(name, kind, value);
    }

    fn emptiness(&mut self, name: &str, need: Need, kind: Type, value: &Value) {
        if need == Need::Optional {
            return;
        }
        if value.as_array().is_some_and(Vec::is_empty) {
            let what = format!("`{name}` is required and must hold at least one entry (§5.7)");
            self.push(ProblemKind::Missing, Grade::Error, name, what);
        }
        if value.as_str().is_some_and(str::is_empty) {
            let grade = if kind == Type::Text { Grade::Warning } else { Grade::Error };
            self.push(ProblemKind::Missing, grade, name, format!("`{name}` is required and empty"));
        }
    }

    fn entries(&mut self, name: &str, kind: Type, value: &Value) {
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        for (n, entry) in list.iter().enumerate() {
            let what = match kind {
                Type::Texts if !entry.is_string() => format!("an entry of `{name}` is no text"),
                Type::Objects if !entry.is_object() => format!("an entry of `{name}` is no object"),
                Type::Modes if entry.as_str().and_then(MediaType::parse).is_none() => {
                    format!("{entry} is no media type")
                }
                _ => continue,
            };
            self.push(ProblemKind::Invalid, Grade::Error, &format!("{name}/{n}"), what);
        }
    }
}

// === impl Type ===

impl Type {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text | Self::Name => value.is_string(),
            Self::Modes | Self::Texts | Self::Objects => value.is_array(),
            Self::Object => value.is_object(),
            Self::Bool => value.is_boolean(),
            Self::Url => value.as_str().is_some_and(|t| t.is_empty() || url::Url::parse(t).is_ok()),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Text | Self::Name => "a text",
            Self::Modes => "a list of media types",
            Self::Texts => "a list of texts",
            Self::Objects => "a list of objects",
            Self::Object => "an object",
            Self::Bool => "true or false",
            Self::Url => "an absolute URL",
        }
    }
}

fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("the text {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests;
