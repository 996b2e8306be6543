//! What an agent version is, what it may become, and who may say so.
//!
//! Holds the lifecycle machine, the policy of the gates, `judge_gate`, routes, holds, evidence, approvals, the
//! hash-chained audit, and the ports behind which a store, a clock and a signer stand. Everything here decides from its
//! arguments: it must not know a runtime, a database, a socket, the system clock or randomness.
//!
//! Start with [`lifecycle::State`] and [`lifecycle::State::apply`], then [`gate::judge_gate`], then [`change`], which
//! turns a decision into the writes that a store performs in one transaction.

pub mod approval;
pub mod audit;
pub mod change;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod consequence;
pub mod drift;
pub mod evidence;
pub mod failpoint;
pub mod gate;
pub mod grants;
pub mod happening;
pub mod hold;
pub mod job;
pub mod lifecycle;
pub mod names;
pub mod outcomes;
pub mod policy;
pub mod ports;
pub mod projection;
pub mod registry;
pub mod route;
#[cfg(any(test, feature = "conformance"))]
pub mod sample;
pub mod subject;
pub mod version;
pub mod waiver;

pub use approval::{Approval, Edge};
pub use audit::{AuditAction, AuditDraft, AuditEntry, AuditError};
pub use consequence::{Consequence, consequence};
pub use evidence::{EvidenceRecord, Standing};
pub use failpoint::{Crashed, Failpoint, Failpoints, NoFailpoints};
pub use gate::{GateDecision, GateFacts, GateOutcome, GateReason, judge_gate};
pub use happening::{Happening, Webhook};
pub use hold::{Hold, HoldKind, Scope};
pub use job::{Job, JobState, Lease};
pub use lifecycle::{Event, State, StateName, TransitionError};
pub use names::{
    Actor, ActorKind, ApprovalId, Attempt, DriftReportId, EnvironmentName, EvidenceId, HoldId, JobId, Moment,
    ReplicaId, RowVersion, VersionRef, WaiverId, WebhookId,
};
pub use ostiary_admission::{Enforcement, Mode};
pub use ostiary_canon::intoto::AdmissionClass;
pub use policy::{GateRule, Policy};
pub use ports::{Clock, Conflict, Ids, Refusal, Signer, Store, StoreError};
pub use projection::project;
pub use route::{Previous, Route};
pub use subject::{Authorization, GatePass, Subject};
pub use version::Version;
pub use waiver::{NewRevocation, Waived, Waiver};
