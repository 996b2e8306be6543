//! JSON-RPC errors of MCP servers, and what their codes mean in each revision.

use serde_json::Value;

use super::Revision;

/// An error object as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Its code, where it is a whole number.
    pub code: Option<i64>,
    /// Its text, where it is one.
    pub message: Option<String>,
    /// Its data; `Some(Null)` where it is null.
    pub data: Option<Value>,
    /// All of it, whatever it is.
    pub object: Value,
}

/// What an error code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// −32700: no JSON.
    Parse,
    /// −32600: no valid request.
    InvalidRequest,
    /// −32601: no such method, or one behind a capability that is not declared.
    MethodNotFound,
    /// −32602: wrong parameters; an unknown tool, a bad cursor.
    InvalidParams,
    /// −32603: something unexpected inside of the server.
    Internal,
    /// −32002: no such resource, before 2026-07-28.
    ResourceNotFound,
    /// −32042: the user must visit an address first, in 2025-11-25.
    UrlElicitationRequired,
    /// −32020: header fields and body disagree, in 2026-07-28.
    HeaderMismatch,
    /// −32021: the request needs a client capability that it does not declare, in 2026-07-28.
    CapabilityRequired,
    /// −32022: the server does not implement the revision, in 2026-07-28.
    VersionUnsupported,
    /// −32001, −32003, −32004: what betas of 2026-07-28 sent for the three above.
    Draft,
    /// −32000 to −32019: nothing that all servers mean alike; must not be interpreted.
    Legacy,
    /// A code that the revision keeps for itself or has withdrawn: no server may send it.
    Reserved,
    /// Outside of what JSON-RPC reserves: the server's own.
    Application,
    /// There is no code that is a whole number.
    Missing,
}

// === impl RpcError ===

impl RpcError {
    /// Reads an error object, whatever its members are.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        Self {
            code: object.get("code").and_then(Value::as_i64),
            message: object.get("message").and_then(Value::as_str).map(str::to_owned),
            data: object.get("data").cloned(),
            object: object.clone(),
        }
    }

    /// What its code means by a revision.
    #[must_use]
    pub fn class(&self, revision: Revision) -> ErrorClass {
        self.code.map_or(ErrorClass::Missing, |code| ErrorClass::of(code, revision))
    }

    /// Whether only a server of the stateless revisions says this: it knows the request's form and refuses what is in it.
    /// Codes alone decide, since texts are free; an unsupported version must also say what is supported.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        let named = |member: &str| self.data.as_ref().and_then(|d| d.get(member)).is_some();
        match self.class(Revision::V2026_07_28) {
            ErrorClass::HeaderMismatch | ErrorClass::CapabilityRequired | ErrorClass::VersionUnsupported => true,
            // a beta's code is any other server's code as well; its data tells
            ErrorClass::Draft => named("supported") && named("requested"),
            _ => false,
        }
    }

    /// The revisions that an unsupported version's error names.
    #[must_use]
    pub fn supported(&self) -> Vec<String> {
        let list = self.data.as_ref().and_then(|d| d.get("supported")).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

// === impl ErrorClass ===

impl ErrorClass {
    /// What a code means by a revision.
    #[must_use]
    pub fn of(code: i64, revision: Revision) -> Self {
        let stateless = revision.is_stateless();
        match code {
            -32700 => Self::Parse,
            -32600 => Self::InvalidRequest,
            -32601 => Self::MethodNotFound,
            -32602 => Self::InvalidParams,
            -32603 => Self::Internal,
            -32002 if !stateless => Self::ResourceNotFound,
            -32042 if revision == Revision::V2025_11_25 => Self::UrlElicitationRequired,
            -32002 | -32042 if stateless => Self::Reserved,
            -32020 if stateless => Self::HeaderMismatch,
            -32021 if stateless => Self::CapabilityRequired,
            -32022 if stateless => Self::VersionUnsupported,
            -32001 | -32003 | -32004 if stateless => Self::Draft,
            -32019..=-32000 => Self::Legacy,
            -32099..=-32020 if stateless => Self::Reserved,
            -32768..=-32020 => Self::Legacy,
            _ => Self::Application,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_code_means_what_its_revision_says() {
        let (old, mid, new) = (Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28);
        let check =
            |code: i64, revision, expect| assert_eq!(ErrorClass::of(code, revision), expect, "{code} {revision}");
        for revision in Revision::ALL {
            check(-32601, revision, ErrorClass::MethodNotFound);
            check(-32000, revision, ErrorClass::Legacy);
            check(7, revision, ErrorClass::Application);
        }
        check(-32002, old, ErrorClass::ResourceNotFound);
        check(-32002, new, ErrorClass::Reserved);
        check(-32042, old, ErrorClass::Legacy);
        check(-32042, mid, ErrorClass::UrlElicitationRequired);
        check(-32042, new, ErrorClass::Reserved);
        check(-32020, mid, ErrorClass::Legacy);
        check(-32020, new, ErrorClass::HeaderMismatch);
        check(-32050, new, ErrorClass::Reserved);
        check(-32004, new, ErrorClass::Draft);
    }

    #[test]
    fn only_what_no_older_server_says_shows_a_modern_one() {
        let error = |object: Value| RpcError::of(&object);
        assert!(error(json!({"code": -32022, "data": {"supported": ["2026-07-28"]}})).is_modern());
        assert!(!error(json!({"code": -32601})).is_modern());
        assert!(!error(json!({"code": -32004})).is_modern(), "any server's own code");
        assert!(error(json!({"code": -32004, "data": {"supported": [], "requested": "x"}})).is_modern());
        assert!(!error(json!({"code": "-32022"})).is_modern(), "no code");
        assert_eq!(error(json!({"data": {"supported": ["a", 1]}})).supported(), ["a"]);
    }
}
