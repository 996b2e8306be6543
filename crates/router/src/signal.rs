//! What a router can say about a dispatch: counts, never payloads.

use std::time::Duration;

use ostiary_admission::DecisionReason;
use ostiary_canon::Digest;

/// Whose numbers these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject<'a> {
    /// `namespace/agent`.
    pub agent: &'a str,
    /// Label.
    pub version: &'a str,
    /// On whose behalf; empty when not known.
    pub consumer: &'a str,
    /// Whether it was reached as canary.
    pub canary: bool,
    /// The card that the router held.
    pub card_digest: Option<Digest>,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal<'a> {
    /// A dispatch ended well.
    Succeeded {
        /// How long it took.
        took: Duration,
    },
    /// A dispatch ended with an error.
    Failed {
        /// Its code.
        code: &'a str,
        /// Whether the contract registers the code.
        registered: bool,
        /// How long it took.
        took: Duration,
    },
    /// A dispatch was denied.
    Denied(DecisionReason),
    /// An answer was held against its schema.
    SchemaChecked {
        /// Whether it kept it.
        kept: bool,
    },
    /// A task went from one state to another that may not follow it.
    ImpossibleTransition {
        /// The state before.
        from: &'a str,
        /// The state after.
        to: &'a str,
    },
    /// An effect that an annotation rules out.
    AnnotationMismatch(&'a str),
    /// The consumer could not decode an answer.
    DecodeFailure,
    /// Something was written after a cancel was acknowledged.
    WriteAfterCancel,
    /// A request across tenants.
    CrossTenant {
        /// Whether it was let through.
        let_through: bool,
    },
    /// A digest other than the admitted one was seen: `card` or `tools`.
    DigestChange(&'a str),
}
