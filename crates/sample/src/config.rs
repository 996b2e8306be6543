//! What the agent is started with.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use bytes::Bytes;

use crate::{lies::Lies, tls::TlsIdentity, token::Trust};

/// How long one step of the work takes unless the configuration says otherwise: long enough that streamed events are
/// seen to arrive apart and a cancel can get in between, short enough for tests.
const DEFAULT_PACE: Duration = Duration::from_millis(15);

/// Everything the agent needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Certificate and key; `None` speaks plain HTTP.
    pub tls: Option<TlsIdentity>,
    /// The bytes of the agent card, served as they are.
    pub card: Bytes,
    /// Whose tokens are taken.
    pub trust: Trust,
    /// Where drafts, outbox and tasks are kept.
    pub store: StoreAt,
    /// The lies told from the start.
    pub lies: Lies,
    /// How long one step of the work takes; one step an item of the work request.
    pub pace: Duration,
}

/// Where the store lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAt {
    /// In memory, gone with the agent.
    Memory,
    /// In this SQLite file, made when it does not exist.
    File(PathBuf),
}

/// A configuration that cannot be honoured.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The card is no JSON object.
    #[error("read the agent card: {0}")]
    Card(String),
}

// === impl Config ===

impl Config {
    /// An honest agent on a free loopback port, in plain HTTP, with its store in memory.
    #[must_use]
    pub fn new(card: impl Into<Bytes>, trust: Trust) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            card: card.into(),
            trust,
            store: StoreAt::Memory,
            lies: Lies::none(),
            pace: DEFAULT_PACE,
        }
    }
}
