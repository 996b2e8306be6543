//! What a router needs, and nothing more: may this request go to that agent version, now?
//!
//! Knows admission records, queries and the decision over them, and keeps the records in a sharded index that a check
//! reads without waiting; knows the bytes that are sent ([`wire`]), the root over them ([`Tree`]) and who signs it
//! ([`Head`]). Must not know how a record came to be (`domain`), where it is stored, or what asks for it: server and
//! router share it. Pure; time is an argument.
//!
//! Start with [`decide_dispatch`], then [`DecisionReason`] for what it can answer, then [`Index`].

mod cohort;
mod decide;
mod head;
mod index;
mod lowers;
mod mode;
mod query;
mod reason;
mod record;
mod resolve;
mod subject;
mod tree;
mod view;
pub mod wire;

pub use cohort::in_cohort;
pub use decide::{Decision, Outcome, decide_dispatch, explain_dispatch};
pub use head::{HEAD_LIMIT, HEAD_PAYLOAD_TYPE, Head, HeadError, UnknownScope, VerifiedHead, ViewScope};
pub use index::{Change, Frozen, Index, PublishError, Published};
pub use lowers::{lowers, lowers_enforcement};
pub use mode::{Enforcement, Freshness, Mode};
pub use ostiary_canon::intoto::AdmissionClass;
pub use query::{Observed, Query};
pub use reason::{DecisionReason, Reasons, UnknownReason};
pub use record::{
    AdmissionRecord, Evidence, Hold, HoldKind, ProfileGrant, Scope, SignatureStatus, State, Sunset, UnknownState,
};
pub use resolve::{Resolved, resolve};
pub use subject::{SHARDS, ShardNumber, Subject};
pub use tree::{LostStep, Tree};
pub use view::View;
