//! `POST /webhooks`: registers a receiver of what happens from now on.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{WebhookId, happening::NewWebhook};
use serde::Deserialize;
use url::Url;
use utoipa::ToSchema;

use super::{WebhookView, answers_for};
use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::Json,
        rights::{May, Operate},
    },
};

/// A receiver.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// Where it listens: https, at a public address.
    pub url: String,
    /// Of which namespace it is told; left out, of all, for which the caller must reach all.
    pub namespace: Option<String>,
    /// You vouch for an inner address, and for plain http.
    #[serde(default)]
    pub allow_private: bool,
}

/// Register a receiver of events.
#[utoipa::path(
    post, path = "/webhooks", tag = "webhooks", request_body = WebhookBody,
    responses((status = 201, body = WebhookView), (status = "4XX", body = Problem))
)]
pub async fn add(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    Json(body): Json<WebhookBody>,
) -> Result<(StatusCode, axum::Json<WebhookView>), ApiError> {
    if !answers_for(&caller, body.namespace.as_deref()) {
        let namespace = body.namespace.as_deref().unwrap_or("*");
        return Err(ApiError::new(ErrorCode::Forbidden, format!("you do not reach namespace `{namespace}`")));
    }
    usable(&body.url, body.allow_private).map_err(|why| ApiError::new(ErrorCode::InvalidRequest, why))?;
    let WebhookBody { url, namespace, allow_private } = body;
    let new = NewWebhook { id: WebhookId(app.ids.next("webhook")), url, allow_private, namespace, by: caller.actor() };
    let hook = app.store.put_webhook(new).await?;
    app.committed();
    Ok((StatusCode::CREATED, axum::Json(WebhookView::of(&hook))))
}

/// What can be seen without asking a resolver; addresses are looked at again at each delivery.
fn usable(text: &str, allow_private: bool) -> Result<(), String> {
    let url = Url::parse(text).map_err(|error| format!("`url`: {error}"))?;
    let scheme = url.scheme();
    if scheme != "https" && !(allow_private && scheme == "http") {
        return Err(format!("`url` is `{scheme}:`; events are sent over https (or vouch with `allow_private`)"));
    }
    if url.host_str().is_none() || !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("`url` names a host, and neither user, password nor fragment".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::usable;

    #[test]
    fn events_go_over_https_unless_somebody_vouches() {
        assert!(usable("https://hooks.example/ostiary", false).is_ok());
        assert!(usable("http://hooks.example/ostiary", false).is_err());
        assert!(usable("http://127.0.0.1:9/", true).is_ok());
        for bad in ["file:///etc/passwd", "https://user:secret@hooks.example/", "hooks.example", "https://h/#x"] {
            assert!(usable(bad, true).is_err(), "{bad}");
        }
    }
}
