//! From a tree to typed data, collecting every problem instead of stopping at the first.
//!
//! A type says once what its file may hold (the `file_type!` and `choice!` macros); from that come the decoder with
//! its did-you-mean, and the JSON Schema that editors use, so that the two cannot drift apart.

use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::{
    problem::{Code, Position, Problem, Problems, push_bounded},
    yaml::{self, Entry, Node, Value},
};

pub(crate) use macros::{choice, file_type, key};

mod macros;
mod primitive;
mod similar;

pub(crate) use primitive::one_or_many;
pub(crate) use similar::did_you_mean;

/// Something that a contract file can hold.
pub trait Decode: Sized {
    /// The typed value; `None` when it could not be read, with the problems in `cx`.
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self>;

    /// The value of a key that is not there; `None` when it must be.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// Where a decoder is and what it found wrong.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The file that is read.
    pub file: &'a str,
    /// What was wrong so far.
    pub problems: Vec<Problem>,
}

/// A value that remembers where it stood, for problems that show only when files are put together.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stood.
    pub at: Position,
}

/// The members of a mapping that is being decoded.
pub(crate) struct Members<'n> {
    at: Position,
    entries: &'n [Entry],
}

/// Reads one YAML (or JSON) file of a known kind.
///
/// # Errors
/// Everything that is wrong with it.
pub fn from_yaml<T: Decode>(file: &str, bytes: &[u8]) -> Result<T, Problems> {
    let node = yaml::read(file, bytes, yaml::Limits::default()).map_err(Problems)?;
    let mut cx = Cx::new(file);
    let value = T::decode(&node, &mut cx);
    match value {
        Some(value) if cx.problems.is_empty() => Ok(value),
        _ => {
            let mut problems = Problems(cx.problems);
            problems.sort();
            Err(problems)
        }
    }
}

// === impl Cx ===

impl<'a> Cx<'a> {
    /// A decoder of `file`, with nothing wrong yet.
    #[must_use]
    pub const fn new(file: &'a str) -> Self {
        Self { file, problems: Vec::new() }
    }

    /// Notes a problem at a place.
    pub fn problem(&mut self, at: Position, code: Code, message: impl Into<String>) {
        push_bounded(&mut self.problems, Problem::new(self.file, code, message).at(at));
    }

    /// Notes a problem at a place, with a remedy.
    pub fn problem_with_hint(&mut self, at: Position, code: Code, message: impl Into<String>, hint: impl Into<String>) {
        push_bounded(&mut self.problems, Problem::new(self.file, code, message).at(at).hint(hint));
    }

    /// Notes that another type was wanted.
    pub fn wrong_type(&mut self, node: &Node, wanted: &str) {
        let message = format!("{wanted} is wanted here, not {}", node.kind());
        let hint = match node.value {
            Value::Number(_) | Value::Bool(_) if wanted.contains("text") => Some("put the value in quotes"),
            _ => None,
        };
        let problem = Problem::new(self.file, Code::WrongType, message).at(node.at);
        let problem = match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        };
        push_bounded(&mut self.problems, problem);
    }

    /// The members of a mapping, after reporting every key that is not in `known`.
    pub(crate) fn members<'n>(&mut self, node: &'n Node, known: &[&str]) -> Option<Members<'n>> {
        let Value::Map(entries) = &node.value else {
            self.wrong_type(node, "a mapping");
            return None;
        };
        for entry in entries.iter().filter(|e| !known.contains(&e.key.as_str())) {
            let message = format!("the key `{}` is not known here", yaml::clip(&entry.key));
            self.problem_with_hint(entry.at, Code::UnknownKey, message, did_you_mean(&entry.key, known));
        }
        Some(Members { at: node.at, entries })
    }
}

// === impl Members ===

impl Members<'_> {
    fn node(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// A member that must be there unless its type says otherwise.
    pub(crate) fn required<T: Decode>(&self, key: &str, cx: &mut Cx<'_>) -> Option<T> {
        if let Some(node) = self.node(key) {
            return T::decode(node, cx);
        }
        let absent = T::absent();
        if absent.is_none() {
            cx.problem(self.at, Code::MissingKey, format!("the key `{key}` is missing"));
        }
        absent
    }

    /// A member with a default.
    pub(crate) fn optional<T: Decode + Default>(&self, key: &str, cx: &mut Cx<'_>) -> Option<T> {
        self.node(key).map_or_else(|| Some(T::default()), |node| T::decode(node, cx))
    }
}

// === impl Located ===

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Serialize> Serialize for Located<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(s)
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: Decode> Decode for Located<T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        T::decode(node, cx).map(|value| Self { value, at: node.at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Limits, read};

    file_type! {
        /// A sample.
        pub struct Sample {
            /// Text.
            name: String,
            /// A list.
            tags: Vec<String> = default,
            /// A number.
            limit as "maxItems": Option<u64>,
            /// A word.
            colour: Colour,
        }
    }

    choice! {
        /// A word.
        pub enum Colour {
            /// Red.
            Red = "red",
            /// Green.
            Green = "green",
        }
    }

    fn decode(text: &str) -> (Option<Sample>, Vec<(Code, String)>) {
        let node = read("f.yaml", text.as_bytes(), Limits::default()).expect("YAML");
        let mut cx = Cx::new("f.yaml");
        let value = Sample::decode(&node, &mut cx);
        (value, cx.problems.iter().map(|p| (p.code, p.to_string())).collect())
    }

    #[test]
    fn all_problems_of_a_mapping_come_at_once() {
        let (value, problems) = decode("nam: x\ntags: 3\nmaxItems: -1\ncolour: gren\n");
        assert!(value.is_none());
        let codes: Vec<Code> = problems.iter().map(|p| p.0).collect();
        let expect = [Code::UnknownKey, Code::MissingKey, Code::WrongType, Code::InvalidValue, Code::InvalidValue];
        assert_eq!(codes, expect, "{problems:?}");
        assert!(problems[0].1.contains("did you mean `name`"), "{}", problems[0].1);
        assert!(problems[4].1.contains("did you mean `green`"), "{}", problems[4].1);
    }

    #[test]
    fn defaults_and_renamed_keys_are_honoured() {
        let (value, problems) = decode("name: x\nmaxItems: 3\ncolour: red\n");
        assert_eq!(problems, []);
        let expect = Sample { name: "x".into(), tags: vec![], limit: Some(3), colour: Colour::Red };
        assert_eq!(value, Some(expect));
    }

    #[test]
    fn the_schema_says_the_same_as_the_decoder() {
        let schema = schemars::schema_for!(Sample).to_value();
        assert_eq!(schema["required"], serde_json::json!(["name", "colour"]));
        assert_eq!(schema["additionalProperties"], serde_json::json!(false));
        assert!(schema["properties"]["maxItems"].is_object(), "{schema}");
    }
}
