//! The six layers and the gates that a broken layer blocks (V-01).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where a promise stands; every check belongs to exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// What the agent declares about itself: card, extensions, pins.
    Declaration,
    /// Shape of data: content modes, artifacts, input and output schemas.
    Schema,
    /// The wire protocol: operations, errors, task states, streams.
    Protocol,
    /// Who may do what, and what a refusal reveals.
    Authorization,
    /// What the agent really does: effects, idempotency, approvals.
    Behavior,
    /// Deadlines, retries, cancellation, recovery.
    Temporal,
}

/// The checks that one lifecycle transition needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gate {
    /// DRAFT → `STATIC_VALIDATED`.
    Static,
    /// → `CONFORMANCE_VERIFIED`.
    Conformance,
    /// → `SECURITY_VERIFIED`.
    Security,
    /// → `REGISTRY_ADMITTED`.
    Admission,
    /// → CANARY.
    Canary,
    /// → ACTIVE.
    Active,
}

/// A text that names no layer or gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {kind}; one of {allowed}")]
pub struct UnknownName {
    kind: &'static str,
    text: String,
    allowed: String,
}

// === impl Layer ===

impl Layer {
    /// All layers, in report order.
    pub const ALL: [Self; 6] =
        [Self::Declaration, Self::Schema, Self::Protocol, Self::Authorization, Self::Behavior, Self::Temporal];

    /// The layer's name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Declaration => "declaration",
            Self::Schema => "schema",
            Self::Protocol => "protocol",
            Self::Authorization => "authorization",
            Self::Behavior => "behavior",
            Self::Temporal => "temporal",
        }
    }

    /// The first gate that a failure in this layer blocks.
    #[must_use]
    pub const fn blocks(self) -> Gate {
        match self {
            Self::Declaration => Gate::Static,
            Self::Schema | Self::Protocol => Gate::Conformance,
            Self::Authorization | Self::Behavior | Self::Temporal => Gate::Security,
        }
    }
}

// === impl Gate ===

impl Gate {
    /// All gates, in lifecycle order.
    pub const ALL: [Self; 6] =
        [Self::Static, Self::Conformance, Self::Security, Self::Admission, Self::Canary, Self::Active];

    /// The gate's name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Conformance => "conformance",
            Self::Security => "security",
            Self::Admission => "admission",
            Self::Canary => "canary",
            Self::Active => "active",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn unknown(kind: &'static str, text: &str, allowed: &[&str]) -> UnknownName {
    UnknownName { kind, text: text.to_owned(), allowed: allowed.join(", ") }
}

impl FromStr for Layer {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|l| l.as_str() == text);
        found.ok_or_else(|| unknown("layer", text, &Self::ALL.map(Self::as_str)))
    }
}

impl FromStr for Gate {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|g| g.as_str() == text);
        found.ok_or_else(|| unknown("gate", text, &Self::ALL.map(Self::as_str)))
    }
}
