//! The agent's card, as it is served now.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use http::StatusCode;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_router::Digest;

use crate::forward::Upstream;

/// Where A2A agents serve it.
const PATH: &str = "/.well-known/agent-card.json";
/// Looks that may fail in a row before the last card is believed no more.
const MISSES: u8 = 3;

/// The digest of the last card that was read.
#[derive(Default)]
pub struct Card(Mutex<(Option<Digest>, u8)>);

impl Card {
    /// What is held; nothing before the first look, and after too many that failed.
    pub fn digest(&self) -> Option<Digest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reads the card.
    pub async fn look(&self, upstream: &Upstream) -> anyhow::Result<()> {
        let (status, bytes) = upstream.get(PATH, Limits::DOCUMENT.bytes).await?;
        ensure!(status == StatusCode::OK, "{PATH} answers {status}");
        let card = parse_strict(&bytes, Limits::DOCUMENT).context("the card is no strict JSON")?;
        let digest = card_digest(&card).context("the card has no canonical form")?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (Some(digest), 0);
        Ok(())
    }

    /// A look failed.
    pub fn missed(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.1 = held.1.saturating_add(1);
        if held.1 >= MISSES {
            held.0 = None;
        }
    }
}
