//! Decoders of plain values, lists and maps.

use std::collections::BTreeMap;

use ostiary_canon::{DeclaredDigest, Profile};

use super::{Cx, Decode, did_you_mean};
use crate::{
    problem::Code,
    yaml::{Node, Value, clip},
};

// === impl Cx ===

impl Cx<'_> {
    /// Notes that a word is not one of a closed set.
    pub(crate) fn unknown_word(&mut self, node: &Node, word: &str, known: &[&str]) {
        let message = format!("`{}` is not one of the words known here", clip(word));
        self.problem_with_hint(node.at, Code::InvalidValue, message, did_you_mean(word, known));
    }

    /// Decodes text through a parser whose error says what is wrong.
    pub(crate) fn parsed<T, E: std::fmt::Display>(
        &mut self,
        node: &Node,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = String::decode(node, self)?;
        match parse(&text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problem(node.at, Code::InvalidValue, error.to_string());
                None
            }
        }
    }
}

// === impl Decode ===

impl Decode for String {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if let Value::Text(text) = &node.value {
            return Some(text.clone());
        }
        cx.wrong_type(node, "text");
        None
    }
}

impl Decode for bool {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if let Value::Bool(b) = node.value {
            return Some(b);
        }
        cx.wrong_type(node, "true or false");
        None
    }
}

impl Decode for u64 {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Value::Number(number) = &node.value else {
            cx.wrong_type(node, "a whole number");
            return None;
        };
        let whole = number.as_u64();
        if whole.is_none() {
            cx.problem(node.at, Code::InvalidValue, format!("`{number}` is no whole number from 0"));
        }
        whole
    }
}

impl Decode for u32 {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let wide = u64::decode(node, cx)?;
        let narrow = Self::try_from(wide).ok();
        if narrow.is_none() {
            cx.problem(node.at, Code::InvalidValue, format!("`{wide}` is too large"));
        }
        narrow
    }
}

impl Decode for serde_json::Value {
    fn decode(node: &Node, _: &mut Cx<'_>) -> Option<Self> {
        Some(node.to_json())
    }
}

impl Decode for DeclaredDigest {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        String::decode(node, cx).map(|text| Self::from(text.as_str()))
    }
}

impl Decode for Profile {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        cx.parsed(node, str::parse)
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        if node.value == Value::Null {
            return Some(None);
        }
        T::decode(node, cx).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Decode> Decode for Box<T> {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        T::decode(node, cx).map(Self::new)
    }
}

impl<T: Decode> Decode for Vec<T> {
    /// Passes over bad items: each is reported, and what is left can still be checked. Whoever decodes drops everything
    /// in the end when there was any problem.
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Value::List(items) = &node.value else {
            cx.wrong_type(node, "a list");
            return None;
        };
        Some(items.iter().filter_map(|item| T::decode(item, cx)).collect())
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    /// Passes over bad values, as lists do.
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let Value::Map(entries) = &node.value else {
            cx.wrong_type(node, "a mapping");
            return None;
        };
        let read = entries.iter().filter_map(|e| T::decode(&e.node, cx).map(|value| (e.key.clone(), value)));
        Some(read.collect())
    }
}

/// One of something, or a list of it.
pub(crate) fn one_or_many<T: Decode>(node: &Node, cx: &mut Cx<'_>) -> Option<Vec<T>> {
    if matches!(node.value, Value::List(_)) {
        return Vec::decode(node, cx);
    }
    T::decode(node, cx).map(|one| vec![one])
}
