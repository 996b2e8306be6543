//! What a router needs, and nothing more: may this request go to that agent version, now?
//!
//! Knows admission records, queries and the decision over them, and keeps the records in a sharded index that a check
//! reads without waiting. Must not know how a record came to be (`domain`), where it is stored, or what asks for it:
//! server and router share it. Pure; time is an argument.
//!
//! Start with [`decide_dispatch`], then [`DecisionReason`] for what it can answer, then [`Index`].

mod cohort;
mod decide;
mod index;
mod mode;
mod query;
mod reason;
mod record;

pub use cohort::in_cohort;
pub use decide::{Decision, Outcome, decide_dispatch, explain_dispatch};
pub use index::{Change, Index, PublishError, Published, View};
pub use mode::{Enforcement, Freshness, Mode};
pub use ostiary_canon::intoto::AdmissionClass;
pub use query::{Observed, Query};
pub use reason::{DecisionReason, Reasons, UnknownReason};
pub use record::{
    AdmissionRecord, Evidence, Hold, HoldKind, ProfileGrant, Scope, SignatureStatus, State, Sunset, UnknownState,
};
