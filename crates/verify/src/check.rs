//! Checks judge and never drive: pure functions over recordings.

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::facts::Facts;

/// What the engine and the documentation must know of a check.
#[derive(Clone, Copy, Debug)]
pub struct CheckSpec {
    /// Its name: `a2a.task.terminal_reopened`.
    pub id: &'static str,
    /// Raised when the check judges otherwise than before.
    pub version: u32,
    /// What is promised, in one sentence for people.
    pub summary: &'static str,
    /// The one layer it belongs to (V-01).
    pub layer: Layer,
    /// The gate that asks for it.
    pub gate: Gate,
    /// The promises of the requirements it covers; at least one.
    pub covers: &'static [&'static str],
    /// Which recordings it reads.
    pub reads: Reads,
    /// Which named inputs its result depends on.
    pub depends: &'static [Input],
    /// Every reason it may give, besides those that the engine gives for any check.
    pub reasons: &'static [ReasonCode],
    /// Whether its FAIL counts.
    pub severity: Severity,
    /// The name of the test that shows it the lie it must catch.
    pub liar: &'static str,
}

/// Which recordings a check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The declarations alone; judged once, bound to no profile.
    Declarations,
    /// Every one of these scenarios must have been driven for the profile.
    Each(&'static [&'static str]),
    /// At least one of these scenarios must have been driven for the profile.
    Any(&'static [&'static str]),
    /// At least one of these scenarios must have been driven; judged once for all profiles together, bound to none.
    AcrossProfiles(&'static [&'static str]),
    /// Whatever was driven for the profile, at least one recording.
    Everything,
}

/// A named input that a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// The agent card as served.
    Card,
    /// The contract bundle.
    Contract,
    /// The running candidate: such a result is never reused.
    Candidate,
    /// The verification environment.
    Environment,
    /// Consumers' contracts.
    Consumers,
}

/// Judges recordings; same facts, same findings.
pub trait Check: Send + Sync {
    /// What the engine must know.
    fn spec(&self) -> &'static CheckSpec;

    /// Judges one profile's recordings of one repetition. Findings are built with [`Facts`]; returning none counts as
    /// INCONCLUSIVE.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding>;
}

// === impl Reads ===

impl Reads {
    /// The scenarios named, none for declarations and everything.
    #[must_use]
    pub const fn scenarios(self) -> &'static [&'static str] {
        match self {
            Self::Each(ids) | Self::Any(ids) | Self::AcrossProfiles(ids) => ids,
            Self::Declarations | Self::Everything => &[],
        }
    }
}

// === impl Input ===

impl Input {
    /// The input's name in documentation and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Contract => "contract",
            Self::Candidate => "candidate",
            Self::Environment => "environment",
            Self::Consumers => "consumers",
        }
    }
}
