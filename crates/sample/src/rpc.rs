//! JSON-RPC: the envelope in, results and errors out.

use serde_json::{Value, json};

use crate::lies::{Lie, Lies};

/// The domain of the errors that A2A itself names.
const A2A_DOMAIN: &str = "a2a-protocol.org";
/// The domain of this agent's own errors.
const OWN_DOMAIN: &str = "planning.example.test";

/// A well-formed request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Everything that can be answered instead of a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RpcError {
    #[error("Invalid JSON")]
    Parse,
    #[error("Invalid request")]
    InvalidRequest,
    #[error("Method not found")]
    MethodNotFound,
    #[error("Invalid parameters")]
    InvalidParams(Vec<Violation>),
    #[error("Internal error")]
    Internal,
    #[error("Task not found")]
    TaskNotFound,
    #[error("Task cannot be canceled")]
    TaskNotCancelable,
    #[error("Push notifications are not supported")]
    PushNotSupported,
    #[error("Operation is not supported: {0}")]
    Unsupported(&'static str),
    #[error("Content type is not supported; send one data part of application/json")]
    ContentType,
    #[error("Protocol version is not supported; send A2A-Version: 1.0")]
    Version,
    #[error("Authentication is required")]
    Unauthenticated,
    #[error("Permission is denied")]
    Forbidden,
}

/// One parameter that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) field: String,
    pub(crate) description: String,
}

// === impl Request ===

impl Request {
    /// Reads one request; a batch is none.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, RpcError> {
        let value: Value = serde_json::from_slice(body).map_err(|_| RpcError::Parse)?;
        let Value::Object(mut envelope) = value else { return Err(RpcError::InvalidRequest) };
        let mut take = |name: &str| envelope.remove(name).unwrap_or_default();
        let (version, id, method, params) = (take("jsonrpc"), take("id"), take("method"), take("params"));
        let id_ok = id.is_string() || id.is_i64() || id.is_u64();
        let params_ok = params.is_object() || params.is_null();
        match method {
            Value::String(method) if version == "2.0" && id_ok && params_ok => Ok(Self { id, method, params }),
            _ => Err(RpcError::InvalidRequest),
        }
    }
}

// === impl Violation ===

impl Violation {
    pub(crate) fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self { field: field.into(), description: description.into() }
    }
}

// === impl RpcError ===

impl RpcError {
    /// The error in its envelope.
    pub(crate) fn envelope(&self, id: &Value, lies: &Lies) -> Value {
        let mut data = self.details();
        if lies.tells(Lie::LeakStackTrace) {
            leak(&mut data);
        }
        let mut error = json!({"code": self.code(), "message": self.to_string()});
        if !data.is_empty() {
            error["data"] = Value::Array(data);
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    const fn code(&self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams(_) => -32602,
            Self::Internal => -32603,
            // the protocol names no code for these two; -32000 lies outside of its range
            Self::Unauthenticated | Self::Forbidden => -32000,
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotSupported => -32003,
            Self::Unsupported(_) => -32004,
            Self::ContentType => -32005,
            Self::Version => -32009,
        }
    }

    fn details(&self) -> Vec<Value> {
        match self {
            Self::Parse | Self::InvalidRequest | Self::MethodNotFound | Self::Internal => Vec::new(),
            Self::InvalidParams(violations) => {
                vec![bad_request(violations), error_info("INVALID_PARAMS", A2A_DOMAIN)]
            }
            Self::TaskNotFound => vec![error_info("TASK_NOT_FOUND", A2A_DOMAIN)],
            Self::TaskNotCancelable => vec![error_info("TASK_NOT_CANCELABLE", A2A_DOMAIN)],
            Self::PushNotSupported => vec![error_info("PUSH_NOTIFICATION_NOT_SUPPORTED", A2A_DOMAIN)],
            Self::Unsupported(_) => vec![error_info("UNSUPPORTED_OPERATION", A2A_DOMAIN)],
            Self::ContentType => vec![error_info("CONTENT_TYPE_NOT_SUPPORTED", A2A_DOMAIN)],
            Self::Version => vec![error_info("VERSION_NOT_SUPPORTED", A2A_DOMAIN)],
            Self::Unauthenticated => vec![error_info("UNAUTHENTICATED", OWN_DOMAIN)],
            Self::Forbidden => vec![error_info("PERMISSION_DENIED", OWN_DOMAIN)],
        }
    }
}

/// A result in its envelope.
pub(crate) fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error_info(reason: &str, domain: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": domain, "metadata": {}})
}

fn bad_request(violations: &[Violation]) -> Value {
    let fields: Vec<Value> =
        violations.iter().map(|v| json!({"field": v.field, "description": v.description})).collect();
    json!({"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": fields})
}

fn leak(data: &mut Vec<Value>) {
    data.push(json!({"@type": "type.googleapis.com/google.rpc.DebugInfo",
        "stack_trace": "thread 'planner' panicked at src/store.rs:112:9\n   0: planning::store::find\n             \
                        at /srv/planning/src/store.rs:112\n   1: planning::agent::get_task\n             \
                        at /srv/planning/src/agent.rs:88",
        "internal_host": "plan-db-01.internal:5432"}));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Request, RpcError};
    use crate::lies::{Lie, Lies};

    #[test]
    fn an_envelope_that_is_no_request_is_told_from_text_that_is_no_json() {
        assert_eq!(Request::parse(b"{"), Err(RpcError::Parse));
        for body in ["[]", "{}", r#"{"jsonrpc":"2.0","method":"GetTask"}"#, r#"{"id":1,"method":"GetTask"}"#] {
            assert_eq!(Request::parse(body.as_bytes()), Err(RpcError::InvalidRequest), "{body}");
        }
    }

    #[test]
    fn a_named_error_carries_its_code_and_reason() {
        let error = RpcError::TaskNotFound.envelope(&json!(7), &Lies::none());
        assert_eq!(error["id"], 7);
        assert_eq!(error["error"]["code"], -32001);
        assert_eq!(error["error"]["data"][0]["reason"], "TASK_NOT_FOUND");
    }

    #[test]
    fn only_the_liar_shows_its_insides() {
        let honest = RpcError::TaskNotFound.envelope(&Value::Null, &Lies::none()).to_string();
        let lying = RpcError::TaskNotFound.envelope(&Value::Null, &Lies::from(Lie::LeakStackTrace)).to_string();
        assert!(!honest.contains("stack_trace") && !honest.contains("internal"));
        assert!(lying.contains("stack_trace") && lying.contains("plan-db-01.internal"));
    }
}
