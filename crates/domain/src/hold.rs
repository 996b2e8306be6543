//! Holds: reasons not to dispatch to a version that are no states (L-10).

use jiff::Timestamp;
use ostiary_canon::{Digest, Profile};
use serde::{Deserialize, Serialize};

use crate::names::{Actor, EvidenceId, HoldId, Moment};

/// One hold on one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Its id.
    pub id: HoldId,
    /// What it stops.
    pub kind: HoldKind,
    /// For whom it stops it.
    pub scope: Scope,
    /// Why, in words.
    pub reason: String,
    /// Who set it.
    pub author: Actor,
    /// The evidence it was set on, where a verification failed.
    pub evidence: Option<EvidenceId>,
    /// When it was set.
    pub set: Moment,
}

/// What a hold stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Every dispatch in scope.
    RouteDisabled,
    /// Dispatch as a canary, and promotion.
    CanaryStopped,
    /// Dispatch with another card than the admitted one, until the control plane has looked itself (P-03).
    Revalidating,
    /// Every dispatch, while the control plane cannot look and two routers saw the same other card.
    RevalidatingForAll,
}

/// For whom a hold holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "scope", content = "of")]
pub enum Scope {
    /// Everybody.
    Everything,
    /// Dispatch over one declared interface, by its address.
    Interface(String),
    /// Dispatch under one profile.
    Profile(Profile),
    /// Dispatch on behalf of one consumer.
    Consumer(String),
    /// Dispatch with one card digest that is not the admitted one.
    Digest(Digest),
}

/// A hold that is to be set; the store adds when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewHold {
    /// Its id, from the ids port.
    pub id: HoldId,
    /// What it stops.
    pub kind: HoldKind,
    /// For whom.
    pub scope: Scope,
    /// Why, in words.
    pub reason: String,
    /// Who sets it.
    pub author: Actor,
    /// The evidence it rests on.
    pub evidence: Option<EvidenceId>,
}

/// How and when a hold ended; kept beside the hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifted {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

// === impl HoldKind ===

impl HoldKind {
    /// Whether it stands only until the control plane has looked at the card itself.
    #[must_use]
    pub const fn awaits_a_look(self) -> bool {
        matches!(self, Self::Revalidating | Self::RevalidatingForAll)
    }

    /// The kind's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RouteDisabled => "route_disabled",
            Self::CanaryStopped => "canary_stopped",
            Self::Revalidating => "revalidating",
            Self::RevalidatingForAll => "revalidating_for_all",
        }
    }
}

// === impl NewHold ===

impl NewHold {
    /// The hold, as set at `moment`.
    #[must_use]
    pub fn set(self, moment: Moment) -> Hold {
        let Self { id, kind, scope, reason, author, evidence } = self;
        Hold { id, kind, scope, reason, author, evidence, set: moment }
    }
}

// === impl Hold ===

impl Hold {
    /// Whether `who` may lift it: a person any, the machine that set it only its own `revalidating`.
    #[must_use]
    pub fn may_be_lifted_by(&self, who: &Actor) -> bool {
        who.is_person() || (self.kind.awaits_a_look() && *who == self.author)
    }

    /// Whether it was set by a verification that failed, so that a second failure quarantines.
    #[must_use]
    pub fn follows_a_failure(&self) -> bool {
        !self.author.is_person() && self.evidence.is_some() && !self.kind.awaits_a_look()
    }
}
