//! The HTTP API. One endpoint is one file: its types, its handler, its OpenAPI entry.
//!
//! A route and its entry in the OpenAPI document are registered together, so that neither can be forgotten. Errors are
//! problem details everywhere, also where no route matches.

pub mod acts;
pub mod agents;
pub mod approvals;
pub mod audit;
pub mod bundles;
pub mod drift;
pub mod environments;
pub mod events;
pub mod evidence;
pub mod extract;
pub mod forward_auth;
pub mod gates;
pub mod health;
pub mod holds;
pub mod keys;
pub mod listen;
pub mod metrics;
pub mod model;
pub mod namespaces;
pub mod page;
pub mod policies;
pub mod problems;
pub mod revisions;
pub mod rights;
pub mod versions;
pub mod waivers;
pub mod webhooks;

use std::sync::Arc;

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    middleware::{self, Next},
    response::Response,
};
use tracing::Instrument as _;
use utoipa::{
    OpenApi,
    openapi::{
        OpenApi as Document,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    error::{ApiError, ErrorCode},
};

/// The frame of the OpenAPI document; paths and schemas come from the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Ostiary",
        version = "1",
        description = "Admission of agent versions on evidence. Every answer to a change names the revision at which it \
                       holds; a router that asks for at least that revision cannot see the time before it.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    security(("token" = [])),
    modifiers(&Token)
)]
struct Frame;

struct Token;

impl utoipa::Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A token of this server.")).build();
        document.components.get_or_insert_default().add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Prefix of everything that is versioned.
const API: &str = "/api/v1";

/// All routes over an app.
pub fn router(app: Arc<App>) -> Router {
    let (routes, _) = routes_and_document();
    routes
        .fallback(|| async { ApiError::not_found("this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(ErrorCode::MethodNotAllowed, "this path does not take that method")
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), observe))
        .with_state(app)
}

/// The OpenAPI document of all routes.
#[must_use]
pub fn document() -> Document {
    routes_and_document().1
}

fn routes_and_document() -> (Router<Arc<App>>, Document) {
    OpenApiRouter::with_openapi(Frame::openapi())
        .nest(API, registry().merge(lifecycle()).merge(proof()))
        .merge(operations())
        .split_for_parts()
}

fn registry() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(namespaces::list::list))
        .routes(routes!(namespaces::put::put))
        .routes(routes!(agents::list::list))
        .routes(routes!(agents::put::put, agents::get::get))
        .routes(routes!(environments::list::list))
        .routes(routes!(environments::put::put, environments::get::get))
        .routes(routes!(bundles::upload::upload))
        .routes(routes!(policies::current::current, policies::put::put))
        .routes(routes!(policies::get::get))
}

fn lifecycle() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(versions::submit::submit, versions::list::list))
        .routes(routes!(versions::status::status))
        .routes(routes!(versions::explain::explain))
        .routes(routes!(versions::manifest::manifest))
        .routes(routes!(versions::bundle::bundle))
        .routes(routes!(gates::list::list))
        .routes(routes!(gates::request::request))
        .routes(routes!(acts::verify::verify))
        .routes(routes!(acts::promote::promote))
        .routes(routes!(acts::withdraw::withdraw))
        .routes(routes!(acts::quarantine::quarantine))
        .routes(routes!(acts::release::release))
        .routes(routes!(acts::deprecate::deprecate))
        .routes(routes!(acts::rollback::rollback))
        .routes(routes!(acts::abort_canary::abort_canary))
        .routes(routes!(approvals::give::give, approvals::list::list))
        .routes(routes!(waivers::request::request, waivers::list::list))
        .routes(routes!(waivers::get::get))
        .routes(routes!(waivers::grant::grant))
        .routes(routes!(waivers::revoke::revoke))
        .routes(routes!(holds::set::set, holds::list::list))
        .routes(routes!(holds::lift::lift))
        .routes(routes!(revisions::applied::applied))
}

fn proof() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(evidence::list::list))
        .routes(routes!(evidence::get::get))
        .routes(routes!(evidence::envelope::envelope))
        .routes(routes!(evidence::report::report))
        .routes(routes!(evidence::run::run))
        .routes(routes!(evidence::vsa::vsa))
        .routes(routes!(drift::reports::reports))
        .routes(routes!(drift::outcomes::outcomes))
        .routes(routes!(events::list::list))
        .routes(routes!(webhooks::add::add, webhooks::list::list))
        .routes(routes!(webhooks::remove::remove))
        .routes(routes!(webhooks::dead::dead))
        .routes(routes!(audit::list::list))
        .routes(routes!(audit::verify::verify))
}

fn operations() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
        .routes(routes!(keys::keys))
        .routes(routes!(forward_auth::forward_auth))
}

/// Counts and logs each answer under the route's template; names no token, no body.
async fn observe(State(app): State<Arc<App>>, route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let method = method(request.method());
    let route = route.as_ref().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("http", method, route);
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    app.metrics.answered(method, status);
    span.in_scope(|| tracing::debug!(status, "answered"));
    response
}

/// The method as a label of bounded variety.
fn method(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        _ => "other",
    }
}
