//! How hard a namespace's admission is enforced (L-08).

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a would-be deny does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Counted and answered with ALLOW.
    Observe,
    /// Counted, answered with ALLOW and shown loudly.
    Warn,
    /// Denied.
    #[default]
    Enforce,
}

/// A namespace's mode; anything softer than enforcing ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Enforcement {
    /// Denied, without end.
    Enforce,
    /// Shown loudly until then.
    Warn {
        /// The end, exclusive.
        until: Timestamp,
    },
    /// Counted until then.
    Observe {
        /// The end, exclusive.
        until: Timestamp,
    },
}

// === impl Enforcement ===

impl Enforcement {
    /// The mode that holds at `now`.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Mode {
        match self {
            Self::Warn { until } if now < until => Mode::Warn,
            Self::Observe { until } if now < until => Mode::Observe,
            Self::Enforce | Self::Warn { .. } | Self::Observe { .. } => Mode::Enforce,
        }
    }

    /// When a softer mode ends.
    #[must_use]
    pub const fn until(self) -> Option<Timestamp> {
        match self {
            Self::Enforce => None,
            Self::Warn { until } | Self::Observe { until } => Some(until),
        }
    }
}

// === impl Mode ===

impl Mode {
    /// The mode's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no enforcement mode; one of observe, warn, enforce")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let found = [Self::Observe, Self::Warn, Self::Enforce].into_iter().find(|m| m.as_str() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Enforcement, Mode};

    #[test]
    fn a_softer_mode_that_ran_out_enforces() {
        let until = "2026-01-02T00:00:00Z".parse().unwrap();
        let before = "2026-01-01T23:59:59Z".parse().unwrap();
        assert_eq!(Enforcement::Observe { until }.at(before), Mode::Observe);
        assert_eq!(Enforcement::Warn { until }.at(before), Mode::Warn);
        assert_eq!(Enforcement::Observe { until }.at(until), Mode::Enforce);
        assert_eq!(Enforcement::Warn { until }.at(until), Mode::Enforce);
    }
}
