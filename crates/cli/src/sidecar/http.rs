//! What gateways and operators ask over HTTP: forward-auth, health, numbers.

use std::io;

use axum::{
    Router as Routes,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::{any, get},
};
use ostiary_pdp::forward_auth;
use tokio_util::sync::CancellationToken;

use super::{Answers, Socket};

/// Serves until `stop` fires, then finishes what is under way.
pub(crate) async fn serve(socket: Socket, answers: Answers, stop: CancellationToken) -> io::Result<()> {
    let routes = Routes::new()
        .route(forward_auth::PATH, any(forward))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(answers);
    match socket {
        Socket::Tcp(listener) => axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned()).await,
        Socket::Unix(listener, _path) => {
            axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned()).await
        }
    }
}

async fn forward(State(answers): State<Answers>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    forward_auth::answer(&answers, &parts).await.map(Body::from)
}

/// Whether questions are decided on the copy; if not, what is known about why.
async fn ready(State(answers): State<Answers>) -> Response {
    let status = answers.router().status();
    let code = if status.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, axum::Json(status)).into_response()
}

async fn metrics(State(answers): State<Answers>) -> Response {
    let text = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (text, answers.metrics()).into_response()
}
