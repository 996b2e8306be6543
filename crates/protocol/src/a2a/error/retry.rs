//! Whether an error says that the same request may be sent again. Only what machines read counts: details and statuses.

use serde_json::Value;

use super::{A2aError, ErrorKind};

/// What an error says about sending the same request again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryClass {
    /// It may succeed later.
    Later,
    /// It will not succeed.
    Never,
    /// Nothing: something broke, and nobody knows whether it will again.
    Unsaid,
}

/// The detail by which an error says when to send the same request again.
pub const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

// === impl A2aError ===

impl A2aError {
    /// What it says about sending the same request again: by `RetryInfo`, else by its gRPC status (as google.rpc.Code
    /// explains them), else by its HTTP status (RFC 9110, RFC 6585), else by what was meant.
    #[must_use]
    pub fn retry_class(&self) -> RetryClass {
        let details = self.details.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if details.iter().any(|d| d.get("@type").is_some_and(|t| t == RETRY_INFO)) {
            return RetryClass::Later;
        }
        if let Some(status) = self.status.as_deref() {
            return match status {
                "UNAVAILABLE" | "ABORTED" | "RESOURCE_EXHAUSTED" | "DEADLINE_EXCEEDED" => RetryClass::Later,
                "INTERNAL" | "UNKNOWN" | "DATA_LOSS" | "CANCELLED" => RetryClass::Unsaid,
                _ => RetryClass::Never,
            };
        }
        match self.http_status {
            Some(408 | 425 | 429 | 502 | 503 | 504) => RetryClass::Later,
            Some(400..=499) => RetryClass::Never,
            _ => match self.kind() {
                None | Some(ErrorKind::Internal | ErrorKind::InvalidAgentResponse) => RetryClass::Unsaid,
                Some(_) => RetryClass::Never,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(http_status: Option<u16>, status: Option<&str>, code: Option<i64>) -> A2aError {
        A2aError { http_status, status: status.map(str::to_owned), code, ..A2aError::of_status(0) }
    }

    #[test]
    fn each_binding_says_it_its_own_way() {
        use RetryClass::{Later, Never, Unsaid};
        assert_eq!(error(Some(200), None, Some(-32001)).retry_class(), Never);
        assert_eq!(error(Some(200), None, Some(-32603)).retry_class(), Unsaid);
        assert_eq!(error(Some(503), None, Some(-32001)).retry_class(), Later);
        assert_eq!(error(Some(404), Some("NOT_FOUND"), None).retry_class(), Never);
        assert_eq!(error(None, Some("UNAVAILABLE"), None).retry_class(), Later);
        assert_eq!(error(None, Some("UNKNOWN"), None).retry_class(), Unsaid);
        assert_eq!(error(Some(500), None, None).retry_class(), Unsaid);
        let details = Some(json!([{"@type": RETRY_INFO, "retryDelay": "1s"}]));
        assert_eq!(A2aError { details, ..error(Some(200), None, Some(-32001)) }.retry_class(), Later);
    }
}
