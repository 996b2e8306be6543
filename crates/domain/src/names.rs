//! Names and marks that the aggregates share.

use std::fmt;

use jiff::Timestamp;
use ostiary_canon::{AgentId, Revision, VersionLabel};
use serde::{Deserialize, Serialize};

/// Declares an id: an opaque text given out by the [`Ids`](crate::ports::Ids) port.
macro_rules! id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The id's text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

id! {
    /// One job of the queue.
    JobId;
    /// One piece of evidence.
    EvidenceId;
    /// One hold.
    HoldId;
    /// One approval.
    ApprovalId;
    /// One waiver.
    WaiverId;
    /// One receiver of happenings.
    WebhookId;
    /// One report of drift.
    DriftReportId;
    /// One run of one server.
    ReplicaId;
    /// A registered verification environment, by its name.
    EnvironmentName;
}

/// Which try of a version label this is, from 1. A label is submitted again only after the last try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u32);

/// One try of one version of one agent: what the lifecycle is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VersionRef {
    /// The agent.
    pub agent: AgentId,
    /// The version's label.
    pub label: VersionLabel,
    /// The try.
    pub attempt: Attempt,
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// A stable name: the token's name, the subject of an identity, a component of ours.
    pub name: String,
    /// Person or machine.
    pub kind: ActorKind,
}

/// Whether a person answers for an act. Machines only lower trust (L-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// Somebody, under their own name.
    Person,
    /// A component of ours, or a program of somebody's.
    Machine,
}

/// When something was committed: the transaction's time, and the revision that it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Moment {
    /// The store's time, read once a transaction.
    pub time: Timestamp,
    /// The revision.
    pub revision: Revision,
}

/// How often a row was written: the guard of every update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowVersion(pub u64);

// === impl Attempt ===

impl Attempt {
    /// The first try.
    pub const FIRST: Self = Self(1);

    /// The try after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl VersionRef ===

impl fmt::Display for VersionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}#{}", self.agent, self.label, self.attempt)
    }
}

// === impl Actor ===

impl Actor {
    /// A person.
    pub fn person(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ActorKind::Person }
    }

    /// A machine.
    pub fn machine(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ActorKind::Machine }
    }

    /// Whether a person answers for the act.
    #[must_use]
    pub const fn is_person(&self) -> bool {
        matches!(self.kind, ActorKind::Person)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

// === impl RowVersion ===

impl RowVersion {
    /// After one more write.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
