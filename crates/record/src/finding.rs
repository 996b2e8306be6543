//! Findings and the report of a verification: what people and machines read.

use std::collections::BTreeMap;

use ostiary_canon::Profile;
use serde::{Deserialize, Serialize};

use crate::{
    event::{CaseId, CheckId, ExchangeId, ReqId},
    layer::{Gate, Layer},
    verdict::{Outcome, Severity, Verdict},
};

/// What one check says about one promise, for one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check.
    pub check: CheckId,
    /// Its version.
    pub check_version: u32,
    /// The layer.
    pub layer: Layer,
    /// The profile it holds for; `None` = bound to none.
    pub profile: Option<Profile>,
    /// The case of the bundle, if one was run.
    pub case: Option<CaseId>,
    /// The verdict with its evidence.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Whether it counts.
    #[serde(default)]
    pub severity: Severity,
    /// A stable detail, as cases expect it: `plan_id_must_be_string`.
    pub detail: Option<String>,
    /// One sentence for people.
    pub message: String,
    /// Where in which file or exchange.
    #[serde(rename = "where")]
    pub place: Place,
    /// Whether the protocol accepted the request (E-05).
    pub protocol_accepted: Option<bool>,
    /// What became of the business operation: `succeeded`, `failed`, `unknown` (E-05).
    pub business_outcome: Option<String>,
    /// The promises it covers.
    pub covers: Vec<ReqId>,
    /// Known consumers that the failure hits (V-07).
    pub consumers_affected: Vec<String>,
}

/// Where a finding points.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// File of the bundle, or document.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// JSON pointer.
    pub pointer: Option<String>,
    /// Exchange of the cited recording.
    pub exchange: Option<u64>,
}

/// How a digest is known (B-05).
pub use ostiary_canon::manifest::DigestSource;

/// How many of what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// PASS findings.
    pub pass: u32,
    /// FAIL findings that count.
    pub fail: u32,
    /// INCONCLUSIVE findings.
    pub inconclusive: u32,
    /// `NOT_APPLICABLE` findings.
    pub not_applicable: u32,
    /// Findings below error severity.
    #[serde(default)]
    pub warnings: u32,
    /// Effects that observers saw.
    pub side_effects: u32,
    /// FAIL findings of the schema layer.
    pub schema_violations: u32,
    /// FAIL findings about task states.
    pub state_machine_violations: u32,
}

/// A result that was not made anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reused {
    /// The check.
    pub check: CheckId,
    /// The run it comes from.
    pub from: String,
    /// Why that is sound.
    pub why: String,
}

/// The report of one verification (design of `verify`, `judge`, `card lint`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Worst over the layers asked for.
    pub verdict: Outcome,
    /// When the run was driven; RFC 3339.
    pub verified_at: String,
    /// Version of the harness.
    pub harness_version: String,
    /// The bundle.
    pub bundle_digest: Option<String>,
    /// The artifact.
    pub producer_digest: Option<String>,
    /// How the artifact's digest is known.
    pub producer_digest_source: DigestSource,
    /// Who really answered.
    #[serde(default)]
    pub target: crate::run::Target,
    /// The card as served, canonical without signatures.
    pub card_digest: Option<String>,
    /// One outcome a layer; `None` = not asked for.
    pub layers: BTreeMap<Layer, Option<Outcome>>,
    /// Profiles in which nothing failed and something passed.
    pub profiles_passed: Vec<Profile>,
    /// Profiles in which something failed.
    pub profiles_failed: Vec<Profile>,
    /// How many of what.
    pub counts: Counts,
    /// Whether an AI evaluation may build on this (V-04).
    pub evaluation_eligible: bool,
    /// All findings, in stable order.
    pub findings: Vec<FindingLine>,
    /// What was not made anew.
    pub reused: Vec<Reused>,
    /// What was verified and what was not, as sentences of fixed form (V-06, V-08).
    pub statement: String,
    /// Which risk is covered by which combination, and what stays uncovered (O-02); none in reports of older builds.
    #[serde(default)]
    pub coverage: crate::coverage::Coverage,
}

/// A finding with the gate that it blocks, as printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingLine {
    /// The gate that the layer blocks.
    pub gate: Gate,
    /// The reason code, again at the top level for machines.
    pub reason_code: Option<crate::reason::ReasonCode>,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

// === impl Finding ===

impl Finding {
    /// The finding with a stable detail, as cases expect it.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The finding with one sentence for people.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The finding, pointing into a document.
    #[must_use]
    pub fn at_pointer(mut self, file: impl Into<String>, pointer: impl Into<String>) -> Self {
        self.place.file = Some(file.into());
        self.place.pointer = Some(pointer.into());
        self
    }

    /// The finding, pointing at an exchange of the recording it cites.
    #[must_use]
    pub const fn at_exchange(mut self, x: ExchangeId) -> Self {
        self.place.exchange = Some(x.0);
        self
    }

    /// The finding with the two facts of E-05: whether the protocol accepted, and what became of the business operation.
    #[must_use]
    pub fn with_business(mut self, protocol_accepted: bool, outcome: impl Into<String>) -> Self {
        self.protocol_accepted = Some(protocol_accepted);
        self.business_outcome = Some(outcome.into());
        self
    }

    /// The finding at another severity than that of its check.
    #[must_use]
    pub const fn as_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}
