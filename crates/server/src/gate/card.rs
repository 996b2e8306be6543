//! The control plane's own look at the card, for the admission gate and for revalidations.

use std::path::Path;

use bytes::Bytes;
use ostiary_canon::{Digest, json};
use ostiary_contract::Environment;
use ostiary_domain::gate::LiveCard;
use ostiary_drivers::{AddressGuard, HttpTransport, Settings};
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_record::ports::{Fetch as _, Limits};

use super::{GateError, Gatekeeper};

/// Why the card could not be looked at. Never a verdict about the agent: the gate stays shut and says so.
#[derive(Debug, thiserror::Error)]
pub(super) enum CardError {
    #[error("the environment cannot be read: {0}")]
    Environment(String),
    #[error("the environment names no card")]
    NoAddress,
    #[error("the environment's settings cannot be used: {0}")]
    Settings(String),
    #[error("failed to fetch the card: {0}")]
    Fetch(String),
    #[error("the card was answered with status {0}")]
    Status(u16),
    #[error("the card is no acceptable JSON: {0}")]
    Json(String),
}

/// Most bytes of a card; the largest known ones have a hundredth of it.
const CARD_BYTES: u64 = 1 << 20;

/// A card as it is served now.
pub(super) struct ServedCard {
    pub(super) bytes: Bytes,
    pub(super) digest: Digest,
}

// === impl Gatekeeper ===

impl Gatekeeper {
    /// The card as it is served now; `None` when it could not be looked at.
    pub(super) async fn live_card(&self, environment: &[u8]) -> Result<Option<LiveCard>, GateError> {
        match look(environment, self.app.config.worker.environment_files.as_deref()).await {
            Ok(ServedCard { digest, .. }) => Ok(Some(LiveCard { digest, fetched_at: self.app.store.now().await? })),
            Err(error) => {
                tracing::warn!(%error, "the card could not be looked at for an admission");
                Ok(None)
            }
        }
    }
}

pub(super) async fn look(document: &[u8], root: Option<&Path>) -> Result<ServedCard, CardError> {
    let environment = Environment::well_formed("environment.yaml", document)
        .map_err(|error| CardError::Environment(error.to_string()))?;
    let url = environment.a2a.as_ref().ok_or(CardError::NoAddress)?.card_url.value.clone();
    let fetcher = fetcher(&environment, &url, root).await?;
    let headers = [("A2A-Version".to_owned(), "1.0".to_owned()), ("Accept".to_owned(), "application/json".to_owned())];
    let limits = Limits { body_bytes: CARD_BYTES, ..Limits::default() };
    let fetched = fetcher.get(&url, &headers, limits).await.map_err(|error| CardError::Fetch(error.to_string()))?;
    if fetched.status != 200 {
        return Err(CardError::Status(fetched.status));
    }
    let card = json::parse_strict(&fetched.body, json::Limits::DOCUMENT)
        .map_err(|error| CardError::Json(error.to_string()))?;
    let digest = card_digest(&card).map_err(|error| CardError::Json(error.to_string()))?;
    Ok(ServedCard { bytes: fetched.body, digest })
}

/// `host:port` as the URL names it.
fn authority(url: &str) -> Result<String, CardError> {
    let parsed = url::Url::parse(url).map_err(|error| CardError::Settings(format!("card_url: {error}")))?;
    let host = parsed.host_str().zip(parsed.port_or_known_default());
    let (host, port) = host.ok_or_else(|| CardError::Settings("card_url names no host".to_owned()))?;
    Ok(format!("{host}:{port}"))
}

async fn fetcher(environment: &Environment, url: &str, root: Option<&Path>) -> Result<HttpTransport, CardError> {
    let refused = |error: &dyn std::fmt::Display| CardError::Settings(error.to_string());
    let trust_roots = match &environment.trust_roots {
        Some(path) => {
            let root = root.ok_or_else(|| {
                CardError::Settings("trust_roots names a file, and no directory is configured".to_owned())
            })?;
            let path = root.join(path);
            let read = tokio::fs::read(&path).await;
            Some(read.map_err(|error| CardError::Settings(format!("trust_roots `{}`: {error}", path.display())))?)
        }
        None => None,
    };
    // What stands in an environment is an operator's own word, so it passes the guard; what it redirects to does not.
    let guard = AddressGuard::public_only().exempt(&authority(url)?).map_err(|error| refused(&error))?;
    HttpTransport::new(Settings {
        connect_to: environment.connect_to.clone(),
        trust_roots,
        allow_insecure_http: environment.allow_insecure_http,
        guard,
    })
    .map_err(|error| refused(&error))
}
