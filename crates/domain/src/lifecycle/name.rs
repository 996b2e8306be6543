//! The states' names.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A state without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StateName {
    /// See [`State::Draft`](super::State::Draft).
    Draft,
    /// See [`State::StaticValidated`](super::State::StaticValidated).
    StaticValidated,
    /// See [`State::ConformanceVerified`](super::State::ConformanceVerified).
    ConformanceVerified,
    /// See [`State::SecurityVerified`](super::State::SecurityVerified).
    SecurityVerified,
    /// See [`State::RegistryAdmitted`](super::State::RegistryAdmitted).
    RegistryAdmitted,
    /// See [`State::Canary`](super::State::Canary).
    Canary,
    /// See [`State::Active`](super::State::Active).
    Active,
    /// See [`State::Quarantined`](super::State::Quarantined).
    Quarantined,
    /// See [`State::Rejected`](super::State::Rejected).
    Rejected,
    /// See [`State::Deprecated`](super::State::Deprecated).
    Deprecated,
}

/// A text that names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no lifecycle state")]
pub struct UnknownState(pub String);

// === impl StateName ===

impl StateName {
    /// All states, in lifecycle order.
    pub const ALL: [Self; 10] = [
        Self::Draft,
        Self::StaticValidated,
        Self::ConformanceVerified,
        Self::SecurityVerified,
        Self::RegistryAdmitted,
        Self::Canary,
        Self::Active,
        Self::Quarantined,
        Self::Rejected,
        Self::Deprecated,
    ];

    /// The state's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::StaticValidated => "STATIC_VALIDATED",
            Self::ConformanceVerified => "CONFORMANCE_VERIFIED",
            Self::SecurityVerified => "SECURITY_VERIFIED",
            Self::RegistryAdmitted => "REGISTRY_ADMITTED",
            Self::Canary => "CANARY",
            Self::Active => "ACTIVE",
            Self::Quarantined => "QUARANTINED",
            Self::Rejected => "REJECTED",
            Self::Deprecated => "DEPRECATED",
        }
    }

    /// Whether the try has ended, so that its label may be submitted again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Rejected | Self::Deprecated)
    }

    /// Whether the registry vouches for the version, though perhaps not at this moment.
    #[must_use]
    pub const fn is_admitted(self) -> bool {
        matches!(self, Self::RegistryAdmitted | Self::Canary | Self::Active)
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StateName {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        let found = Self::ALL.into_iter().find(|s| s.as_str() == text);
        found.ok_or_else(|| UnknownState(text.to_owned()))
    }
}
