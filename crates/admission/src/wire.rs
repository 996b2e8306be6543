//! The wire form of what a router knows, asks and is answered; both ends of a stream read and hash the same bytes.
//!
//! An entry is the protobuf encoding of `Entry`, fields in the order of their numbers, defaults left out. That encoding
//! is the only one that is understood: bytes with a field that we do not know, an enum value that we do not know or a
//! second spelling are [`NotUnderstood`], never read as something weaker. Whoever holds such an entry denies what it is
//! about ([`Sent::read`]).

mod answer;
mod entry;
mod question;
mod sent;
mod words;

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Revision, VersionLabel};
use ostiary_proto::admission::v1 as proto;
use prost::Message as _;

pub use self::{
    answer::{decision_from_wire, decision_to_wire},
    question::{query_of, resolve_query_of},
    sent::{Sent, Strange},
};
use crate::{
    index::Change,
    record::{AdmissionRecord, Hold, HoldKind, Scope, State},
    subject::Subject,
};

/// Bytes that are no entry that we understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry about {} is not understood: {why}", .about.as_ref().map_or_else(|| "something unreadable".to_owned(), ToString::to_string))]
pub struct NotUnderstood {
    /// What it is about, where at least that can be read.
    pub about: Option<Subject>,
    /// What is not understood.
    pub why: &'static str,
}

/// The bytes of an entry: what is sent, and what is hashed. Two equal changes have equal bytes.
#[must_use]
pub fn entry_bytes(change: &Change) -> Bytes {
    entry::to_wire(change).encode_to_vec().into()
}

/// The bytes of the entry for a record, without taking it.
#[must_use]
pub fn record_bytes(record: &AdmissionRecord) -> Bytes {
    entry::record_entry(record).encode_to_vec().into()
}

/// Reads an entry.
///
/// # Errors
/// When the bytes are not exactly what [`entry_bytes`] makes of some change.
pub fn read_entry(bytes: &[u8]) -> Result<Change, NotUnderstood> {
    let entry = proto::Entry::decode(bytes).map_err(|_| NotUnderstood { about: None, why: "no protobuf message" })?;
    let change = entry::from_wire(entry)?;
    // What was skipped in decoding, as fields of a newer version are, would be missing here.
    if entry_bytes(&change) == bytes {
        Ok(change)
    } else {
        Err(NotUnderstood { about: Some(change.subject()), why: "it holds more than this version knows" })
    }
}

/// The digest of an entry in a tree: of its bytes as they were sent.
#[must_use]
pub fn leaf(bytes: &[u8]) -> Digest {
    Digest::of(bytes)
}

/// The record that stands in for one that is not understood: it denies everybody in every enforcement mode.
#[must_use]
pub fn denying(agent: AgentId, version: VersionLabel, revision: Revision) -> AdmissionRecord {
    AdmissionRecord {
        agent,
        version,
        state: State::Draft,
        canary_weight: 0,
        evidence: None,
        holds: [Hold { kind: HoldKind::RouteDisabled, scope: Scope::All, by_person: true }].into(),
        sunset: None,
        waived: None,
        revision,
    }
}

/// A time as protobuf has it.
#[must_use]
pub fn timestamp_to_wire(time: Timestamp) -> prost_types::Timestamp {
    // Protobuf counts nanoseconds forward, also before 1970.
    let nanos = time.subsec_nanosecond();
    if nanos < 0 {
        prost_types::Timestamp { seconds: time.as_second() - 1, nanos: nanos + 1_000_000_000 }
    } else {
        prost_types::Timestamp { seconds: time.as_second(), nanos }
    }
}

/// Reads a time; `None` for what is no time.
#[must_use]
pub fn timestamp_from_wire(time: &prost_types::Timestamp) -> Option<Timestamp> {
    if !(0..1_000_000_000).contains(&time.nanos) {
        return None;
    }
    Timestamp::new(time.seconds, time.nanos).ok()
}
