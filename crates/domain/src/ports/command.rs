//! The commands: what a caller hands to a store, and what it gets back.

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Revision, VersionLabel};
use ostiary_record::Gate;

use super::Submission;
use crate::{
    change::Undone,
    consequence::Consequence,
    evidence::NewEvidence,
    hold::{HoldKind, Scope},
    job::Lease,
    lifecycle::StateName,
    names::{Actor, HoldId, JobId, RowVersion, VersionRef},
    version::Version,
};

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    /// The agent; made if its namespace exists and it does not.
    pub agent: AgentId,
    /// The label.
    pub label: VersionLabel,
    /// What is submitted.
    pub submission: Submission,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// A caller's key for one request, and the digest of what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    /// The key, unique for the caller.
    pub key: String,
    /// The request.
    pub request: Digest,
}

/// A taken submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The try.
    pub version: VersionRef,
    /// The job of its static gate.
    pub job: JobId,
    /// The revision that took it.
    pub revision: Revision,
    /// Whether this is the answer to an earlier, equal request.
    pub repeated: bool,
}

/// What a caller decided on; the transaction refuses if it is no longer so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The state.
    pub state: StateName,
    /// The row.
    pub row: RowVersion,
    /// The policy in force.
    pub policy: Digest,
    /// The ACTIVE version that it was compared with.
    pub baseline: Baseline,
}

/// Which ACTIVE version a result was made against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// None was looked at.
    NotCompared,
    /// This one, or that there was none.
    Against(Option<VersionRef>),
}

/// A judged gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCommit {
    /// The right to commit.
    pub lease: Lease,
    /// The try.
    pub version: VersionRef,
    /// What was decided on.
    pub guard: Guard,
    /// What follows.
    pub consequence: Consequence,
    /// The evidence; kept in any case.
    pub evidence: NewEvidence,
    /// The report that explains it.
    pub report: Option<Bytes>,
    /// Who judged.
    pub actor: Actor,
}

/// What became of a judged gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateCommitted {
    /// All of it was committed.
    Done {
        /// The version after it.
        version: Box<Version>,
        /// The next gate's job.
        next: Option<JobId>,
        /// The revision.
        revision: Revision,
    },
    /// Only the evidence was kept: the world had changed.
    EvidenceKept {
        /// How.
        because: Undone,
        /// The revision that kept it.
        revision: Revision,
    },
    /// The same result was committed before.
    Repeated {
        /// The revision of then.
        revision: Revision,
    },
}

/// An act on one version outside its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operate {
    /// The try.
    pub version: VersionRef,
    /// The row that the caller looked at; `None` = whatever it is (a quarantine need not look).
    pub row: Option<RowVersion>,
    /// Who.
    pub actor: Actor,
    /// Why; required.
    pub reason: String,
    /// What.
    pub action: Action,
    /// Repeats of the same request get the same answer.
    pub idempotency: Option<Idempotency>,
}

/// What can be done to a version outside its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Off the road at once. Machines may.
    Quarantine,
    /// Ends it; with a sunset, registered production consumers are served until then.
    Deprecate {
        /// Until when.
        sunset: Option<Timestamp>,
    },
    /// Takes a submission back before admission.
    Withdraw,
    /// The canary goes back.
    AbortCanary,
    /// This version is ACTIVE and gives way to the previous one.
    Rollback {
        /// The id of the hold that is set on the version that gives way.
        hold: HoldId,
    },
    /// Sets a hold. Machines may.
    SetHold(HoldRequest),
    /// Lifts a hold.
    LiftHold(HoldId),
    /// Queues a gate: the next one, one that is run again, or the way out of quarantine.
    RequestGate {
        /// Which.
        gate: Gate,
        /// The id of the job, should there be none yet.
        job: JobId,
    },
}

/// A hold that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRequest {
    /// Its id.
    pub id: HoldId,
    /// What it stops.
    pub kind: HoldKind,
    /// For whom.
    pub scope: Scope,
}

/// What became of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operated {
    /// The version after it.
    pub version: Version,
    /// The job that was queued, or waited already.
    pub job: Option<JobId>,
    /// The revision.
    pub revision: Revision,
    /// Whether this is the answer to an earlier, equal request.
    pub repeated: bool,
}
