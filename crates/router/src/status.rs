//! How a router is doing, for operators and health checks.

use jiff::Timestamp;
use ostiary_canon::Revision;
use serde::Serialize;

use crate::view::Trouble;

/// All of it at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// One for each scope, in the order of the configuration.
    pub scopes: Vec<ScopeStatus>,
    /// Dispatches under way.
    pub under_way: usize,
}

/// One scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScopeStatus {
    /// `*` or a namespace.
    pub scope: String,
    /// How its connection is.
    pub phase: Phase,
    /// Whether questions are decided on it now.
    pub alive: bool,
    /// The revision that the last verified head signs.
    pub verified: Revision,
    /// The revision that is applied; newer than `verified` for a moment after trust was lowered.
    pub applied: Revision,
    /// End of the lease, by the control plane's clock.
    pub lease_until: Timestamp,
    /// How many versions are known.
    pub versions: usize,
    /// Why nothing is decided on it, where that is not the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'static str>,
}

/// How a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Not there; the next attempt is waited for.
    #[default]
    Away,
    /// Open, nothing has come yet.
    Opening,
    /// A snapshot is coming.
    Snapshot,
    /// In step.
    Following,
}

// === impl Phase ===

impl Phase {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Away, Self::Opening, Self::Snapshot, Self::Following];
}

// === impl Status ===

impl Status {
    /// Whether every scope is decided on: what a health check asks.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.scopes.is_empty() && self.scopes.iter().all(|scope| scope.alive)
    }
}

impl Serialize for Trouble {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}
