//! The one error of the API, and how it looks over HTTP and over gRPC.
//!
//! A refusal to admit is no error, it is a decision. An error says that a request was not carried out. Both mappings
//! are exhaustive and stand side by side, so that a new code cannot be forgotten in one of them.

mod store;

use std::{borrow::Cow, error::Error as StdError, fmt};

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

/// Why a request was not carried out; the text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorCode {
    /// No credential, or one that nobody issued.
    Unauthenticated,
    /// The caller's roles do not cover this.
    Forbidden,
    /// No such thing, or none that the caller may know of.
    NotFound,
    /// The path exists and the method does not.
    MethodNotAllowed,
    /// The request does not parse or contradicts itself.
    InvalidRequest,
    /// The contract bundle has problems; all of them are listed.
    InvalidBundle,
    /// The contract bundle names another agent as its producer.
    AgentMismatch,
    /// The body came too slowly, or not at all.
    TooSlow,
    /// The body is larger than this endpoint takes.
    TooLarge,
    /// It exists already, with other content.
    AlreadyExists,
    /// The lifecycle has no such step from where the version is.
    IllegalTransition,
    /// Something the step rests on is missing: evidence, an approval, a digest.
    NotReady,
    /// Somebody else changed it in between.
    Conflict,
    /// The key of an earlier request, with another request.
    IdempotencyMismatch,
    /// One's own submission cannot be approved.
    OwnSubmission,
    /// The lease on a run is lost.
    LeaseLost,
    /// As many of these exist as may; something must go first.
    LimitReached,
    /// The database or object store cannot be used now.
    Unavailable,
    /// Our fault; details are in the log only.
    Internal,
}

/// An error with what the caller may read and what only the log may hold.
#[derive(Debug)]
pub struct ApiError {
    code: ErrorCode,
    message: Cow<'static, str>,
    problems: Vec<ProblemItem>,
    context: Option<Box<dyn StdError + Send + Sync>>,
}

/// One of several things that are wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemItem {
    /// File of a bundle, or name of a field.
    pub file: String,
    /// Line, from 1, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column, from 1, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Stable code.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Problem details of RFC 9457, as every error of the HTTP API looks.
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// A name of the kind of problem; not an address.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words; the same for every occurrence.
    pub title: &'static str,
    /// The HTTP status again.
    pub status: u16,
    /// Stable code for programs.
    pub code: &'static str,
    /// This occurrence, in words.
    pub detail: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Everything that is wrong, where it is more than one thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemItem>,
}

/// Media type of problem details.
pub const PROBLEM_JSON: &str = "application/problem+json";

// === impl ErrorCode ===

impl ErrorCode {
    /// All codes.
    pub const ALL: [Self; 19] = [
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::InvalidRequest,
        Self::InvalidBundle,
        Self::AgentMismatch,
        Self::TooSlow,
        Self::TooLarge,
        Self::AlreadyExists,
        Self::IllegalTransition,
        Self::NotReady,
        Self::Conflict,
        Self::IdempotencyMismatch,
        Self::OwnSubmission,
        Self::LeaseLost,
        Self::LimitReached,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The stable text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::InvalidBundle => "INVALID_BUNDLE",
            Self::AgentMismatch => "AGENT_MISMATCH",
            Self::TooSlow => "TOO_SLOW",
            Self::TooLarge => "TOO_LARGE",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::IllegalTransition => "ILLEGAL_TRANSITION",
            Self::NotReady => "NOT_READY",
            Self::Conflict => "CONFLICT",
            Self::IdempotencyMismatch => "IDEMPOTENCY_MISMATCH",
            Self::OwnSubmission => "OWN_SUBMISSION",
            Self::LeaseLost => "LEASE_LOST",
            Self::LimitReached => "LIMIT_REACHED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    /// The kind of problem in words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Unauthenticated => "Credential missing or unknown",
            Self::Forbidden => "Not allowed for this caller",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "Method not allowed",
            Self::InvalidRequest => "Request is not valid",
            Self::InvalidBundle => "Contract bundle is not valid",
            Self::AgentMismatch => "Contract bundle is another agent's",
            Self::TooSlow => "Request came too slowly",
            Self::TooLarge => "Request is too large",
            Self::AlreadyExists => "Exists already with other content",
            Self::IllegalTransition => "No such step from this state",
            Self::NotReady => "What this step rests on is missing",
            Self::Conflict => "Changed by somebody else in between",
            Self::IdempotencyMismatch => "Idempotency key was used for another request",
            Self::OwnSubmission => "Own submission cannot be approved",
            Self::LeaseLost => "Lease is lost",
            Self::LimitReached => "As many exist as may",
            Self::Unavailable => "Not available now",
            Self::Internal => "Internal error",
        }
    }

    /// Over HTTP.
    #[must_use]
    pub const fn http(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::OwnSubmission | Self::LimitReached => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::InvalidBundle | Self::AgentMismatch | Self::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::AlreadyExists | Self::IllegalTransition | Self::NotReady | Self::Conflict | Self::LeaseLost => {
                StatusCode::CONFLICT
            }
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Over gRPC.
    #[must_use]
    pub const fn grpc(self) -> tonic::Code {
        match self {
            Self::Unauthenticated => tonic::Code::Unauthenticated,
            Self::Forbidden | Self::OwnSubmission => tonic::Code::PermissionDenied,
            Self::NotFound => tonic::Code::NotFound,
            Self::MethodNotAllowed => tonic::Code::Unimplemented,
            Self::InvalidRequest | Self::InvalidBundle | Self::AgentMismatch | Self::IdempotencyMismatch => {
                tonic::Code::InvalidArgument
            }
            Self::TooSlow => tonic::Code::DeadlineExceeded,
            Self::TooLarge => tonic::Code::OutOfRange,
            Self::AlreadyExists => tonic::Code::AlreadyExists,
            Self::IllegalTransition | Self::NotReady | Self::LeaseLost => tonic::Code::FailedPrecondition,
            Self::Conflict => tonic::Code::Aborted,
            Self::LimitReached => tonic::Code::ResourceExhausted,
            Self::Unavailable => tonic::Code::Unavailable,
            Self::Internal => tonic::Code::Internal,
        }
    }

    /// Whether the same request may succeed later without anybody changing it.
    #[must_use]
    pub const fn retryable(self) -> bool {
        match self {
            Self::Unavailable | Self::Conflict | Self::TooSlow => true,
            Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::MethodNotAllowed
            | Self::InvalidRequest
            | Self::InvalidBundle
            | Self::AgentMismatch
            | Self::TooLarge
            | Self::AlreadyExists
            | Self::IllegalTransition
            | Self::NotReady
            | Self::IdempotencyMismatch
            | Self::OwnSubmission
            | Self::LeaseLost
            | Self::LimitReached
            | Self::Internal => false,
        }
    }
}

// === impl ApiError ===

impl ApiError {
    /// An error that the caller may read.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), problems: Vec::new(), context: None }
    }

    /// An error of ours: the caller learns that it happened, the log learns what.
    pub fn internal(context: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorCode::Internal, "the request could not be carried out; the server's log says why")
            .because(context)
    }

    /// No such thing, or none that the caller may know of: both look the same.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("{what} does not exist"))
    }

    /// Adds what only the log may hold.
    #[must_use]
    pub fn because(mut self, context: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// Adds a list of everything that is wrong.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<ProblemItem>) -> Self {
        self.problems = problems;
        self
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// The public message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    fn log(&self) {
        match (&self.context, self.code) {
            (Some(context), ErrorCode::Internal | ErrorCode::Unavailable) => {
                tracing::error!(code = self.code.as_str(), error = %chain(&**context), "request failed");
            }
            (Some(context), _) => {
                tracing::info!(code = self.code.as_str(), error = %chain(&**context), "request refused");
            }
            (None, _) => tracing::debug!(code = self.code.as_str(), message = %self.message, "request refused"),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl StdError for ApiError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.context.as_deref().map(|error| error as &(dyn StdError + 'static))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let status = self.code.http();
        let body = Problem {
            kind: format!("urn:ostiary:problem:{}", self.code.as_str()),
            title: self.code.title(),
            status: status.as_u16(),
            code: self.code.as_str(),
            detail: self.message.into_owned(),
            retryable: self.code.retryable(),
            problems: self.problems,
        };
        let mut response = (status, axum::Json(body)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if self.code == ErrorCode::Unauthenticated {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<ApiError> for tonic::Status {
    fn from(error: ApiError) -> Self {
        error.log();
        Self::new(error.code.grpc(), format!("{}: {}", error.code.as_str(), error.message))
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_each_code_once() {
        let names: std::collections::BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn every_code_is_an_error_on_both_wires() {
        for code in ErrorCode::ALL {
            assert!(code.http().is_client_error() || code.http().is_server_error(), "{}", code.as_str());
            assert_ne!(code.grpc(), tonic::Code::Ok, "{}", code.as_str());
        }
    }

    #[test]
    fn private_context_reaches_neither_wire() {
        let error = || ApiError::internal("dsn=postgres://user:secret@db");
        let status = tonic::Status::from(error());
        assert!(!status.message().contains("secret"));
        assert!(!error().to_string().contains("secret"));
        assert_eq!(error().into_response().status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn problem_is_served_as_problem_json() {
        let response = ApiError::not_found("version `1.0.0`").into_response();
        assert_eq!(response.headers()[header::CONTENT_TYPE], PROBLEM_JSON);
    }
}
