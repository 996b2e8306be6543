//! What handlers take from a request: names out of the path, strict JSON, an idempotency key.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Path, RawPathParams, Request},
    http::{HeaderMap, header, request::Parts},
};
use bytes::BytesMut;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ostiary_canon::{AgentId, Digest, VersionLabel, json};
use ostiary_domain::ports::Idempotency;
use serde::de::DeserializeOwned;

use crate::{
    app::App,
    auth::Caller,
    error::{ApiError, ErrorCode},
};

/// A JSON body: strict, bounded, without members that the endpoint does not know.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// The agent of a path `…/agents/{namespace}/{agent}/…`.
#[derive(Debug)]
pub struct AgentPath(pub AgentId);

/// The version of a path `…/agents/{namespace}/{agent}/versions/{version}/…`.
#[derive(Debug)]
pub struct VersionPath {
    /// The agent.
    pub agent: AgentId,
    /// The version's label.
    pub label: VersionLabel,
}

/// A version and one more name of a path `…/versions/{version}/<kind>/{name}/…`.
#[derive(Debug)]
pub struct VersionPartPath {
    /// The agent.
    pub agent: AgentId,
    /// The version's label.
    pub label: VersionLabel,
    /// The name of the gate or hold.
    pub part: String,
}

/// The last name of a path.
#[derive(Debug)]
pub struct Named(pub String);

/// The caller's own name for a request that creates something; the same key gives the same answer (header
/// `Idempotency-Key`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(pub Option<String>);

/// Longest idempotency key: fits a UUID with a prefix, and an index row.
const MAX_KEY: usize = 128;

/// Deepest nesting of a request's JSON; ours have three levels.
const MAX_DEPTH: u8 = 16;

// === impl Json ===

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            let message = "send the body as `Content-Type: application/json`";
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        let bytes = collect(request.into_body(), app.config.http.body_bytes).await?;
        parse(&bytes).map(Self)
    }
}

/// How slowly a body may come.
#[derive(Clone, Copy)]
struct Pace {
    /// Longest silence, and the time that every body has at least.
    silence: Duration,
    /// Bytes a second, on average after that.
    rate: f64,
}

/// Slower than any line in use, and too fast for whoever wants to hold many connections with little effort.
const PACE: Pace = Pace { silence: Duration::from_secs(30), rate: 16.0 * 1024.0 };

/// The whole body, at most `limit` bytes of it.
///
/// # Errors
/// `TOO_LARGE` beyond the limit, `TOO_SLOW` when it drips, `INVALID_REQUEST` when the caller breaks off.
pub async fn collect(body: Body, limit: usize) -> Result<Bytes, ApiError> {
    collect_at(body, limit, PACE).await
}

async fn collect_at(body: Body, limit: usize, pace: Pace) -> Result<Bytes, ApiError> {
    let slow = || {
        let message = format!("the body must come at {} bytes a second or faster", pace.rate);
        ApiError::new(ErrorCode::TooSlow, message)
    };
    let mut body = std::pin::pin!(Limited::new(body, limit));
    let mut whole = BytesMut::new();
    let mut deadline = std::pin::pin!(tokio::time::sleep(pace.silence));
    loop {
        let frame = tokio::select! {
            frame = tokio::time::timeout(pace.silence, body.frame()) => frame.map_err(|_| slow())?,
            () = deadline.as_mut() => return Err(slow()),
        };
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let Ok(data) = frame.map_err(|error| unread(error, limit))?.into_data() else { continue };
        // what has come buys time for the rest
        let bought = Duration::from_secs_f64(data.len() as f64 / pace.rate);
        let until = deadline.deadline() + bought;
        deadline.as_mut().reset(until);
        whole.extend_from_slice(&data);
    }
}

fn unread(error: Box<dyn std::error::Error + Send + Sync>, limit: usize) -> ApiError {
    if error.downcast_ref::<LengthLimitError>().is_some() {
        return ApiError::new(ErrorCode::TooLarge, format!("the body has more than the {limit} bytes that are taken"));
    }
    ApiError::new(ErrorCode::InvalidRequest, "the body could not be read").because(error)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let limits =
        json::Limits { bytes: usize::MAX, depth: MAX_DEPTH, integers: json::Integers::Double, values: u32::MAX };
    let value = json::parse_strict(bytes, limits).map_err(|error| {
        ApiError::new(ErrorCode::InvalidRequest, format!("the body is no acceptable JSON: {error}"))
    })?;
    serde_json::from_value(value)
        .map_err(|error| ApiError::new(ErrorCode::InvalidRequest, format!("the body does not fit: {error}")))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

// === impl AgentPath ===

impl FromRequestParts<Arc<App>> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let named: Names = names(parts, app).await?;
        named.agent().map(Self)
    }
}

// === impl VersionPath ===

impl FromRequestParts<Arc<App>> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let named: Names = names(parts, app).await?;
        let label = named.version.as_deref().unwrap_or_default();
        let label = label.parse().map_err(|error| ApiError::new(ErrorCode::InvalidRequest, format!("{error}")))?;
        Ok(Self { agent: named.agent()?, label })
    }
}

#[derive(serde::Deserialize)]
struct Names {
    namespace: String,
    agent: String,
    version: Option<String>,
}

impl Names {
    fn agent(&self) -> Result<AgentId, ApiError> {
        AgentId::new(&self.namespace, &self.agent)
            .map_err(|error| ApiError::new(ErrorCode::InvalidRequest, error.to_string()))
    }
}

async fn names<T: DeserializeOwned + Send>(parts: &mut Parts, app: &Arc<App>) -> Result<T, ApiError> {
    let Path(named) = Path::<T>::from_request_parts(parts, app)
        .await
        .map_err(|error| ApiError::new(ErrorCode::InvalidRequest, error.body_text()))?;
    Ok(named)
}

// === impl VersionPartPath ===

impl FromRequestParts<Arc<App>> for VersionPartPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let VersionPath { agent, label } = VersionPath::from_request_parts(parts, app).await?;
        let Named(part) = Named::from_request_parts(parts, app).await?;
        Ok(Self { agent, label, part })
    }
}

// === impl Named ===

impl FromRequestParts<Arc<App>> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|error| ApiError::new(ErrorCode::InvalidRequest, error.body_text()))?;
        let last = params.iter().last().map(|(_, text)| text.to_owned());
        last.map(Self).ok_or_else(|| ApiError::not_found("this path"))
    }
}

// === impl IdempotencyKey ===

impl IdempotencyKey {
    /// The key as the store knows it: one caller's keys never meet another's, and the digest tells whether the same key
    /// comes with another request.
    #[must_use]
    pub fn bound(self, caller: &Caller, request: &impl serde::Serialize) -> Option<Idempotency> {
        let key = format!("{}:{}", caller.name(), self.0?);
        let bytes = serde_json::to_vec(request).unwrap_or_default();
        Some(Idempotency { key, request: Digest::of(&bytes) })
    }
}

impl FromRequestParts<Arc<App>> for IdempotencyKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, ApiError> {
        let Some(field) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let key = field.to_str().unwrap_or_default().trim_matches('"');
        if key.is_empty() || key.len() > MAX_KEY {
            let message = format!("`Idempotency-Key` must be 1 to {MAX_KEY} printable ASCII characters");
            return Err(ApiError::new(ErrorCode::InvalidRequest, message));
        }
        Ok(Self(Some(key.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use axum::body::{Body, Bytes};
    use futures::{StreamExt as _, stream};

    use super::{Pace, collect_at};
    use crate::error::ErrorCode;

    const PACE: Pace = Pace { silence: Duration::from_millis(100), rate: 1_000_000.0 };

    fn byte() -> Result<Bytes, Infallible> {
        Ok(Bytes::from_static(b"x"))
    }

    /// A byte now and then, without end.
    fn dripping() -> Body {
        Body::from_stream(stream::repeat_with(byte).then(|byte| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            byte
        }))
    }

    async fn code(body: Body) -> Result<Bytes, ErrorCode> {
        let collected = tokio::time::timeout(Duration::from_secs(20), collect_at(body, 1 << 20, PACE));
        collected.await.expect("it is given up").map_err(|error| error.code())
    }

    #[tokio::test]
    async fn body_that_drips_or_stops_is_given_up() {
        assert_eq!(code(dripping()).await, Err(ErrorCode::TooSlow));
        let stopped = Body::from_stream(stream::iter([byte()]).chain(stream::pending()));
        assert_eq!(code(stopped).await, Err(ErrorCode::TooSlow));
    }

    #[tokio::test]
    async fn body_that_comes_is_taken_up_to_its_bound() {
        let three = Body::from_stream(stream::repeat_with(byte).take(3));
        assert_eq!(code(three).await, Ok(Bytes::from_static(b"xxx")));
        assert_eq!(code(Body::from(vec![0; 1 << 20])).await.map(|bytes| bytes.len()), Ok(1 << 20));
        assert_eq!(code(Body::from(vec![0; (1 << 20) + 1])).await, Err(ErrorCode::TooLarge));
    }
}
