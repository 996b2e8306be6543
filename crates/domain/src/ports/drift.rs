//! Reports of routers: what differs, and how dispatches went.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, VersionLabel};

use super::Answer;
use crate::{
    drift::{DriftReport, DriftReported, Look, Looked, NewDriftReport, Revalidation},
    outcomes::{OutcomeSum, Window},
};

/// Drift reports with what they begin, and windows of outcomes.
pub trait Drift {
    /// Takes a report about the try that speaks for its label, and does at once what follows from it.
    fn report_drift(&self, report: NewDriftReport) -> Answer<'_, DriftReported>;
    /// The reports about a label, newest first, at most `limit`.
    fn drift_reports<'a>(
        &'a self,
        agent: &'a AgentId,
        label: &'a VersionLabel,
        limit: u32,
    ) -> Answer<'a, Vec<DriftReport>>;
    /// Hands out a revalidation whose look is due, to nobody else for `lease_for`.
    fn claim_revalidation(&self, lease_for: SignedDuration) -> Answer<'_, Option<Revalidation>>;
    /// The open revalidations of an agent.
    fn revalidations<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Revalidation>>;
    /// Writes what the control plane saw for a claimed revalidation, and does what follows from it.
    fn looked(&self, look: Look) -> Answer<'_, Looked>;
    /// Adds a window to the sums, unless it was added before; makes no revision. `false` = it was.
    ///
    /// Entries about versions that nobody submitted are left out: they would be kept for nobody to read.
    fn add_outcomes(&self, window: Window) -> Answer<'_, bool>;
    /// The sums of a label over all windows that began at `since` or later, by consumer, then signal.
    fn outcomes<'a>(
        &'a self,
        agent: &'a AgentId,
        label: &'a VersionLabel,
        since: Timestamp,
    ) -> Answer<'a, Vec<OutcomeSum>>;
    /// Forgets what is older than `keep` says; answers how many rows.
    fn forget_reports(&self, keep: Keep) -> Answer<'_, u64>;
}

/// How long reports are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Drift reports.
    pub drift: SignedDuration,
    /// Sums of outcomes.
    pub outcomes: SignedDuration,
}
