//! How dispatches went, as routers count it: numbers only, never a payload. Nothing is judged by them yet.
//!
//! A window becomes rows of one shape, (version, consumer, signal, code) and a number, so that sums need no knowledge of
//! the signals. Windows of the same [`BUCKET`] are added up when they are taken; a window is counted once, however often
//! it is told.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, Digest, VersionLabel};
use serde::{Deserialize, Serialize};

use crate::names::Actor;

/// A stretch of time at one router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Who reports, by its token.
    pub by: Actor,
    /// What it calls itself.
    pub router_id: String,
    /// Which run of it.
    pub instance: String,
    /// The window's number in that run.
    pub number: u64,
    /// When it starts.
    pub from: Timestamp,
    /// What was counted.
    pub counts: BTreeMap<Counted, u64>,
}

/// What a number counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// The agent.
    pub agent: AgentId,
    /// The label.
    pub label: VersionLabel,
    /// Where it was counted.
    pub of: Audience,
    /// What was counted.
    pub signal: Signal,
    /// Which of the signal's kinds: an error code, a reason, a bound; empty where a signal has none.
    pub code: String,
}

/// On whose behalf, and against which card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Audience {
    /// On whose behalf; empty when not known.
    pub consumer: String,
    /// Whether the version was reached as canary.
    pub canary: bool,
    /// The card digest that the router held.
    pub card: Option<Digest>,
}

/// A sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeSum {
    /// Of whom.
    pub of: Audience,
    /// Of what.
    pub signal: Signal,
    /// Of which kind.
    pub code: String,
    /// How many.
    pub count: u64,
}

/// What routers count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Dispatches.
    Dispatches,
    /// Those that ended well.
    Succeeded,
    /// Those that ended with an error of the contract, by its code.
    Error,
    /// Error codes that the contract does not know, by code.
    UnregisteredError,
    /// Decisions to deny, by reason.
    Denied,
    /// Answers whose schema was checked.
    SchemaChecked,
    /// Those that broke it.
    SchemaFailed,
    /// Task states that may not follow each other, as `from>to`.
    ImpossibleTransition,
    /// Effects that an annotation rules out, by annotation.
    AnnotationMismatch,
    /// Answers that the consumer could not decode.
    DecodeFailure,
    /// Writes after a cancel was acknowledged.
    WriteAfterCancel,
    /// Cross-tenant requests that were denied.
    CrossTenantDenied,
    /// Cross-tenant requests that were let through.
    CrossTenantAllowed,
    /// Digests that differed from the admitted ones, by kind.
    DigestChange,
    /// How many dispatches took at most that many nanoseconds and more than the bound before; `more` for the rest.
    Latency,
}

/// Windows of so long are added up into one row: short enough to see an hour's course, long enough to keep few rows.
pub const BUCKET: SignedDuration = SignedDuration::from_mins(10);

/// How late a window may be told. Which windows were counted is remembered for longer, so none counts twice.
pub const LATEST: SignedDuration = SignedDuration::from_hours(24);

/// How long it is remembered which windows were counted.
pub const REMEMBERED: SignedDuration = SignedDuration::from_hours(49);

/// The bucket that `at` falls into, by its start.
#[must_use]
pub fn bucket(at: Timestamp) -> Timestamp {
    let (seconds, length) = (at.as_second(), BUCKET.as_secs());
    Timestamp::from_second(seconds - seconds.rem_euclid(length)).unwrap_or(at)
}

// === impl Signal ===

impl Signal {
    /// All.
    pub const ALL: [Self; 15] = [
        Self::Dispatches,
        Self::Succeeded,
        Self::Error,
        Self::UnregisteredError,
        Self::Denied,
        Self::SchemaChecked,
        Self::SchemaFailed,
        Self::ImpossibleTransition,
        Self::AnnotationMismatch,
        Self::DecodeFailure,
        Self::WriteAfterCancel,
        Self::CrossTenantDenied,
        Self::CrossTenantAllowed,
        Self::DigestChange,
        Self::Latency,
    ];

    /// The signal's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatches => "dispatches",
            Self::Succeeded => "succeeded",
            Self::Error => "error",
            Self::UnregisteredError => "unregistered_error",
            Self::Denied => "denied",
            Self::SchemaChecked => "schema_checked",
            Self::SchemaFailed => "schema_failed",
            Self::ImpossibleTransition => "impossible_transition",
            Self::AnnotationMismatch => "annotation_mismatch",
            Self::DecodeFailure => "decode_failure",
            Self::WriteAfterCancel => "write_after_cancel",
            Self::CrossTenantDenied => "cross_tenant_denied",
            Self::CrossTenantAllowed => "cross_tenant_allowed",
            Self::DigestChange => "digest_change",
            Self::Latency => "latency",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKET, LATEST, REMEMBERED, Signal, bucket};
    use crate::sample::hour;

    #[test]
    fn a_bucket_begins_at_or_before_what_falls_into_it() {
        let late = hour(3) + BUCKET - jiff::SignedDuration::from_nanos(1);
        assert_eq!((bucket(hour(3)), bucket(late)), (hour(3), hour(3)));
        assert_eq!(bucket(hour(3) + BUCKET), hour(3) + BUCKET);
    }

    #[test]
    fn a_window_cannot_be_told_again_after_it_was_forgotten() {
        // It is remembered from when it was taken, and may begin up to an hour before it ends.
        assert!(REMEMBERED > LATEST + LATEST);
    }

    #[test]
    fn signals_are_stored_by_their_names() {
        for signal in Signal::ALL {
            assert_eq!(serde_json::to_value(signal).expect("a word"), signal.as_str());
        }
    }
}
