//! What results say beside their payload: kind, cache hints, requests for input, and who a server says it is.

use serde_json::{Map, Value};

use super::{Revision, speech::META_SERVER};

/// What kind of result it is (2026-07-28).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// Said by nothing: complete, where an older server says it.
    Absent,
    /// `complete`.
    Complete,
    /// `input_required`: the same request is to be made again with answers.
    InputRequired,
    /// A value of an extension, such as `task`; of one that was not agreed on it is invalid.
    Other(String),
    /// No text.
    Invalid,
}

/// What a result says about its keeping (2026-07-28); each as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheHint {
    /// `ttlMs`: milliseconds.
    pub ttl_ms: Option<Value>,
    /// `cacheScope`: `public` = it may be served to other credentials, too.
    pub scope: Option<Value>,
}

/// What a server wants to know before it goes on (2026-07-28, multi round-trip requests).
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequired {
    /// Its questions by key.
    pub requests: Map<String, Value>,
    /// What it wants back unchanged.
    pub state: Option<String>,
}

/// What a server says about itself when a conversation begins: result of `initialize` or `server/discover`.
#[derive(Clone, Debug, PartialEq)]
pub struct Handshake {
    /// The revision that `initialize` settled on, or those that `server/discover` lists.
    pub versions: Vec<String>,
    /// `capabilities`, as they stand.
    pub capabilities: Option<Value>,
    /// `instructions`, as they stand.
    pub instructions: Option<Value>,
    /// Who the server says it is; never a ground for a decision.
    pub server_info: Option<Value>,
}

// === impl ResultType ===

impl ResultType {
    /// Reads it from a result.
    #[must_use]
    pub fn of(result: &Value) -> Self {
        match result.get("resultType") {
            None => Self::Absent,
            Some(Value::String(text)) => match text.as_str() {
                "complete" => Self::Complete,
                "input_required" => Self::InputRequired,
                other => Self::Other(other.to_owned()),
            },
            Some(_) => Self::Invalid,
        }
    }
}

// === impl CacheHint ===

impl CacheHint {
    /// Reads it from a result.
    #[must_use]
    pub fn of(result: &Value) -> Self {
        Self { ttl_ms: result.get("ttlMs").cloned(), scope: result.get("cacheScope").cloned() }
    }
}

// === impl InputRequired ===

impl InputRequired {
    /// Reads it from a result; `None` where the result asks for nothing.
    #[must_use]
    pub fn of(result: &Value) -> Option<Self> {
        if ResultType::of(result) != ResultType::InputRequired {
            return None;
        }
        let requests = result.get("inputRequests").and_then(Value::as_object).cloned().unwrap_or_default();
        let state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
        Some(Self { requests, state })
    }

    /// The parameters to ask again with: the same, with answers and the server's state.
    #[must_use]
    pub fn retry(&self, params: &Map<String, Value>, answers: Map<String, Value>) -> Map<String, Value> {
        let mut out = params.clone();
        if !answers.is_empty() {
            out.insert("inputResponses".to_owned(), Value::Object(answers));
        }
        out.extend(self.state.clone().map(|state| ("requestState".to_owned(), Value::String(state))));
        out
    }
}

// === impl Handshake ===

impl Handshake {
    /// Reads the result of `initialize`, or of `server/discover` in the stateless revisions.
    #[must_use]
    pub fn of(result: &Value, revision: Revision) -> Self {
        let text = |v: &Value| v.as_str().map(str::to_owned);
        let (versions, server_info) = if revision.is_stateless() {
            let list = result.get("supportedVersions").and_then(Value::as_array);
            let info = result.get("_meta").and_then(|m| m.get(META_SERVER));
            (list.into_iter().flatten().filter_map(text).collect(), info)
        } else {
            (result.get("protocolVersion").and_then(text).into_iter().collect(), result.get("serverInfo"))
        };
        Self {
            versions,
            capabilities: result.get("capabilities").cloned(),
            instructions: result.get("instructions").cloned(),
            server_info: server_info.cloned(),
        }
    }

    /// Whether a capability is declared: `tools`, `resources`.
    #[must_use]
    pub fn declares(&self, capability: &str) -> bool {
        self.capabilities.as_ref().and_then(|c| c.get(capability)).is_some_and(|v| !v.is_null())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_of_results_are_told_apart() {
        assert_eq!(ResultType::of(&json!({})), ResultType::Absent);
        assert_eq!(ResultType::of(&json!({"resultType": "complete"})), ResultType::Complete);
        assert_eq!(ResultType::of(&json!({"resultType": "task"})), ResultType::Other("task".to_owned()));
        assert_eq!(ResultType::of(&json!({"resultType": null})), ResultType::Invalid);
        let hint = CacheHint::of(&json!({"ttlMs": null}));
        assert_eq!((hint.ttl_ms, hint.scope), (Some(Value::Null), None), "null is not absent");
    }

    #[test]
    fn a_question_is_answered_in_the_same_request() {
        let result = json!({"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}},
            "requestState": "s"});
        let asked = InputRequired::of(&result).expect("a question");
        let params = json!({"name": "t"}).as_object().cloned().expect("an object");
        let answers = json!({"a": {"action": "decline"}}).as_object().cloned().expect("an object");
        let expect = json!({"name": "t", "inputResponses": {"a": {"action": "decline"}}, "requestState": "s"});
        assert_eq!(Value::Object(asked.retry(&params, answers)), expect);
        assert_eq!(InputRequired::of(&json!({"inputRequests": {}})), None);
    }

    #[test]
    fn both_handshakes_are_read() {
        let old = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}});
        let old = Handshake::of(&old, Revision::V2025_11_25);
        assert_eq!((old.versions.as_slice(), old.declares("tools")), (&["2025-06-18".to_owned()][..], true));
        let new =
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {}, "_meta": {META_SERVER: {"name": "s"}}});
        let new = Handshake::of(&new, Revision::V2026_07_28);
        assert_eq!(
            (new.versions.len(), new.declares("tools"), new.server_info),
            (1, false, Some(json!({"name": "s"})))
        );
    }
}
