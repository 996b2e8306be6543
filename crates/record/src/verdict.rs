//! The four verdicts (V-02, V-03), and how many of them make one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{event::EventRef, nonempty::NonEmpty, reason::ReasonCode};

/// What a check found about one promise.
///
/// A PASS cannot be constructed without the events it saw; INCONCLUSIVE names what is missing and is never PASS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The promise was seen to be kept.
    Pass {
        /// The events that show it.
        seen: NonEmpty<EventRef>,
    },
    /// The promise was seen to be broken.
    Fail {
        /// Which failure.
        reason: ReasonCode,
        /// The events that show it.
        at: NonEmpty<EventRef>,
        /// What the promise demands.
        expected: String,
        /// What was there instead.
        observed: String,
        /// How sure this is.
        strength: Strength,
    },
    /// Could not tell.
    Inconclusive {
        /// Why not.
        reason: ReasonCode,
        /// What would have to be there.
        missing: NonEmpty<Missing>,
    },
    /// A declaration makes the promise void here.
    NotApplicable {
        /// Which rule of exemption.
        reason: ReasonCode,
        /// The declaration that exempts.
        because: DeclarationPointer,
    },
}

/// A [`Verdict`] without its evidence: what aggregation and machines compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Outcome {
    /// Kept.
    Pass,
    /// Broken.
    Fail,
    /// Could not tell.
    Inconclusive,
    /// Void here.
    NotApplicable,
}

/// How sure a FAIL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// One observation suffices.
    Proven,
    /// Seen `k` times in `n` tries.
    Repeated {
        /// Times seen.
        k: u32,
        /// Tries.
        n: u32,
    },
}

/// Whether a finding counts; a warning or note is counted apart and changes neither verdict nor exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Decides.
    #[default]
    Error,
    /// Worth a look.
    Warning,
    /// Worth knowing.
    Note,
}

/// Something whose absence made a verdict impossible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// A short stable name: `observer:sql`, `scenario:a2a.task.cancel`, `control`.
    pub what: String,
    /// The remedy, in words.
    pub remedy: String,
}

/// Where in which declaration something is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclarationPointer {
    /// `agent-card.json`, `coverage.yaml`, …
    pub document: String,
    /// JSON pointer into it.
    pub pointer: String,
}

// === impl Verdict ===

impl Verdict {
    /// The verdict without its evidence.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self {
            Self::Pass { .. } => Outcome::Pass,
            Self::Fail { .. } => Outcome::Fail,
            Self::Inconclusive { .. } => Outcome::Inconclusive,
            Self::NotApplicable { .. } => Outcome::NotApplicable,
        }
    }

    /// The reason code; a PASS has none.
    #[must_use]
    pub const fn reason(&self) -> Option<ReasonCode> {
        match self {
            Self::Pass { .. } => None,
            Self::Fail { reason, .. } | Self::Inconclusive { reason, .. } | Self::NotApplicable { reason, .. } => {
                Some(*reason)
            }
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// The outcome's name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NotApplicable => "NOT_APPLICABLE",
        }
    }

    /// The worse of two: FAIL > INCONCLUSIVE > PASS > `NOT_APPLICABLE`.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        if self.rank() >= other.rank() { self } else { other }
    }

    /// One outcome for many; nothing at all, or everything not applicable, could not be told (V-09).
    #[must_use]
    pub fn aggregate(all: impl IntoIterator<Item = Self>) -> Self {
        match all.into_iter().reduce(Self::worst) {
            None | Some(Self::NotApplicable) => Self::Inconclusive,
            Some(outcome) => outcome,
        }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Fail => 3,
            Self::Inconclusive => 2,
            Self::Pass => 1,
            Self::NotApplicable => 0,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
