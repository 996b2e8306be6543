//! What a message of the gRPC binding is made of: tables, in place of generated code.
//!
//! Tables keep what generated types lose: whether a member was on the wire, which member was wrong, and how a message
//! looks that no honest client sends. The numbers are those of `a2a.proto` (package `lf.a2a.v1`), and a test holds them
//! against the descriptors that the official SDK ships.

mod card;
mod messages;

pub use messages::{ALL, METHODS, TASK_STATE};
pub(super) use messages::{KNOWN_DETAILS, RPC_STATUS};

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Its name in its package.
    pub name: &'static str,
    /// Its fields, by their numbers.
    pub fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    /// Its number.
    pub number: u32,
    /// Its name in ProtoJSON.
    pub json: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// How often, and whether absence is told from the default.
    pub rule: Rule,
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// A truth value.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// Bytes; base64 in JSON.
    Bytes,
    /// A name with a number.
    Enum(&'static Enum),
    /// Another message.
    Message(&'static Message),
    /// `google.protobuf.Struct`: a JSON object.
    Struct,
    /// `google.protobuf.Value`: any JSON value.
    Value,
    /// `google.protobuf.Timestamp`: RFC 3339 in JSON.
    Timestamp,
    /// `google.protobuf.Any`: a message with the name of its type.
    Any,
}

/// How often a field stands in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// At most once; its default is not sent.
    Plain,
    /// The same, and the specification demands a value: its default is a value like any other.
    Required,
    /// At most once, and absence is told from the default: `optional`, and the members of a `oneof`.
    Present,
    /// Any number of times.
    List,
    /// The same, and the specification demands at least one.
    RequiredList,
    /// A map from text.
    Map,
}

/// A closed set of names with numbers; unknown numbers are kept.
#[derive(Debug)]
pub struct Enum {
    /// Its name.
    pub name: &'static str,
    /// The names, at their numbers.
    pub names: &'static [&'static str],
}

/// A method of `lf.a2a.v1.A2AService`.
#[derive(Debug)]
pub struct Method {
    /// Its name, which is the operation's.
    pub name: &'static str,
    /// What it takes.
    pub request: &'static Message,
    /// What it gives, once or as a stream.
    pub response: &'static Message,
    /// Whether it streams.
    pub streams: bool,
}

// === impl Message ===

impl Message {
    /// The field of that number.
    #[must_use]
    pub fn field(&self, number: u32) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.number == number)
    }

    /// The field of that ProtoJSON name.
    #[must_use]
    pub fn named(&self, json: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.json == json)
    }
}

// === impl Field ===

impl Field {
    /// Whether it may stand in a message more than once.
    #[must_use]
    pub const fn repeats(&self) -> bool {
        matches!(self.rule, Rule::List | Rule::RequiredList | Rule::Map)
    }

    /// Whether the specification demands it.
    #[must_use]
    pub const fn required(&self) -> bool {
        matches!(self.rule, Rule::Required | Rule::RequiredList)
    }
}

// === impl Method ===

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|m| m.name == name)
    }

    /// Its full path.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/{}/{}", super::SERVICE, self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::a2a::operation::Operation;

    #[test]
    fn numbers_and_names_stand_once_in_each_message() {
        for message in ALL {
            let numbers: BTreeSet<_> = message.fields.iter().map(|f| f.number).collect();
            let names: BTreeSet<_> = message.fields.iter().map(|f| f.json).collect();
            assert_eq!((numbers.len(), names.len()), (message.fields.len(), message.fields.len()), "{}", message.name);
        }
    }

    #[test]
    fn each_operation_is_a_method() {
        let methods: BTreeSet<_> = METHODS.iter().map(|m| m.name).collect();
        assert_eq!(methods, Operation::NAMES.into_iter().collect());
        assert_eq!(METHODS.iter().filter(|m| m.streams).count(), 2);
    }
}
