//! `errors.yaml`: how the producer refuses.

use schemars::JsonSchema;
use serde::Serialize;

use super::skill::OneOrMany;
use crate::{
    decode::{Cx, Decode, Located, choice, file_type, one_or_many},
    yaml::Node,
};

/// `errors.yaml`: one error contract, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ErrorsFile {
    /// The contracts.
    #[schemars(with = "OneOrMany<ErrorContract>")]
    pub error_contract: Vec<ErrorContract>,
}

file_type! {
    /// What must come back under one condition; message texts are never looked at.
    pub struct ErrorContract {
        /// When: a name that the harness knows how to bring about.
        condition: Located<String>,
        /// The error of the protocol.
        protocol_error: Located<String>,
        /// Whether the same request may succeed later.
        retryable: bool,
        /// What a consumer should do then.
        recovery: Option<Recovery>,
        /// The class of HTTP status.
        expected_http_class: Option<HttpClass>,
        /// What the error's data must satisfy.
        data_schema: Option<Located<String>>,
        /// Fields that an error must never show.
        sensitive_fields_forbidden: Vec<String> = default,
    }
}

choice! {
    /// What a consumer should do after an error.
    pub enum Recovery {
        /// Send the same request again.
        Retry = "retry",
        /// Go another way.
        Fallback = "fallback",
        /// Ask the person.
        AskUser = "ask_user",
        /// Give up.
        GiveUp = "give_up",
    }
}

choice! {
    /// A class of HTTP status.
    pub enum HttpClass {
        /// 200 to 299.
        Success = "2xx",
        /// 300 to 399.
        Redirect = "3xx",
        /// 400 to 499.
        Client = "4xx",
        /// 500 to 599.
        Server = "5xx",
    }
}

// === impl HttpClass ===

impl HttpClass {
    /// Whether a status belongs to the class.
    #[must_use]
    pub const fn holds(self, status: u16) -> bool {
        let hundreds = match self {
            Self::Success => 2,
            Self::Redirect => 3,
            Self::Client => 4,
            Self::Server => 5,
        };
        status / 100 == hundreds
    }
}

// === impl ErrorsFile ===

impl Decode for ErrorsFile {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        cx.members(node, &["error_contract"])?;
        let Some(inner) = node.get("error_contract") else {
            cx.problem(node.at, crate::problem::Code::MissingKey, "the key `error_contract` is missing");
            return None;
        };
        one_or_many(inner, cx).map(|error_contract| Self { error_contract })
    }
}
