//! Which risk is covered by which combination, and what stays uncovered (O-02): a part of every report.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    event::{CaseId, CheckId},
    reason::ReasonCode,
    verdict::Outcome,
};

/// What was covered by what, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// How much was driven over each binding.
    pub scenarios: Vec<BindingCount>,
    /// One row a promise of the requirements that some check covers, by its id.
    pub promises: Vec<PromiseCoverage>,
    /// One space a risk: the combinations that the contract's policy asks for.
    pub combinations: Vec<RiskCoverage>,
    /// Past incidents (O-03); they are always tried.
    pub incidents: Vec<IncidentCoverage>,
    /// Everything that stays uncovered, with why.
    pub uncovered: Vec<Uncovered>,
}

/// How much was driven over one binding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindingCount {
    /// `JSON-RPC`, `HTTP+JSON`, `gRPC`.
    pub binding: String,
    /// Variants of scenarios that were driven; repetitions count once.
    pub driven: u32,
    /// Variants that were planned and not driven.
    pub not_run: u32,
}

/// What was said of one promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromiseCoverage {
    /// The promise: `I-03`.
    pub id: String,
    /// The worst that counts, of all profiles to be activated.
    pub verdict: Outcome,
    /// What was said, by check and profile.
    pub by: Vec<CoveredBy>,
}

/// One check's say, and the combinations that it looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredBy {
    /// The check.
    pub check: CheckId,
    /// The profile; none for what is bound to none.
    pub profile: Option<String>,
    /// The worst that it says.
    pub verdict: Outcome,
    /// The reason of that, where it is no PASS.
    pub reason: Option<ReasonCode>,
    /// The variants of scenarios that it read, each once: `a2a.version.wrong version=missing`.
    pub variants: Vec<String>,
}

/// The combinations of the operations of one risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RiskCoverage {
    /// The skills; none where the card names no skill.
    pub operations: Vec<String>,
    /// What they may do: `read`, `write`, `destructive`. What the contract says nothing of counts as a write.
    pub risk: String,
    /// The policy's word for how its combinations are chosen.
    pub policy: String,
    /// The axes and their values.
    pub axes: BTreeMap<String, Vec<String>>,
    /// How many combinations there are without constraints and policy; as text, since it may be large.
    pub product: String,
    /// The combinations that the policy asks for.
    pub rows: Vec<Combination>,
    /// How many of the demanded parts (pairs, or products of some axes) are possible, and how many of these were driven.
    pub parts: Parts,
    /// How many parts each constraint rules out.
    pub ruled_out: BTreeMap<String, u32>,
}

/// How many parts of combinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// That the constraints allow.
    pub possible: u32,
    /// That are in a combination that was driven.
    pub driven: u32,
}

/// One combination, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Combination {
    /// Value by axis.
    pub values: BTreeMap<String, String>,
    /// What was said of it; none where it was not driven.
    pub verdict: Option<Outcome>,
}

/// A past incident and what its case says now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentCoverage {
    /// The case.
    pub case: CaseId,
    /// Its file in the bundle.
    pub file: String,
    /// What was said; none where nothing was.
    pub verdict: Option<Outcome>,
    /// The reason of that, where it is no PASS.
    pub reason: Option<ReasonCode>,
}

/// Something that stays uncovered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uncovered {
    /// What: a promise, a scenario's variant, a combination, an incident.
    pub what: String,
    /// The kind of cause.
    pub why: Gap,
    /// The cause in words.
    pub detail: String,
    /// The promises that it leaves open.
    pub ids: Vec<String>,
}

/// Why something stays uncovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// The contract's policy does not ask for it.
    Policy,
    /// A declaration or a constraint rules it out.
    Constraint,
    /// The environment does not clear the risk.
    NotCleared,
    /// Nobody in the environment can play a role in it.
    NoSubject,
    /// The budget of calls did not last.
    Budget,
    /// The gate or the selection did not ask for it.
    NotAsked,
    /// It was tried, and nothing could be told.
    Inconclusive,
}

// === impl Gap ===

impl Gap {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Policy,
        Self::Constraint,
        Self::NotCleared,
        Self::NoSubject,
        Self::Budget,
        Self::NotAsked,
        Self::Inconclusive,
    ];

    /// In words, as tables show it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Constraint => "constraint",
            Self::NotCleared => "not cleared",
            Self::NoSubject => "no subject",
            Self::Budget => "budget",
            Self::NotAsked => "not asked for",
            Self::Inconclusive => "could not tell",
        }
    }
}

// === impl Coverage ===

impl Coverage {
    /// The promises for which something was shown: a PASS or a FAIL.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.promises.iter().filter(|p| matches!(p.verdict, Outcome::Pass | Outcome::Fail)).count()
    }

    /// The combinations that were driven, and all that the policy asks for.
    #[must_use]
    pub fn driven(&self) -> (usize, usize) {
        let rows = || self.combinations.iter().flat_map(|skill| &skill.rows);
        (rows().filter(|row| row.verdict.is_some()).count(), rows().count())
    }
}
