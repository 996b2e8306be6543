//! `reason-codes.yaml`: the codes that this contract's cases may expect.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, file_type},
    problem::Code,
    yaml::{Node, Value},
};

file_type! {
    /// `reason-codes.yaml`.
    pub struct ReasonsFile {
        /// The codes.
        reason_codes: Vec<DeclaredReason>,
    }
}

/// A reason code: its name alone, or with a meaning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum DeclaredReason {
    /// The code.
    Name(Located<ReasonName>),
    /// The code with what it means here.
    Explained(ExplainedReason),
}

file_type! {
    /// A code with what it means in this contract.
    pub struct ExplainedReason {
        /// The code.
        code: Located<ReasonName>,
        /// What it means.
        meaning: String,
    }
}

/// A code in upper snake case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ReasonName(#[schemars(regex(pattern = "^[A-Z][A-Z0-9_]*$"))] pub String);

// === impl DeclaredReason ===

impl DeclaredReason {
    /// The code.
    #[must_use]
    pub const fn code(&self) -> &Located<ReasonName> {
        match self {
            Self::Name(code) | Self::Explained(ExplainedReason { code, .. }) => code,
        }
    }
}

impl Decode for DeclaredReason {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match &node.value {
            Value::Map(_) => ExplainedReason::decode(node, cx).map(Self::Explained),
            _ => Located::decode(node, cx).map(Self::Name),
        }
    }
}

impl Decode for ReasonName {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let text = String::decode(node, cx)?;
        let upper = text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        if upper && text.starts_with(|c: char| c.is_ascii_uppercase()) {
            return Some(Self(text));
        }
        let message = format!("`{}` is no reason code", crate::yaml::clip(&text));
        cx.problem_with_hint(node.at, Code::InvalidValue, message, "reason codes are UPPER_SNAKE_CASE");
        None
    }
}
