//! Both published mappings of §5.4: 1.0.0 and 1.0.1 differ in six rows and cannot be told apart on the wire, so either
//! column is correct.

/// The errors of the specification, and those of the bindings under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// No such task, or none that the caller may see.
    TaskNotFound,
    /// The task's state does not allow to cancel it.
    TaskNotCancelable,
    /// Push is not supported.
    PushNotificationNotSupported,
    /// The operation, or this use of it, is not supported.
    UnsupportedOperation,
    /// A part's media type is not accepted.
    ContentTypeNotSupported,
    /// The agent answered with something else than the specification allows.
    InvalidAgentResponse,
    /// The extended card is declared and not there.
    ExtendedAgentCardNotConfigured,
    /// A required extension was not named by the caller.
    ExtensionSupportRequired,
    /// The protocol version is not supported.
    VersionNotSupported,
    /// The body is no JSON.
    Parse,
    /// The envelope is wrong.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters are wrong.
    InvalidParams,
    /// Something broke inside.
    Internal,
    /// No credential, or none that counts.
    Unauthenticated,
    /// Known, and not allowed.
    Forbidden,
}

/// One row of the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// The error.
    pub kind: ErrorKind,
    /// Its name in the specification.
    pub name: &'static str,
    /// Its reason in `ErrorInfo`: the specification's, or the official SDK's where that gives none.
    pub reason: Option<&'static str>,
    /// Its JSON-RPC code; `None` = the specification gives none.
    pub jsonrpc: Option<i64>,
    /// gRPC status names in 1.0.0 and 1.0.1.
    pub grpc: [&'static str; 2],
    /// HTTP statuses in 1.0.0 and 1.0.1.
    pub http: [u16; 2],
}

const fn new(
    kind: ErrorKind,
    names: (&'static str, Option<&'static str>),
    jsonrpc: Option<i64>,
    grpc: [&'static str; 2],
    http: [u16; 2],
) -> ErrorRow {
    ErrorRow { kind, name: names.0, reason: names.1, jsonrpc, grpc, http }
}

const PRECONDITION: [&str; 2] = ["FAILED_PRECONDITION"; 2];
const WAS_UNIMPLEMENTED: [&str; 2] = ["UNIMPLEMENTED", "FAILED_PRECONDITION"];
const ARGUMENT: [&str; 2] = ["INVALID_ARGUMENT"; 2];

/// The mapping, one row an error.
#[rustfmt::skip]
pub const TABLE: [ErrorRow; 16] = {
    use ErrorKind as K;
    [
        new(K::TaskNotFound, ("TaskNotFoundError", Some("TASK_NOT_FOUND")), Some(-32001), ["NOT_FOUND"; 2], [404, 404]),
        new(K::TaskNotCancelable, ("TaskNotCancelableError", Some("TASK_NOT_CANCELABLE")), Some(-32002), PRECONDITION, [409, 400]),
        new(K::PushNotificationNotSupported, ("PushNotificationNotSupportedError", Some("PUSH_NOTIFICATION_NOT_SUPPORTED")), Some(-32003), WAS_UNIMPLEMENTED, [400, 400]),
        new(K::UnsupportedOperation, ("UnsupportedOperationError", Some("UNSUPPORTED_OPERATION")), Some(-32004), WAS_UNIMPLEMENTED, [400, 400]),
        new(K::ContentTypeNotSupported, ("ContentTypeNotSupportedError", Some("CONTENT_TYPE_NOT_SUPPORTED")), Some(-32005), ARGUMENT, [415, 400]),
        new(K::InvalidAgentResponse, ("InvalidAgentResponseError", Some("INVALID_AGENT_RESPONSE")), Some(-32006), ["INTERNAL"; 2], [502, 500]),
        new(K::ExtendedAgentCardNotConfigured, ("ExtendedAgentCardNotConfiguredError", Some("EXTENDED_AGENT_CARD_NOT_CONFIGURED")), Some(-32007), PRECONDITION, [400, 400]),
        new(K::ExtensionSupportRequired, ("ExtensionSupportRequiredError", Some("EXTENSION_SUPPORT_REQUIRED")), Some(-32008), PRECONDITION, [400, 400]),
        new(K::VersionNotSupported, ("VersionNotSupportedError", Some("VERSION_NOT_SUPPORTED")), Some(-32009), WAS_UNIMPLEMENTED, [400, 400]),
        new(K::Parse, ("JSONParseError", None), Some(-32700), ARGUMENT, [400, 400]),
        new(K::InvalidRequest, ("InvalidRequestError", Some("INVALID_REQUEST")), Some(-32600), ARGUMENT, [400, 400]),
        new(K::MethodNotFound, ("MethodNotFoundError", Some("METHOD_NOT_FOUND")), Some(-32601), ["UNIMPLEMENTED"; 2], [404, 404]),
        new(K::InvalidParams, ("InvalidParamsError", Some("INVALID_PARAMS")), Some(-32602), ARGUMENT, [400, 400]),
        new(K::Internal, ("InternalError", None), Some(-32603), ["INTERNAL"; 2], [500, 500]),
        new(K::Unauthenticated, ("authentication failure", None), None, ["UNAUTHENTICATED"; 2], [401, 401]),
        new(K::Forbidden, ("authorization failure", None), None, ["PERMISSION_DENIED"; 2], [403, 403]),
    ]
};

// === impl ErrorKind ===

impl ErrorKind {
    /// Its name in the specification.
    #[must_use]
    pub const fn name(self) -> &'static str {
        row(self).name
    }

    /// Whether the error is A2A's own (-32001…-32099), which carries `ErrorInfo`.
    #[must_use]
    pub const fn is_a2a(self) -> bool {
        matches!(row(self).jsonrpc, Some(code) if code <= -32001 && code >= -32099)
    }

    /// The error of that name, as contracts write it: `UnsupportedOperationError`, with or without `Error`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let bare = |n: &'static str| n.strip_suffix("Error").unwrap_or(n);
        let wanted = name.strip_suffix("Error").unwrap_or(name);
        TABLE.iter().find(|r| bare(r.name) == wanted).map(|r| r.kind)
    }
}

/// The row of an error.
#[must_use]
pub const fn row(kind: ErrorKind) -> &'static ErrorRow {
    &TABLE[kind as usize]
}

/// The error of a reason. `UNSUPPORTED_CONTENT_TYPE` is what an official SDK sends for the content-type error.
#[must_use]
pub fn by_reason(reason: &str) -> Option<ErrorKind> {
    if reason == "UNSUPPORTED_CONTENT_TYPE" {
        return Some(ErrorKind::ContentTypeNotSupported);
    }
    TABLE.iter().find(|r| r.reason == Some(reason)).map(|r| r.kind)
}

/// The error of a JSON-RPC code.
#[must_use]
pub fn by_code(code: i64) -> Option<ErrorKind> {
    TABLE.iter().find(|r| r.jsonrpc == Some(code)).map(|r| r.kind)
}

/// The error that HTTP 401 and 403 say without further words; no other status tells one error.
#[must_use]
pub const fn by_auth_status(status: u16) -> Option<ErrorKind> {
    match status {
        401 => Some(ErrorKind::Unauthenticated),
        403 => Some(ErrorKind::Forbidden),
        _ => None,
    }
}

/// The error of a gRPC status that no other error has.
#[must_use]
pub fn by_status_name(name: &str) -> Option<ErrorKind> {
    match name {
        "NOT_FOUND" => Some(ErrorKind::TaskNotFound),
        "UNAUTHENTICATED" => Some(ErrorKind::Unauthenticated),
        "PERMISSION_DENIED" => Some(ErrorKind::Forbidden),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_at_the_number_of_their_error() {
        for (n, row) in TABLE.iter().enumerate() {
            assert_eq!(row.kind as usize, n, "{}", row.name);
        }
    }

    #[test]
    fn codes_and_reasons_name_one_error_each() {
        for row in &TABLE {
            if let Some(code) = row.jsonrpc {
                assert_eq!(by_code(code), Some(row.kind));
            }
            if let Some(reason) = row.reason {
                assert_eq!(by_reason(reason), Some(row.kind));
            }
        }
        let own: Vec<_> = TABLE.iter().filter(|r| r.kind.is_a2a()).collect();
        assert_eq!(own.len(), 9);
        let differing = own.iter().filter(|r| r.grpc[0] != r.grpc[1] || r.http[0] != r.http[1]).count();
        assert_eq!(differing, 6, "1.0.1 changed six rows");
    }

    #[test]
    fn contracts_name_errors_with_or_without_the_ending() {
        assert_eq!(ErrorKind::named("UnsupportedOperationError"), Some(ErrorKind::UnsupportedOperation));
        assert_eq!(ErrorKind::named("TaskNotFound"), Some(ErrorKind::TaskNotFound));
        assert_eq!(ErrorKind::named("Nonsense"), None);
    }
}
