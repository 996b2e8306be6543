//! One JSON-RPC text of a server, read leniently: what is wrong with it is named beside what can be read.
//!
//! Four things look alike to a careless reader and are kept apart: no JSON at all (a banner on stdout), JSON that is no
//! message, a message with a flaw, and a message.

use std::fmt;

use ostiary_canon::json::{Limits, parse_strict};
use serde_json::Value;

use super::error::RpcError;

/// How a message is read: a page of ten thousand tools has several hundred thousand values.
const LIMITS: Limits = Limits::WIRE.with_values(1_000_000);

/// What a server said in one text: a body, the data of an event, a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// An answer to a request of ours.
    Response(Response),
    /// A request of the server's own; the stateless revisions forbid it.
    Request {
        /// Its id.
        id: Value,
        /// Its method.
        method: String,
        /// Its parameters, where there are any.
        params: Option<Value>,
    },
    /// A notification.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters, where there are any.
        params: Option<Value>,
    },
    /// JSON that is no message.
    Malformed {
        /// Why.
        why: String,
    },
    /// No JSON.
    Noise {
        /// Why it cannot be read.
        why: String,
    },
}

/// An answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The id that came back; `None` = no such member.
    pub id: Option<Value>,
    /// The result, or the error.
    pub outcome: Result<Value, RpcError>,
    /// What is wrong with the envelope, without making it unreadable.
    pub flaws: Vec<Flaw>,
}

/// What is wrong with an envelope that can still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flaw {
    /// `jsonrpc` is not the text `2.0`.
    Version,
    /// There is no `id`. Answers to requests that could not be read may lack it.
    IdMissing,
    /// `id` is neither a text nor a number.
    IdType,
    /// `error` is set beside `result`, as null or with a value.
    BothMembers,
}

// === impl Message ===

impl Message {
    /// Reads one text.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        match parse_strict(bytes, LIMITS) {
            Ok(value) => Self::of(value),
            // what serde reads is JSON, and breaks a rule that two readers could understand differently
            Err(error) if serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok() => {
                Self::Malformed { why: error.to_string() }
            }
            Err(error) => Self::Noise { why: error.to_string() },
        }
    }

    fn of(mut value: Value) -> Self {
        let malformed = |why: &str| Self::Malformed { why: why.to_owned() };
        let Some(members) = value.as_object_mut() else {
            return malformed(if value.is_array() { "a batch, which no revision in use allows" } else { "no object" });
        };
        let versioned = members.get("jsonrpc").is_some_and(|v| v == "2.0");
        let id = members.remove("id");
        if let Some(method) = members.get("method") {
            let Some(method) = method.as_str().map(str::to_owned) else { return malformed("`method` is no text") };
            if !versioned {
                return malformed("`jsonrpc` is not \"2.0\"");
            }
            let params = members.remove("params");
            return match id {
                None => Self::Notification { method, params },
                Some(id) => Self::Request { id, method, params },
            };
        }
        let (result, error) = (members.remove("result"), members.remove("error"));
        let mut flaws = Vec::new();
        let mut flaw = |is: bool, flaw: Flaw| flaws.extend(is.then_some(flaw));
        flaw(!versioned, Flaw::Version);
        flaw(id.is_none(), Flaw::IdMissing);
        let named = id.as_ref().is_none_or(|id| id.is_string() || id.is_number());
        let unread = id == Some(Value::Null) && error.is_some();
        flaw(!named && !unread, Flaw::IdType);
        flaw(result.is_some() && error.is_some(), Flaw::BothMembers);
        match (result, error) {
            (Some(result), None | Some(Value::Null)) => Self::Response(Response { id, outcome: Ok(result), flaws }),
            (_, Some(error)) => Self::Response(Response { id, outcome: Err(RpcError::of(&error)), flaws }),
            (None, None) => malformed("neither `method` nor `result` nor `error`"),
        }
    }

    /// What it is, in one word, for reports.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Response(_) => "response",
            Self::Request { .. } => "request",
            Self::Notification { .. } => "notification",
            Self::Malformed { .. } => "malformed",
            Self::Noise { .. } => "noise",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "`jsonrpc` is not \"2.0\"",
            Self::IdMissing => "`id` is missing",
            Self::IdType => "`id` is neither a text nor a number",
            Self::BothMembers => "`result` and `error` are both there",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> &'static str {
        Message::read(text.as_bytes()).kind()
    }

    fn flaws(text: &str) -> Vec<Flaw> {
        match Message::read(text.as_bytes()) {
            Message::Response(response) => response.flaws,
            other => panic!("{text} is a {}", other.kind()),
        }
    }

    #[test]
    fn the_five_kinds_are_told_apart() {
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "response");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#), "response");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "request");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#), "notification");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1}"#), "malformed");
        assert_eq!(kind(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#), "malformed");
        assert_eq!(kind(r#"{"a":1,"a":2}"#), "malformed");
        assert_eq!(kind("3"), "malformed");
        assert_eq!(kind("Server listening on stdio"), "noise");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"res"#), "noise");
        assert_eq!(kind(""), "noise");
    }

    #[test]
    fn flaws_do_not_hide_the_answer() {
        assert_eq!(flaws(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), []);
        assert_eq!(flaws(r#"{"id":1,"result":{}}"#), [Flaw::Version]);
        assert_eq!(flaws(r#"{"jsonrpc":"2.0","result":{}}"#), [Flaw::IdMissing]);
        assert_eq!(flaws(r#"{"jsonrpc":"2.0","id":null,"result":{}}"#), [Flaw::IdType]);
        assert_eq!(flaws(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#), []);
        assert_eq!(flaws(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#), [Flaw::BothMembers]);
    }
}
