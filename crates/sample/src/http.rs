//! The HTTP face: the card at its well-known address, and one JSON-RPC endpoint.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Query, State},
    response::{IntoResponse as _, Response},
    routing,
};
use bytes::Bytes;
use futures::StreamExt as _;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    agent::{Agent, Events, Reply},
    clock,
    lies::Lie,
    rpc::{self, Request, RpcError},
    token::{Caller, Refused},
    work::is_json,
};

/// The one protocol version of the one interface.
const PROTOCOL_VERSION: &str = "1.0";
/// Largest request: a work request of 200 items is far below.
const MAX_BODY: usize = 1 << 20;

#[derive(Deserialize)]
struct VersionQuery {
    #[serde(rename = "A2A-Version")]
    version: Option<String>,
}

pub(crate) fn router(agent: Arc<Agent>) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", routing::get(card))
        .route("/a2a", routing::post(call))
        .route("/a2a/", routing::post(call))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(agent)
}

async fn card(State(agent): State<Arc<Agent>>, headers: HeaderMap) -> Response {
    let served = agent.card.served(&agent.switches.get());
    let caching = [(header::ETAG, served.etag.clone()), (header::CACHE_CONTROL, "public, max-age=60".to_owned())];
    if headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag.as_bytes() == served.etag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    (caching, [(header::CONTENT_TYPE, "application/json")], served.bytes).into_response()
}

async fn call(
    State(agent): State<Arc<Agent>>,
    Query(query): Query<VersionQuery>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let caller = match authenticate(&agent, &headers) {
        Ok(caller) => caller,
        Err(refused) => return challenge(&agent, refused),
    };
    let request = Request::parse(&body);
    let id = request.as_ref().map_or(Value::Null, |request| request.id.clone());
    let answered = match check_head(&agent, query.version.as_deref(), &headers).and(request) {
        Ok(request) => serve(&agent, caller, request).await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(Reply::Result(result)) => answer(StatusCode::OK, &rpc::result(&id, &result)),
        Ok(Reply::Stream(events)) => event_stream(id, events),
        Err(error) => refuse(&agent, &id, &error),
    }
}

/// Serves a call to its end, whether or not its caller stays: a store that is left in the middle of a statement drops its
/// one connection, and with the in-memory store that is everything.
async fn serve(agent: &Arc<Agent>, caller: Caller, request: Request) -> Result<Reply, RpcError> {
    if agent.switches.tells(Lie::CancelWithCaller) {
        return agent.call(&caller, &request).await;
    }
    let own = Arc::clone(agent);
    let serving = agent.tasks.spawn(async move { own.call(&caller, &request).await });
    serving.await.unwrap_or(Err(RpcError::Internal))
}

fn authenticate(agent: &Agent, headers: &HeaderMap) -> Result<Caller, Refused> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let judged = agent.trust.judge(authorization, &agent.switches.get(), clock::now());
    if agent.switches.tells(Lie::RememberTokens) { agent.taken.again(authorization, judged) } else { judged }
}

fn check_head(agent: &Agent, query: Option<&str>, headers: &HeaderMap) -> Result<(), RpcError> {
    let field = headers.get("a2a-version").map(|value| value.to_str().unwrap_or_default());
    if !field.or(query).is_some_and(is_spoken) && !agent.switches.tells(Lie::AcceptAnyVersion) {
        return Err(RpcError::Version);
    }
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(is_json) { Ok(()) } else { Err(RpcError::ContentType) }
}

/// Whether a version is ours; its patch number is not looked at (A2A 1.0 §3.6).
fn is_spoken(version: &str) -> bool {
    let Some(rest) = version.strip_prefix(PROTOCOL_VERSION) else { return false };
    let is_patch = |patch: &str| !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit());
    rest.is_empty() || rest.strip_prefix('.').is_some_and(is_patch)
}

fn challenge(agent: &Agent, refused: Refused) -> Response {
    tracing::debug!(reason = %refused, "a caller was turned away");
    let challenge = match refused {
        Refused::Missing => r#"Bearer realm="planning""#,
        _ => r#"Bearer realm="planning", error="invalid_token""#,
    };
    let mut response = refuse(agent, &Value::Null, &RpcError::Unauthenticated);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, http::HeaderValue::from_static(challenge));
    response
}

fn refuse(agent: &Agent, id: &Value, error: &RpcError) -> Response {
    let status = match error {
        RpcError::Unauthenticated => StatusCode::UNAUTHORIZED,
        RpcError::Forbidden => StatusCode::FORBIDDEN,
        _ => StatusCode::OK,
    };
    answer(status, &error.envelope(id, &agent.switches.get()))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn event_stream(id: Value, events: Events) -> Response {
    let frames =
        events.map(move |event| Ok::<_, std::convert::Infallible>(format!("data: {}\n\n", rpc::result(&id, &event))));
    let head = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (head, Body::from_stream(frames)).into_response()
}
