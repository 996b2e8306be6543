//! Errors: what was meant, by reason first and code second (§5.4), and whether the shape is the binding's (E-01, E-02).

use serde_json::Value;

use crate::a2a::binding::Binding;

pub mod retry;
pub mod shape;
pub mod table;

pub use retry::{RETRY_INFO, RetryClass};
pub use shape::{ShapeGrade, ShapeProblem};
pub use table::{ErrorKind, ErrorRow, TABLE, row};

/// An error as it came over a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct A2aError {
    /// The HTTP status it came with, where the binding tells errors by it or nothing else came.
    pub http_status: Option<u16>,
    /// The name of its gRPC status: of the call (gRPC), or as the error object says it (HTTP+JSON).
    pub status: Option<String>,
    /// The JSON-RPC code.
    pub code: Option<i64>,
    /// The message, for people only: nothing is decided by it.
    pub message: Option<String>,
    /// `data` (JSON-RPC) or `details` (HTTP+JSON), as on the wire.
    pub details: Option<Value>,
    /// The whole error object; `None` when the HTTP status is all there is.
    pub object: Option<Value>,
}

/// Which of the two published mappings of §5.4 a status follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// They agree on this error.
    Both,
    /// That of 1.0.0.
    V1_0_0,
    /// That of 1.0.1.
    V1_0_1,
    /// None of them.
    Neither,
}

/// The `@type` of the details object that names the reason.
pub const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
/// The domain that the reasons of A2A stand in.
pub const ERROR_DOMAIN: &str = "a2a-protocol.org";

// === impl A2aError ===

impl A2aError {
    /// An error that the HTTP status alone says.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        Self { http_status: Some(status), status: None, code: None, message: None, details: None, object: None }
    }

    /// What was meant: the reason of `ErrorInfo`, else the JSON-RPC code, else a status that only one error has.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        let by_reason = self.reason().and_then(table::by_reason);
        let by_code = || self.code.and_then(table::by_code);
        let by_name = || self.status.as_deref().and_then(table::by_status_name);
        by_reason.or_else(by_code).or_else(by_name).or_else(|| self.http_status.and_then(table::by_auth_status))
    }

    /// Whether it can mean `kind`: by reason or code where it has one of the table, else by a status that several errors
    /// share. A status alone refuses, and is too little to tell one of them from another.
    #[must_use]
    pub fn may_mean(&self, kind: ErrorKind) -> bool {
        if let Some(known) = self.kind() {
            return known == kind;
        }
        let row = row(kind);
        let named = self.status.as_deref().is_some_and(|name| row.grpc.contains(&name));
        named
            || (self.status.is_none() && self.code.is_none() && self.http_status.is_some_and(|s| row.http.contains(&s)))
    }

    /// Which published mapping the status follows, for an error that is known; `None` where the binding has no status or
    /// the specification tables none for it.
    #[must_use]
    pub fn mapping(&self, binding: &Binding) -> Option<Mapping> {
        let row = row(self.kind().filter(|k| k.is_a2a())?);
        let [old, new] = match binding {
            Binding::HttpJson => self.http_status.map(|s| row.http.map(|r| r == s))?,
            Binding::Grpc => self.status.as_deref().map(|s| row.grpc.map(|r| r == s))?,
            Binding::JsonRpc | Binding::Custom(_) => return None,
        };
        Some(match (old, new) {
            (true, true) => Mapping::Both,
            (true, false) => Mapping::V1_0_0,
            (false, true) => Mapping::V1_0_1,
            (false, false) => Mapping::Neither,
        })
    }

    /// The reason of the first `ErrorInfo` of A2A's domain, or of any without a domain.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let info = self.error_infos().find(|i| i.get("domain").is_none_or(|d| d == ERROR_DOMAIN))?;
        info.get("reason").and_then(Value::as_str)
    }

    /// Whether a reason and a code of the table are there and mean different errors.
    #[must_use]
    pub fn contradicts_itself(&self) -> bool {
        let reason = self.reason().and_then(table::by_reason);
        let code = self.code.and_then(table::by_code);
        matches!((reason, code), (Some(r), Some(c)) if r != c)
    }

    /// How it is named in reports: `-32004 (UnsupportedOperationError)`, `HTTP 401`.
    #[must_use]
    pub fn label(&self) -> String {
        let code = match (self.code, self.http_status, &self.status) {
            (Some(code), ..) => code.to_string(),
            (None, Some(status), _) => format!("HTTP {status}"),
            (None, None, Some(status)) => status.clone(),
            (None, None, None) => "no code".to_owned(),
        };
        match self.kind() {
            Some(kind) => format!("{code} ({})", kind.name()),
            None => format!("{code} (no error of the specification)"),
        }
    }

    /// The details objects that are `ErrorInfo`.
    pub fn error_infos(&self) -> impl Iterator<Item = &Value> {
        let all = self.details.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|d| d.get("@type").is_some_and(|t| t == ERROR_INFO))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(code: i64, details: Option<Value>) -> A2aError {
        A2aError { http_status: Some(200), status: None, code: Some(code), message: None, details, object: None }
    }

    #[test]
    fn the_reason_wins_over_the_code() {
        let info = json!([{"@type": ERROR_INFO, "reason": "UNSUPPORTED_OPERATION", "domain": ERROR_DOMAIN}]);
        let odd = error(-32602, Some(info));
        assert_eq!(odd.kind(), Some(ErrorKind::UnsupportedOperation));
        assert!(odd.contradicts_itself());
        assert_eq!(error(-32004, None).kind(), Some(ErrorKind::UnsupportedOperation));
        assert_eq!(error(-32050, None).kind(), None);
    }

    #[test]
    fn a_reason_of_another_domain_is_not_ours() {
        let info = json!([{"@type": ERROR_INFO, "reason": "TASK_NOT_FOUND", "domain": "example.org"}]);
        assert_eq!(error(-32004, Some(info)).kind(), Some(ErrorKind::UnsupportedOperation));
    }

    #[test]
    fn http_says_who_was_not_let_in() {
        assert_eq!(A2aError::of_status(401).kind(), Some(ErrorKind::Unauthenticated));
        assert_eq!(A2aError::of_status(403).kind(), Some(ErrorKind::Forbidden));
        assert_eq!(A2aError::of_status(404).kind(), None, "five errors share a status, so the status tells none");
    }

    #[test]
    fn a_shared_status_leaves_open_which_error_it_is() {
        let named =
            |status: &str| A2aError { http_status: None, status: Some(status.into()), ..A2aError::of_status(0) };
        let open = named("FAILED_PRECONDITION");
        assert_eq!(open.kind(), None);
        assert!(open.may_mean(ErrorKind::UnsupportedOperation) && open.may_mean(ErrorKind::TaskNotCancelable));
        assert!(!open.may_mean(ErrorKind::TaskNotFound));
        assert!(named("UNIMPLEMENTED").may_mean(ErrorKind::UnsupportedOperation), "that is the mapping of 1.0.0");
        assert_eq!(named("NOT_FOUND").kind(), Some(ErrorKind::TaskNotFound));
        assert_eq!(named("UNAUTHENTICATED").kind(), Some(ErrorKind::Unauthenticated));
        assert!(A2aError::of_status(409).may_mean(ErrorKind::TaskNotCancelable));
        assert!(!error(-32601, None).may_mean(ErrorKind::TaskNotFound), "a code that is known is believed");
    }

    #[test]
    fn both_mappings_are_told_apart() {
        let info = |reason: &str| Some(json!([{"@type": ERROR_INFO, "reason": reason, "domain": ERROR_DOMAIN}]));
        let with = |status: u16, name: &str, reason: &str| A2aError {
            details: info(reason),
            status: Some(name.into()),
            ..A2aError::of_status(status)
        };
        let rest = |status, reason| with(status, "X", reason).mapping(&Binding::HttpJson);
        assert_eq!(rest(409, "TASK_NOT_CANCELABLE"), Some(Mapping::V1_0_0));
        assert_eq!(rest(400, "TASK_NOT_CANCELABLE"), Some(Mapping::V1_0_1));
        assert_eq!(rest(404, "TASK_NOT_FOUND"), Some(Mapping::Both));
        assert_eq!(rest(500, "TASK_NOT_FOUND"), Some(Mapping::Neither));
        assert_eq!(rest(422, "INVALID_PARAMS"), None, "the specification tables no status for it");
        let grpc = |name| with(200, name, "UNSUPPORTED_OPERATION").mapping(&Binding::Grpc);
        assert_eq!(grpc("UNIMPLEMENTED"), Some(Mapping::V1_0_0));
        assert_eq!(grpc("FAILED_PRECONDITION"), Some(Mapping::V1_0_1));
        assert_eq!(error(-32004, None).mapping(&Binding::JsonRpc), None);
    }
}
