//! A revalidation: the control plane fetches the card itself, as often as it takes, and says what it saw.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{Digest, Revision};
use serde::{Deserialize, Serialize};

use crate::{
    evidence::NewEvidence,
    names::{HoldId, Moment, VersionRef},
};

/// An open revalidation; one a try at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revalidation {
    /// The try.
    pub version: VersionRef,
    /// The hold that it stands for. `None` is a look without one: the reporter was wrong a moment ago.
    pub hold: Option<HoldId>,
    /// The hold that denies everybody, once a second router saw the same and nobody could look.
    pub for_all: Option<HoldId>,
    /// The digest that was reported first.
    pub observed: Digest,
    /// When it began.
    pub since: Moment,
    /// How often the control plane has failed to look.
    pub failed: u32,
    /// When the next look is due; while somebody looks, when it is taken to have died.
    pub not_before: Timestamp,
    /// Why the last look failed.
    pub last_error: Option<String>,
}

/// What the control plane saw when it looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The revalidation as it was handed out: the guard.
    pub claimed: Revalidation,
    /// What it saw.
    pub saw: Saw,
}

/// What a look saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// No card.
    Nothing {
        /// Why.
        why: String,
    },
    /// A card.
    Card(Box<Sighting>),
}

/// A card that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The card's digest.
    pub card: Digest,
    /// The signed fact that it is not the admitted one, with the report that explains it; there whenever it is not.
    pub evidence: Option<(NewEvidence, Bytes)>,
}

/// How a look ends a revalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The card is the admitted one: the report was unfounded.
    Unfounded,
    /// The card is that of another admitted version.
    RollOut,
    /// The card is one that nobody admitted: the version is quarantined.
    Quarantined,
    /// The version left the road meanwhile, by somebody's act or another failure.
    Overtaken,
    /// A person lifted the hold, and the card could not be seen.
    Lifted,
    /// A look without a hold could not see the card.
    Unseen,
}

/// What became of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// It is over.
    Concluded {
        /// How.
        conclusion: Conclusion,
        /// The revision that says so; `None` where nothing of the version changed.
        revision: Option<Revision>,
    },
    /// The card could not be seen; there will be another look.
    Again {
        /// When.
        at: Timestamp,
        /// The revision, where everybody is denied from now on.
        revision: Option<Revision>,
    },
    /// Somebody else looked meanwhile; nothing was written.
    Late,
}

/// The wait after the first failed look; each next one is twice as long.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(2);
/// The longest wait: an agent that came back is found within it.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// When to look again after `failed` looks that saw nothing.
#[must_use]
pub fn again_after(failed: u32, now: Timestamp) -> Timestamp {
    let doublings = failed.saturating_sub(1).min(16);
    let wait = FIRST_WAIT.saturating_mul(1_i32 << doublings).min(LONGEST_WAIT);
    now.saturating_add(wait).unwrap_or(now)
}

// === impl Conclusion ===

impl Conclusion {
    /// Whether whoever reported is not to begin another revalidation for a while.
    #[must_use]
    pub const fn was_nothing(self) -> bool {
        match self {
            Self::Unfounded | Self::RollOut | Self::Lifted | Self::Unseen => true,
            Self::Quarantined | Self::Overtaken => false,
        }
    }

    /// The conclusion's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unfounded => "unfounded",
            Self::RollOut => "roll_out",
            Self::Quarantined => "quarantined",
            Self::Overtaken => "overtaken",
            Self::Lifted => "lifted",
            Self::Unseen => "unseen",
        }
    }
}
