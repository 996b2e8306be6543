//! Errors: what was meant, by reason first and code second (§5.4), and whether the shape is the binding's (E-01, E-02).

use serde_json::Value;

pub mod shape;
pub mod table;

pub use shape::{ShapeGrade, ShapeProblem};
pub use table::{ErrorKind, ErrorRow, TABLE, row};

/// An error as it came over a binding.
#[derive(Clone, Debug, PartialEq)]
pub struct A2aError {
    /// The HTTP status it came with.
    pub http_status: Option<u16>,
    /// The JSON-RPC code.
    pub code: Option<i64>,
    /// The message, for people only: nothing is decided by it.
    pub message: Option<String>,
    /// `data` (JSON-RPC) or `details` (HTTP+JSON), as on the wire.
    pub details: Option<Value>,
    /// The whole error object; `None` when the HTTP status is all there is.
    pub object: Option<Value>,
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
        Self { http_status: Some(status), code: None, message: None, details: None, object: None }
    }

    /// What was meant: the reason of `ErrorInfo`, else the JSON-RPC code, else HTTP 401 and 403.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        let by_reason = self.reason().and_then(table::by_reason);
        let by_code = || self.code.and_then(table::by_code);
        by_reason.or_else(by_code).or_else(|| self.http_status.and_then(table::by_auth_status))
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
        let code = match (self.code, self.http_status) {
            (Some(code), _) => code.to_string(),
            (None, Some(status)) => format!("HTTP {status}"),
            (None, None) => "no code".to_owned(),
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
        A2aError { http_status: Some(200), code: Some(code), message: None, details, object: None }
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
}
