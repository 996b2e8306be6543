//! Records, removals and enforcements as entries, and back.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Profile, Revision, VersionLabel};
use ostiary_proto::admission::v1::{self as proto, entry::Entry as Kind, hold::Scope as WireScope};

use super::{NotUnderstood, timestamp_from_wire, timestamp_to_wire, words};
use crate::{
    index::Change,
    mode::{Enforcement, Mode},
    record::{AdmissionRecord, Evidence, Hold, ProfileGrant, Scope, Sunset},
    subject::Subject,
};

type Read<T> = Result<T, &'static str>;

pub(super) fn to_wire(change: &Change) -> proto::Entry {
    let kind = match change {
        Change::Upsert(record) => return record_entry(record),
        Change::Remove(agent, version) => {
            Kind::Removed(proto::Removed { agent: agent.as_str().to_owned(), version: version.as_str().to_owned() })
        }
        Change::Enforce(namespace, enforcement) => Kind::Enforcement(enforcement_to_wire(namespace, *enforcement)),
    };
    proto::Entry { entry: Some(kind) }
}

pub(super) fn record_entry(record: &AdmissionRecord) -> proto::Entry {
    let record = proto::AdmissionRecord {
        agent: record.agent.as_str().to_owned(),
        version: record.version.as_str().to_owned(),
        state: words::state(record.state).into(),
        canary_weight: record.canary_weight.into(),
        evidence: record.evidence.as_ref().map(evidence_to_wire),
        holds: record.holds.iter().map(hold_to_wire).collect(),
        sunset: record.sunset.as_ref().map(|sunset| proto::Sunset {
            until: Some(timestamp_to_wire(sunset.until)),
            consumers: sunset.consumers.iter().map(ToString::to_string).collect(),
        }),
        waived: record.waived.iter().flat_map(|waived| waived.iter()).map(ToString::to_string).collect(),
        revision: record.revision.0,
    };
    proto::Entry { entry: Some(Kind::Record(Box::new(record))) }
}

pub(super) fn from_wire(entry: proto::Entry) -> Result<Change, NotUnderstood> {
    match entry.entry {
        Some(Kind::Record(record)) => {
            let (agent, version) = names(&record.agent, &record.version)?;
            let about = Subject::Version(agent.clone(), version.clone());
            read_record(agent, version, *record)
                .map(Change::Upsert)
                .map_err(|why| NotUnderstood { about: Some(about), why })
        }
        Some(Kind::Removed(removed)) => {
            let (agent, version) = names(&removed.agent, &removed.version)?;
            Ok(Change::Remove(agent, version))
        }
        Some(Kind::Enforcement(enforcement)) => read_enforcement(enforcement),
        None => Err(NotUnderstood { about: None, why: "no kind of entry that this version knows" }),
    }
}

fn names(agent: &str, version: &str) -> Result<(AgentId, VersionLabel), NotUnderstood> {
    let nobody = |why| NotUnderstood { about: None, why };
    let agent = agent.parse().map_err(|_| nobody("`agent` is no agent id"))?;
    Ok((agent, version.parse().map_err(|_| nobody("`version` is no version label"))?))
}

fn read_record(agent: AgentId, version: VersionLabel, record: proto::AdmissionRecord) -> Read<AdmissionRecord> {
    let sunset = record.sunset.map(|sunset| {
        Ok::<_, &'static str>(Box::new(Sunset {
            until: time(sunset.until.as_ref())?,
            consumers: sunset.consumers.into_iter().map(String::into_boxed_str).collect(),
        }))
    });
    let waived: Vec<Box<str>> = record.waived.into_iter().map(String::into_boxed_str).collect();
    Ok(AdmissionRecord {
        agent,
        version,
        state: words::state_of(record.state).ok_or("an unknown `state`")?,
        canary_weight: record.canary_weight.try_into().map_err(|_| "a `canary_weight` that is too large")?,
        evidence: record.evidence.map(read_evidence).transpose()?,
        holds: record.holds.into_iter().map(read_hold).collect::<Read<_>>()?,
        sunset: sunset.transpose()?,
        waived: (!waived.is_empty()).then(|| waived.into()),
        revision: Revision(record.revision),
    })
}

fn evidence_to_wire(evidence: &Evidence) -> proto::Evidence {
    let bytes = |digest: &Digest| Bytes::copy_from_slice(digest.as_bytes());
    proto::Evidence {
        card_digest: bytes(&evidence.card_digest),
        contract_digest: bytes(&evidence.contract_digest),
        producer_digest: bytes(&evidence.producer_digest),
        evidence_digest: bytes(&evidence.evidence_digest),
        verified_at: Some(timestamp_to_wire(evidence.verified_at)),
        expires_at: Some(timestamp_to_wire(evidence.expires_at)),
        profiles: evidence
            .profiles
            .iter()
            .map(|grant| proto::ProfileGrant {
                profile: grant.profile.as_str().to_owned(),
                expires_at: Some(timestamp_to_wire(grant.expires_at)),
            })
            .collect(),
        class: words::class(evidence.class).into(),
        signature: words::signature(evidence.signature).into(),
        stale: evidence.stale,
        failed: evidence.failed,
    }
}

fn read_evidence(evidence: proto::Evidence) -> Read<Evidence> {
    Ok(Evidence {
        card_digest: digest(&evidence.card_digest)?,
        contract_digest: digest(&evidence.contract_digest)?,
        producer_digest: digest(&evidence.producer_digest)?,
        evidence_digest: digest(&evidence.evidence_digest)?,
        verified_at: time(evidence.verified_at.as_ref())?,
        expires_at: time(evidence.expires_at.as_ref())?,
        profiles: evidence
            .profiles
            .iter()
            .map(|grant| {
                Ok(ProfileGrant { profile: profile(&grant.profile)?, expires_at: time(grant.expires_at.as_ref())? })
            })
            .collect::<Read<_>>()?,
        class: words::class_of(evidence.class).ok_or("an unknown `class`")?,
        signature: words::signature_of(evidence.signature).ok_or("an unknown `signature`")?,
        stale: evidence.stale,
        failed: evidence.failed,
    })
}

fn hold_to_wire(hold: &Hold) -> proto::Hold {
    proto::Hold {
        kind: words::hold(hold.kind).into(),
        by_person: hold.by_person,
        scope: Some(match &hold.scope {
            Scope::All => WireScope::Everybody(proto::Everybody {}),
            Scope::Interface(interface) => WireScope::Interface(interface.to_string()),
            Scope::Profile(profile) => WireScope::Profile(profile.as_str().to_owned()),
            Scope::Consumer(consumer) => WireScope::Consumer(consumer.to_string()),
        }),
    }
}

fn read_hold(hold: proto::Hold) -> Read<Hold> {
    Ok(Hold {
        kind: words::hold_of(hold.kind).ok_or("an unknown kind of hold")?,
        scope: match hold.scope.ok_or("a hold for nobody that this version knows")? {
            WireScope::Everybody(_) => Scope::All,
            WireScope::Interface(interface) => Scope::Interface(interface.into()),
            WireScope::Profile(text) => Scope::Profile(profile(&text)?),
            WireScope::Consumer(consumer) => Scope::Consumer(consumer.into()),
        },
        by_person: hold.by_person,
    })
}

fn enforcement_to_wire(namespace: &str, enforcement: Enforcement) -> proto::Enforcement {
    let mode = match enforcement {
        Enforcement::Observe { .. } => Mode::Observe,
        Enforcement::Warn { .. } => Mode::Warn,
        Enforcement::Enforce => Mode::Enforce,
    };
    proto::Enforcement {
        namespace: namespace.to_owned(),
        mode: words::mode(mode).into(),
        until: enforcement.until().map(timestamp_to_wire),
    }
}

fn read_enforcement(enforcement: proto::Enforcement) -> Result<Change, NotUnderstood> {
    let namespace = enforcement.namespace.into_boxed_str();
    // An agent's id checks its namespace; there is no other name for one.
    if AgentId::new(&namespace, "any").is_err() {
        return Err(NotUnderstood { about: None, why: "`namespace` is no namespace" });
    }
    let until = enforcement.until.as_ref().map(|until| time(Some(until)));
    let read = match (words::mode_of(enforcement.mode), until) {
        (Some(Mode::Observe), Some(Ok(until))) => Ok(Enforcement::Observe { until }),
        (Some(Mode::Warn), Some(Ok(until))) => Ok(Enforcement::Warn { until }),
        (Some(Mode::Enforce), None) => Ok(Enforcement::Enforce),
        (None, _) => Err("an unknown `mode`"),
        (Some(_), _) => Err("a mode with an end that does not belong to it"),
    };
    match read {
        Ok(mode) => Ok(Change::Enforce(namespace, mode)),
        Err(why) => Err(NotUnderstood { about: Some(Subject::Namespace(namespace)), why }),
    }
}

fn digest(bytes: &[u8]) -> Read<Digest> {
    bytes.try_into().map(Digest::from_bytes).map_err(|_| "a digest that is not 32 bytes")
}

fn time(time: Option<&prost_types::Timestamp>) -> Read<Timestamp> {
    time.and_then(timestamp_from_wire).ok_or("a time that is none")
}

fn profile(text: &str) -> Read<Arc<Profile>> {
    text.parse().map(Arc::new).map_err(|_| "a profile that is none")
}
