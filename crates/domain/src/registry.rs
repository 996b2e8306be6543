//! The registry's other rows: namespaces, agents, environments, tokens.

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::Enforcement;
use ostiary_canon::{AgentId, Digest};
use serde::{Deserialize, Serialize};

use crate::names::{Actor, EnvironmentName};

/// Who owns agents, and how hard admission is enforced for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// How hard.
    pub enforcement: Enforcement,
    /// Why it is not enforced, as whoever softened it says.
    pub reason: Option<String>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Which.
    pub id: AgentId,
    /// Who answers for it.
    pub owner: Option<String>,
    /// One sentence for people.
    pub description: Option<String>,
}

/// A registered verification environment: the bytes of its `environment.yaml`, which hold references to secrets, never secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRecord {
    /// Its name.
    pub name: EnvironmentName,
    /// The file.
    pub document: Bytes,
    /// Who registered it.
    pub by: Actor,
    /// When it was last changed.
    pub at: Timestamp,
}

/// What a caller may do; everything else is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Submits, promotes and deprecates in its own namespace.
    Publisher,
    /// Claims jobs and uploads runs.
    Verifier,
    /// Approves, quarantines, releases, holds; never its own submission. Whoever only means to approve may write
    /// `approver`.
    #[serde(alias = "approver")]
    Operator,
    /// Asks about dispatch.
    Router,
    /// Reads everything, verifies the audit.
    Auditor,
    /// Everything, and keys and policy.
    Admin,
}

/// A static token; its text is nowhere stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The digest of its text.
    pub hash: Digest,
    /// The caller's name in audit and approvals.
    pub actor: Actor,
    /// What the caller may do.
    pub role: Role,
    /// Where; `None` = in every namespace.
    pub namespace: Option<String>,
    /// The end, exclusive.
    pub expires_at: Option<Timestamp>,
}

/// A text that names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role; one of publisher, verifier, operator, router, auditor, admin")]
pub struct UnknownRole(pub String);

// === impl Role ===

impl Role {
    /// All roles.
    pub const ALL: [Self; 6] =
        [Self::Publisher, Self::Verifier, Self::Operator, Self::Router, Self::Auditor, Self::Admin];

    /// The role's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Publisher => "publisher",
            Self::Verifier => "verifier",
            Self::Operator => "operator",
            Self::Router => "router",
            Self::Auditor => "auditor",
            Self::Admin => "admin",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|r| r.as_str() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

// === impl Token ===

impl Token {
    /// Whether it is still good at `now`.
    #[must_use]
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}
