//! How decisions look in HTTP.

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use ostiary_admission::{Decision, DecisionReason, Outcome};
use serde_json::json;

use super::Checked;
use crate::{
    dispatch::{Question, Revoked},
    router::CouldNotDecide,
};

/// What all headers of ours begin with; the same names as the gateways' answers have.
const PREFIX: &str = "x-ostiary-";

/// A denial. One that passes by itself, because the copy is behind, is "could not decide".
pub(super) fn denied<R>(question: &Question, decision: &Decision) -> Response<Checked<R>> {
    let passing = matches!(decision.reason, DecisionReason::ViewStale | DecisionReason::RevisionNotReached);
    let status = if passing { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::FORBIDDEN };
    problem(status, question, decision, "Dispatch refused")
}

pub(super) fn could_not_decide<R>(question: &Question, error: &CouldNotDecide) -> Response<Checked<R>> {
    problem(StatusCode::SERVICE_UNAVAILABLE, question, &error.local, "Could not decide")
}

/// The version was taken off the road before the agent answered.
pub(super) fn severed<R>(question: &Question, revoked: &Revoked) -> Response<Checked<R>> {
    problem(StatusCode::SERVICE_UNAVAILABLE, question, &revoked.decision, "Dispatch cut")
}

/// Takes off what only we may say.
pub(super) fn unmarked(headers: &mut HeaderMap) {
    let ours: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    ours.into_iter().for_each(|name| drop(headers.remove(name)));
}

/// Says the decision; what the agent said in our name is taken off.
pub(super) fn marked(headers: &mut HeaderMap, decision: &Decision) {
    unmarked(headers);
    let outcome = if decision.outcome == Outcome::Allow { "ALLOW" } else { "DENY" };
    headers.insert(HeaderName::from_static("x-ostiary-decision"), HeaderValue::from_static(outcome));
    let reason = HeaderValue::from_static(decision.reason.as_str());
    headers.insert(HeaderName::from_static("x-ostiary-reason"), reason);
    let revision = HeaderValue::from(decision.revision.0);
    headers.insert(HeaderName::from_static("x-ostiary-revision"), revision);
    if let Some(would) = decision.would_deny {
        let would = HeaderValue::from_static(would.as_str());
        headers.insert(HeaderName::from_static("x-ostiary-would-deny"), would);
    }
    if let Some(Ok(digest)) = decision.evidence_digest.map(|digest| HeaderValue::try_from(digest.to_string())) {
        headers.insert(HeaderName::from_static("x-ostiary-evidence-digest"), digest);
    }
}

fn problem<R>(status: StatusCode, question: &Question, decision: &Decision, title: &str) -> Response<Checked<R>> {
    let reason = decision.reason.as_str();
    let document = json!({
        "type": "about:blank",
        "title": title,
        "status": status.as_u16(),
        "detail": format!("`{}` in version `{}` is not to be called: {reason}", question.agent, question.version),
        "code": reason,
        "revision": decision.revision,
    });
    let mut response = Response::new(Checked::whole(document.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    marked(headers, decision);
    response
}
