//! Why a store did not do what it was asked.

use ostiary_record::Gate;

use crate::{
    approval::ApprovalError,
    failpoint::Crashed,
    lifecycle::{StateName, TransitionError},
    names::{HoldId, JobId, VersionRef},
    route::RouteError,
    waiver::WaiverError,
};

/// A store's answer that is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else was faster, or the caller's view is old: read again, then decide again.
    #[error("conflict: {0}")]
    Conflict(#[from] Conflict),
    /// The domain does not allow it.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// A row holds what we cannot have written.
    #[error("`{table}.{column}` of `{id}` is inconsistent: {why}")]
    Inconsistent {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// The database cannot be reached or used now.
    #[error("the store is unavailable during `{during}`")]
    Unavailable {
        /// The transaction or query.
        during: &'static str,
        /// The driver's error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A test stopped the process here.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

/// What the world was instead of what the caller expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The version moved on.
    #[error("`{version}` is {found}, not {expected}")]
    State {
        /// Which.
        version: VersionRef,
        /// What the caller saw.
        expected: StateName,
        /// What is.
        found: StateName,
    },
    /// The row was written meanwhile.
    #[error("`{0}` was changed meanwhile")]
    Row(String),
    /// Another policy is in force.
    #[error("another policy is in force than the one it was judged by")]
    Policy,
    /// Another version is ACTIVE than the one it was compared with.
    #[error("another version is active than the one it was compared with")]
    Baseline,
    /// The lease ran out, or somebody else holds the job.
    #[error("the lease on job `{0}` does not hold any more")]
    Lease(JobId),
    /// The label's last try has not ended.
    #[error("`{0}` has not ended, so its label cannot be submitted again")]
    TryOpen(VersionRef),
    /// The key was used for another request.
    #[error("idempotency key `{0}` was used for another request")]
    IdempotencyKey(String),
}

/// What the domain does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// By the lifecycle.
    #[error(transparent)]
    Transition(#[from] TransitionError),
    /// By the route.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// By the rules of approvals.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// By the rules of waivers.
    #[error(transparent)]
    Waiver(#[from] WaiverError),
    /// Nothing of that name.
    #[error("there is no {what} `{id}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        id: String,
    },
    /// Only a person may raise trust (L-10).
    #[error("only a person may {0}")]
    PersonOnly(&'static str),
    /// No such hold on that version.
    #[error("there is no hold `{0}` that you may lift")]
    Hold(HoldId),
    /// A promotion is a gate, and this gate does not follow from the state.
    #[error("the {gate} gate does not follow from {state}")]
    NotNext {
        /// The gate.
        gate: Gate,
        /// The state.
        state: StateName,
    },
    /// Rollback needs a previous version that may be dispatched to now.
    #[error("`{0}` cannot take over: a hold stands on it")]
    PreviousHeld(VersionRef),
    /// As many of these exist as may.
    #[error("there are {most} {what} already; remove one first")]
    Full {
        /// What there is too much of.
        what: String,
        /// How many there may be.
        most: usize,
    },
    /// A reason is required.
    #[error("a reason is required")]
    ReasonMissing,
    /// One reporter tells of one version too often.
    #[error("you have reported `{0}` too often within the hour; tell each finding once")]
    TooManyReports(VersionRef),
}
