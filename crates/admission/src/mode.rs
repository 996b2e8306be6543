//! How strictly a namespace is enforced, and how fresh a view is.

use jiff::Timestamp;
use ostiary_canon::Revision;
use serde::{Deserialize, Serialize};

/// What a would-be deny does (L-08).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is answered as allow, counted and shown.
    Observe,
    /// The same, and people are told.
    Warn,
    /// It denies.
    #[default]
    Enforce,
}

/// The mode of a namespace. The lenient ones always end: a trial that nobody ends must not become the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Enforcement {
    /// Until then, observe.
    Observe {
        /// When it becomes enforce.
        until: Timestamp,
    },
    /// Until then, warn.
    Warn {
        /// When it becomes enforce.
        until: Timestamp,
    },
    /// Enforce.
    #[default]
    Enforce,
}

/// How fresh the view is that a decision is made on, and how fresh the caller wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Up to which revision the view is complete.
    pub revision: Revision,
    /// Until when the view may be decided on.
    pub lease_until: Timestamp,
    /// The revision that the caller wants at least.
    pub at_least: Option<Revision>,
}

// === impl Enforcement ===

impl Enforcement {
    /// The mode at `now`.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Mode {
        match self {
            Self::Observe { until } if now < until => Mode::Observe,
            Self::Warn { until } if now < until => Mode::Warn,
            Self::Observe { .. } | Self::Warn { .. } | Self::Enforce => Mode::Enforce,
        }
    }

    /// When it becomes stricter by itself.
    #[must_use]
    pub const fn until(self) -> Option<Timestamp> {
        match self {
            Self::Observe { until } | Self::Warn { until } => Some(until),
            Self::Enforce => None,
        }
    }
}

// === impl Mode ===

impl Mode {
    /// The mode's name in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}
