//! `/forward-auth`: what gateways ask before they pass a request on; see `docs/gateways.md`.

use axum::{Extension, body::Body, extract::Request, response::Response};
use ostiary_pdp::forward_auth;

use crate::grpc::AdmissionApi;

/// Whether a gateway may pass a request on to the agent that its operator names in the query, or in `x-ostiary-…` headers.
/// The caller is a router.
#[utoipa::path(
    method(get, head, post, put, patch, delete), path = "/forward-auth", tag = "routers",
    params(
        ("agent" = Option<String>, Query, description = "`namespace/agent`; left out, it is denied"),
        ("version" = Option<String>, Query, description = "label; left out, it is denied"),
        ("card-digest" = Option<String>, Query, description = "of the card that the gateway's operator pinned; left out, it is denied"),
        ("profile" = Option<String>, Query, description = "what is spoken, to whom; left out, it is denied"),
        ("consumer" = Option<String>, Query, description = "on whose behalf"),
        ("interface" = Option<String>, Query, description = "URL of the interface"),
        ("cohort-key" = Option<String>, Query, description = "what a canary cohort is chosen by"),
        ("contract-digest" = Option<String>, Query, description = "compared when given"),
        ("producer-digest" = Option<String>, Query, description = "compared when given"),
        ("at-least-revision" = Option<u64>, Query, description = "a view that is no older than this"),
        ("headers" = Option<String>, Query, description = "which of these headers may say instead: names, `all` or `none`"),
    ),
    responses(
        (status = 200, description = "allowed; `x-ostiary-…` headers say what it rests on"),
        (status = 401, description = "the gateway's own token is missing or unknown"),
        (status = 403, description = "denied; `x-ostiary-reason` says why"),
        (status = 503, description = "nothing can be decided now"),
    )
)]
pub async fn forward_auth(Extension(admission): Extension<AdmissionApi>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    forward_auth::answer(&admission, &parts).await.map(Body::from)
}
