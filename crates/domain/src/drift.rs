//! What routers see that differs from what was admitted (P-03): reports, and the revalidation that a report may begin.
//!
//! A report is a router's word, and a router may lie or be misled. So it never takes a version down: it lets the control
//! plane look itself. Until it has looked, only those are denied who see another card than the admitted one, which the
//! decision denies anyhow. What follows from a report or a look is decided in [`change`](crate::change).

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, Digest, Revision, VersionLabel};
use serde::{Deserialize, Serialize};

use crate::{
    lifecycle::StateName,
    names::{Actor, DriftReportId, HoldId, Moment, VersionRef},
    ports::Idempotency,
    version::Version,
};

pub use revalidation::{Conclusion, Look, Looked, Revalidation, Saw, Sighting, again_after};

mod revalidation;

/// A report as it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftReport {
    /// Its id.
    pub id: DriftReportId,
    /// The try that it was held against: the one that spoke for the label.
    pub version: VersionRef,
    /// Who reported, by its token. Two reports are two witnesses only where this differs.
    pub by: Actor,
    /// What it says.
    pub claim: Claim,
    /// When it was taken.
    pub taken: Moment,
    /// What was done at once.
    pub action: DriftAction,
    /// What the control plane found when it looked itself, where it did.
    pub concluded: Option<Conclusion>,
}

/// What a router says that it saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What it calls itself; anybody can call itself anything.
    pub router_id: String,
    /// What was observed.
    pub kind: DriftKind,
    /// Whether it differs, or could not be read.
    pub finding: DriftFinding,
    /// What the router expected.
    pub expected: Option<Digest>,
    /// What it saw; always there for a mismatch.
    pub observed: Option<Digest>,
    /// When it first saw it.
    pub first_seen: Timestamp,
    /// When it last saw it.
    pub last_seen: Timestamp,
    /// How often in between.
    pub count: u64,
    /// Where the router keeps a sample; never fetched.
    pub sample_reference: Option<String>,
}

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// The agent's card.
    Card,
    /// The contract that it says it keeps.
    Contract,
    /// Its artifact.
    Producer,
    /// Its server key or identity.
    Identity,
    /// What it did.
    Behavior,
}

/// How it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftFinding {
    /// It differs.
    Mismatch,
    /// It could not be read. Says nothing about what it is, so it never lowers trust.
    Unreachable,
}

/// What was done at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftAction {
    /// Written down, nothing else.
    Recorded,
    /// The digest is the admitted one.
    Matches,
    /// The digest is that of another admitted version.
    RollOut,
    /// The control plane looks into it; who sees another card than the admitted one is denied.
    Revalidating,
    /// The same, and everybody is denied: a second router saw the same, and the control plane could not look.
    RevalidatingForAll,
}

/// A report that is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDriftReport {
    /// Its id, from the ids port.
    pub id: DriftReportId,
    /// The agent.
    pub agent: AgentId,
    /// The label.
    pub label: VersionLabel,
    /// Who reports, by its token.
    pub by: Actor,
    /// The same key of the same reporter twice is one report.
    pub key: Idempotency,
    /// What it says.
    pub claim: Claim,
}

/// A report's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftReported {
    /// The report; the first one's, when it was told before.
    pub id: DriftReportId,
    /// What was done at once.
    pub action: DriftAction,
    /// The revision that took it.
    pub revision: Revision,
    /// Whether it was told before.
    pub repeated: bool,
}

/// What else a store knows when a report comes, all read in the transaction that acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Background {
    /// Every try of every version of the agent.
    pub siblings: Vec<Version>,
    /// The revalidation of the reported try, if one is open.
    pub open: Option<Revalidation>,
    /// Whether the reporter and somebody else are witnesses of the same digest since the open revalidation began; the
    /// [`observer`] is none.
    pub seconded: bool,
    /// When a report of this reporter about this try was last found to be nothing.
    pub unfounded: Option<Timestamp>,
    /// How many reports of this reporter about this try were taken within [`RATE_WINDOW`].
    pub recent: u32,
}

/// How long a reporter whose report was found to be nothing begins no revalidation of the same try: one that lies or is
/// misled keeps nothing revalidating, and costs one look in this time.
pub const UNFOUNDED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The time within which reports are counted.
pub const RATE_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Most reports of one reporter about one try within [`RATE_WINDOW`]. An honest router tells one thing once; each report
/// is a revision and an audit entry, so nobody may write them at will.
pub const MOST_REPORTS: u32 = 60;

/// The machine that looks again.
#[must_use]
pub fn revalidator() -> Actor {
    Actor::machine("ostiary-revalidation")
}

/// Our own decision point, which is told of cards in questions. It does not say by whom, so it is no witness: one caller
/// could be the router that reports, too.
#[must_use]
pub fn observer() -> Actor {
    Actor::machine("ostiary-pdp")
}

// === impl DriftKind ===

impl DriftKind {
    /// The kind's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Contract => "contract",
            Self::Producer => "producer",
            Self::Identity => "identity",
            Self::Behavior => "behavior",
        }
    }
}

// === impl DriftFinding ===

impl DriftFinding {
    /// The finding's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mismatch => "mismatch",
            Self::Unreachable => "unreachable",
        }
    }
}

// === impl DriftAction ===

impl DriftAction {
    /// The action's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Matches => "matches",
            Self::RollOut => "roll_out",
            Self::Revalidating => "revalidating",
            Self::RevalidatingForAll => "revalidating_for_all",
        }
    }
}

// === impl Claim ===

impl Claim {
    /// The card that it says differs, if that is what it says. Nothing else begins a revalidation.
    #[must_use]
    pub fn other_card(&self) -> Option<Digest> {
        let differs = self.kind == DriftKind::Card && self.finding == DriftFinding::Mismatch;
        self.observed.filter(|_| differs)
    }
}

/// Whether `version` can be dispatched to, or could be after one step: what a revalidation is about.
#[must_use]
pub const fn on_the_road(version: &Version) -> bool {
    matches!(version.state.name(), StateName::RegistryAdmitted | StateName::Canary | StateName::Active)
}

/// The other version of the agent that is admitted with `card`, if there is one.
#[must_use]
pub fn rolled_out<'a>(version: &VersionRef, siblings: &'a [Version], card: &Digest) -> Option<&'a VersionRef> {
    let others = siblings.iter().filter(|v| v.key != *version && on_the_road(v));
    let mut with_card = others.filter(|v| v.state.admitted().is_some_and(|admitted| admitted.subject.card == *card));
    with_card.next().map(|v| &v.key)
}

/// Whether `hold` stands on `version`.
#[must_use]
pub fn stands(version: &Version, hold: Option<&HoldId>) -> bool {
    hold.is_some_and(|id| version.holds.iter().any(|h| h.id == *id))
}
