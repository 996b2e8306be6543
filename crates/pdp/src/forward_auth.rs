//! HTTP forward-auth: a gateway (nginx `auth_request`, Traefik `ForwardAuth`, Caddy `forward_auth`, Envoy's `ext_authz`
//! over HTTP) asks with a request of its own before it passes a client's request on.
//!
//! The question comes from the query of the URL, which the gateway's operator wrote, and from `x-ostiary-…` headers; see
//! `docs/gateways.md`. 200 lets the request pass, 403 refuses, 401 says that the gateway's own token is missing or
//! unknown, 503 that nothing can be decided now. Whoever gets anything but 200, or nothing, refuses.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header, request::Parts};
use ostiary_proto::admission::v1::{CheckAdmissionRequest, admission_service_server::AdmissionService};
use tonic::{Code, Status, metadata::MetadataMap};

use crate::gateway::{
    answer::{self, Answer, PROBLEM_JSON},
    question::{self, Field, Heard, Layer, Unclear},
};

/// The path that gateways ask at.
pub const PATH: &str = "/forward-auth";

/// How long a client waits before it tries again what cannot be decided now, in seconds: a heartbeat is due within two.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

/// Answers one request, by whatever answers routers: the same callers may ask, and the same leases hold.
pub async fn answer<S: AdmissionService>(admissions: &S, asking: &Parts) -> Response<String> {
    let asked = match question(asking) {
        Ok(asked) => asked,
        Err(unclear) => return respond(&Answer::unclear(&unclear)),
    };
    let mut request = tonic::Request::new(asked.clone());
    *request.metadata_mut() = credential(&asking.headers);
    match admissions.check_admission(request).await {
        Ok(decided) => respond(&Answer::of(&asked, decided.get_ref())),
        Err(status) => undecided(&status),
    }
}

/// The caller's own credential and nothing else of what came.
fn credential(headers: &HeaderMap) -> MetadataMap {
    let mut kept = HeaderMap::new();
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        kept.insert(header::AUTHORIZATION, value.clone());
    }
    MetadataMap::from_headers(kept)
}

fn question(asking: &Parts) -> Result<CheckAdmissionRequest, Unclear> {
    let mut configured = Layer::default();
    for (name, value) in url::form_urlencoded::parse(asking.uri.query().unwrap_or_default().as_bytes()) {
        configured.say(&name, &value)?;
    }
    question::question(vec![configured], heard(&asking.headers))
}

fn heard(headers: &HeaderMap) -> Vec<Heard> {
    let of = |field: Field| headers.get_all(field.header()).into_iter().map(move |value| (field, text(value)));
    Field::ALL.into_iter().flat_map(of).collect()
}

fn text(value: &HeaderValue) -> Option<String> {
    value.to_str().ok().map(str::to_owned)
}

fn respond(answer: &Answer) -> Response<String> {
    let mut response = match &answer.problem {
        None => with_status(answer.status, String::new()),
        Some(problem) => refusal(answer.status, problem),
    };
    for (name, value) in &answer.facts {
        let name = http::HeaderName::try_from(format!("x-ostiary-{name}")).expect("facts have names of headers");
        // what cannot stand in a header is left out of it; status and reason always can
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// An error is not a decision. It is told as what it is, and refuses.
fn undecided(status: &Status) -> Response<String> {
    let (code, http) = match status.code() {
        Code::Unauthenticated => ("UNAUTHENTICATED", StatusCode::UNAUTHORIZED),
        Code::PermissionDenied => ("FORBIDDEN", StatusCode::FORBIDDEN),
        _ => ("UNAVAILABLE", StatusCode::SERVICE_UNAVAILABLE),
    };
    let problem = answer::problem(code, "The gateway's question could not be decided", http, status.message());
    let mut response = refusal(http, &problem);
    if http == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn refusal(status: StatusCode, problem: &serde_json::Value) -> Response<String> {
    let mut response = with_status(status, problem.to_string());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
    }
    response
}

fn with_status(status: StatusCode, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // an answer holds for this one request
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests;
