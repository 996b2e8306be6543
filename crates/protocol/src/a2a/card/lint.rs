//! What is wrong with a card by A2A 1.0: required members, types and formats, each with a JSON pointer.

use serde_json::Value;

use super::{Card, extension, interface, required, security, set};
use crate::media_type::{MediaType, MediaTypeProblem};

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
    /// A mode is no media type; a development environment lets it through.
    MediaType,
    /// What demands a credential is written so that a strict reader does not see it: the agent would look open.
    Requirement,
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
    /// There and not empty: repeated REQUIRED members hold at least one entry (1.0 §5.7).
    Required,
    /// There; 0.x cards may hold nothing in it.
    Present,
    /// There by the letter, and a map that may be empty: the official SDKs leave out every empty map.
    Droppable,
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
    interface::problems(card, &mut out);
    extension::problems(card, &mut out);
    security::problems(card, &mut out);
    out
}

// === impl At ===

impl<'a> At<'a, '_> {
    pub(super) fn members(&mut self, rows: &[(&str, Need, Type)]) {
        for (name, need, kind) in rows {
            self.member(name, *need, *kind);
        }
    }

    /// The members of each object of a list; what is no object is told as that alone.
    pub(super) fn each(&mut self, name: &str, rows: &[(&str, Need, Type)]) {
        let list = set(self.value, name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (n, entry) in list.iter().enumerate().filter(|(_, entry)| entry.is_object()) {
            self.inner(entry, &format!("{name}/{n}")).members(rows);
        }
    }

    /// The members of an object, where it is there.
    pub(super) fn object(&mut self, name: &str, rows: &[(&str, Need, Type)]) {
        if let Some(entry) = set(self.value, name).filter(|entry| entry.is_object()) {
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
            let grade = match need {
                Need::Optional => return,
                Need::Droppable => Grade::Warning,
                Need::Required | Need::Present => Grade::Error,
            };
            return self.push(ProblemKind::Missing, grade, name, missing(self.value, name));
        };
        if !kind.fits(value) {
            let what = format!("`{name}` is {}, and must be {}", type_of(value), kind.as_str());
            return self.push(ProblemKind::Invalid, Grade::Error, name, what);
        }
        self.emptiness(name, need, kind, value);
        self.entries(name, kind, value);
    }

    fn emptiness(&mut self, name: &str, need: Need, kind: Type, value: &Value) {
        if need != Need::Required {
            return;
        }
        if value.as_array().is_some_and(Vec::is_empty) {
            let what = format!("`{name}` is required and must hold at least one entry (§5.7)");
            self.push(ProblemKind::Missing, Grade::Error, name, what);
        }
        if value.as_str().is_some_and(|text| text.trim().is_empty()) {
            let grade = if kind == Type::Text { Grade::Warning } else { Grade::Error };
            self.push(ProblemKind::Missing, grade, name, format!("`{name}` is required and empty"));
        }
    }

    fn entries(&mut self, name: &str, kind: Type, value: &Value) {
        let list = value.as_array().map_or(&[][..], Vec::as_slice);
        for (n, entry) in list.iter().enumerate() {
            let at = format!("{name}/{n}");
            let what = match kind {
                Type::Modes => {
                    self.mode(&at, entry);
                    continue;
                }
                Type::Texts if !entry.is_string() => format!("an entry of `{name}` is no text"),
                Type::Objects if !entry.is_object() => format!("an entry of `{name}` is no object"),
                Type::Texts if entry.as_str() == Some("") => {
                    self.push(ProblemKind::Invalid, Grade::Warning, &at, "an empty text says nothing");
                    continue;
                }
                _ => continue,
            };
            self.push(ProblemKind::Invalid, Grade::Error, &at, what);
        }
    }

    fn mode(&mut self, at: &str, entry: &Value) {
        let Some(text) = entry.as_str() else {
            return self.push(ProblemKind::Invalid, Grade::Error, at, format!("{entry} is no text"));
        };
        let (grade, what) = match MediaType::problem(text) {
            None => return,
            Some(MediaTypeProblem::NoType) => (Grade::Error, "is no media type `type/subtype`"),
            Some(MediaTypeProblem::Name) => {
                (Grade::Error, "is no media type: a name in it is not allowed (RFC 6838 §4.2)")
            }
            Some(MediaTypeProblem::Parameter) => (Grade::Error, "is no media type: a parameter is no `name=value`"),
            Some(MediaTypeProblem::Range) => (Grade::Warning, "is a range, not a media type"),
        };
        self.push(ProblemKind::MediaType, grade, at, format!("`{text}` {what}"));
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

/// Says so where the member stands under its name in `a2a.proto`, which JSON spells in camel case (§5.5).
fn missing(value: &Value, name: &str) -> String {
    let snake: String = name
        .chars()
        .flat_map(|c| if c.is_ascii_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] })
        .collect();
    if snake != name && set(value, &snake).is_some() {
        return format!("`{name}` is required; the card spells it `{snake}`");
    }
    format!("`{name}` is required")
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
