//! `POST /webhooks`: registers a receiver of what happens from now on.

use std::{net::IpAddr, sync::Arc};

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{WebhookId, happening::NewWebhook};
use ostiary_drivers::{AddressGuard, Authority};
use serde::{Deserialize, Serialize};
use url::{Host, Url};
use utoipa::ToSchema;

use super::{WebhookView, answers_for};
use crate::{
    app::App,
    auth::Act,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::{IdempotencyKey, Json},
        rights::{May, Operate},
    },
};

/// A receiver.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookBody {
    /// Where it listens: https, at a public address.
    pub url: String,
    /// Of which namespace it is told; left out, of all, for which the caller must reach all.
    pub namespace: Option<String>,
    /// You vouch for an inner address, and for plain http: an administrator's to say.
    #[serde(default)]
    pub allow_private: bool,
}

/// Most receivers of one namespace, and of all namespaces: each is told of everything, so each costs.
const MOST: usize = 20;

/// Register a receiver of events.
#[utoipa::path(
    post, path = "/webhooks", tag = "webhooks", request_body = WebhookBody,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    responses((status = 201, body = WebhookView), (status = "4XX", body = Problem))
)]
pub async fn add(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    key: IdempotencyKey,
    Json(body): Json<WebhookBody>,
) -> Result<(StatusCode, axum::Json<WebhookView>), ApiError> {
    if !answers_for(&caller, body.namespace.as_deref()) {
        let namespace = body.namespace.as_deref().unwrap_or("*");
        return Err(ApiError::new(ErrorCode::Forbidden, format!("you do not reach namespace `{namespace}`")));
    }
    // whoever lowers the guard on addresses makes the server post into its own network
    if body.allow_private && !caller.may(Act::Administer) {
        let why = "`allow_private` is an administrator's to say; without it, events go to public addresses over https";
        return Err(ApiError::new(ErrorCode::Forbidden, why));
    }
    usable(&body.url, body.allow_private).map_err(|why| ApiError::new(ErrorCode::InvalidRequest, why))?;
    let idempotency = key.bound(&caller, &("webhook", &body));
    let WebhookBody { url, namespace, allow_private } = body;
    let (id, by) = (WebhookId(app.ids.next("webhook")), caller.actor());
    let new = NewWebhook { id, url, allow_private, namespace, by, most: MOST, idempotency };
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
    reachable(&url, allow_private)
}

/// Judges an address that the URL spells out, as the guard will at each delivery.
fn reachable(url: &Url, allow_private: bool) -> Result<(), String> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    let guard = AddressGuard::public_only();
    let guard = if allow_private { guard.allow_private() } else { guard };
    let authority = Authority::new(&address.to_string(), url.port_or_known_default().unwrap_or_default());
    guard.check(&authority, address).map_err(|refusal| format!("`url`: {refusal}, and events are not sent there"))
}

#[cfg(test)]
mod tests {
    use super::usable;

    #[test]
    fn address_that_the_guard_refuses_is_no_receiver() {
        let inner = ["https://127.0.0.1/", "https://10.0.0.1:8443/x", "https://[::1]/", "https://2130706433/"];
        for url in inner {
            assert!(usable(url, false).is_err(), "{url}");
            assert!(usable(url, true).is_ok(), "{url}");
        }
        for url in ["https://169.254.169.254/latest", "https://[fd00:ec2::254]/", "https://[::ffff:169.254.169.254]/"] {
            assert!(usable(url, false).is_err() && usable(url, true).is_err(), "{url}: nobody vouches for metadata");
        }
        assert!(usable("https://8.8.8.8/", false).is_ok());
    }

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
