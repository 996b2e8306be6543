//! Which line answers which request: by the `id` of JSON-RPC, and by nothing else of it.

use serde::Deserialize;
use serde_json::Value;

/// What a line of ours waits for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Awaits {
    /// The answer with this id.
    Id(Value),
    /// An answer without id or with null: the line is no readable request.
    Unnamed,
    /// Nothing: a notification, or an answer of ours.
    Nothing,
}

/// The members of an envelope that decide; all else is passed over unread.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    #[serde(default)]
    method: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    result: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

// === impl Awaits ===

impl Awaits {
    /// What a line that we send waits for.
    pub(super) fn of(line: &[u8]) -> Self {
        let Ok(envelope) = serde_json::from_slice::<Envelope>(line) else { return Self::Unnamed };
        let answers = envelope.result.is_some() || envelope.error.is_some();
        match (envelope.method, envelope.id) {
            (Some(_), None) => Self::Nothing,
            (None, _) if answers => Self::Nothing,
            (_, Some(id)) if !id.is_null() => Self::Id(id),
            _ => Self::Unnamed,
        }
    }

    /// Whether a line of the process answers.
    pub(super) fn met_by(&self, answered: &Answered) -> bool {
        match (self, answered) {
            (Self::Id(Value::Number(a)), Answered::Id(Value::Number(b))) => a == b || a.as_f64() == b.as_f64(),
            (Self::Id(a), Answered::Id(b)) => a == b,
            (Self::Unnamed, Answered::Unnamed) => true,
            _ => false,
        }
    }
}

/// What a line of the process answers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answered {
    /// The request with this id.
    Id(Value),
    /// A request that could not be read.
    Unnamed,
    /// None: a request or notification of the process's own, or no message at all.
    Nothing,
}

// === impl Answered ===

impl Answered {
    pub(super) fn of(line: &[u8]) -> Self {
        let Ok(envelope) = serde_json::from_slice::<Envelope>(line) else { return Self::Nothing };
        match (envelope.method, envelope.id) {
            (Some(_), _) => Self::Nothing,
            (None, Some(id)) if !id.is_null() => Self::Id(id),
            (None, _) if envelope.error.is_some() => Self::Unnamed,
            _ => Self::Nothing,
        }
    }
}

/// Tells null from absent.
fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_waits_for_what_it_asked() {
        assert_eq!(Awaits::of(br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#), Awaits::Id(json!(1)));
        assert_eq!(Awaits::of(br#"{"jsonrpc":"2.0","method":"a"}"#), Awaits::Nothing);
        assert_eq!(Awaits::of(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Awaits::Nothing);
        assert_eq!(Awaits::of(br#"{"jsonrpc":"2.0","id":null,"method":"a"}"#), Awaits::Unnamed);
        assert_eq!(Awaits::of(b"{"), Awaits::Unnamed);
    }

    #[test]
    fn only_the_id_decides_who_is_answered() {
        let meets = |sent: &[u8], came: &[u8]| Awaits::of(sent).met_by(&Answered::of(came));
        let one = br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
        assert!(meets(one, br#"{"id":1,"result":{}}"#));
        assert!(meets(one, br#"{"id":1.0,"error":{}}"#));
        assert!(!meets(one, br#"{"id":"1","result":{}}"#));
        assert!(!meets(one, br#"{"id":1,"method":"roots/list"}"#), "a request of the server's own");
        assert!(!meets(one, b"listening"));
        assert!(meets(b"{", br#"{"id":null,"error":{}}"#));
        assert!(!meets(one, br#"{"id":null,"error":{}}"#));
    }
}
