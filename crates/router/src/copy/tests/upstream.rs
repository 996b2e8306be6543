//! A control plane in a few lines: keeps every revision it ever had, so that a test can tell any truth or lie of it.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_admission::{
    AdmissionClass, AdmissionRecord, Change, Enforcement, Evidence, Freshness, HEAD_PAYLOAD_TYPE, Head, Observed,
    ProfileGrant, Query, SignatureStatus, State, Subject, Tree, ViewScope, decide_dispatch,
    wire::{entry_bytes, leaf, timestamp_to_wire},
};
use ostiary_canon::{
    Digest, Profile, Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_proto::admission::v1::{self as wire, watch_admissions_response::Message};

use crate::test_clock::{SECOND, at};

pub(crate) const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";

/// What is in force at one revision.
pub(crate) type Entries = BTreeMap<Subject, Change>;

pub(crate) struct Upstream {
    key: SigningKey,
    /// By revision, beginning with the empty 0.
    pub(crate) history: Vec<Entries>,
}

/// The question of a router that holds the admitted card.
pub(crate) fn query<'q>(agent: &'q str, version: &'q str) -> Query<'q> {
    Query { agent, version, card_digest: Observed::Digest(card(version)), profile: Some(PROFILE), ..Query::default() }
}

pub(crate) fn card(version: &str) -> Digest {
    Digest::of(version.as_bytes())
}

pub(crate) fn record(agent: &str, version: &str, state: State) -> AdmissionRecord {
    let profile: Arc<Profile> = Arc::new(PROFILE.parse().unwrap());
    let expires_at = at(1_000_000 * SECOND);
    AdmissionRecord {
        agent: agent.parse().unwrap(),
        version: version.parse().unwrap(),
        state,
        canary_weight: 0,
        evidence: Some(Evidence {
            card_digest: card(version),
            contract_digest: Digest::of(b"contract"),
            producer_digest: Digest::of(b"producer"),
            evidence_digest: Digest::of(b"evidence"),
            verified_at: at(-100 * SECOND),
            expires_at,
            profiles: [ProfileGrant { profile, expires_at }].into(),
            class: AdmissionClass::Full,
            signature: SignatureStatus::Verified,
            stale: false,
            failed: false,
        }),
        holds: [].into(),
        sunset: None,
        waived: None,
        revision: Revision(0),
    }
}

// === impl Upstream ===

impl Upstream {
    pub(crate) fn new() -> Self {
        Self { key: SigningKey::from_seed([7; 32]), history: vec![Entries::new()] }
    }

    pub(crate) fn keyring(&self) -> Keyring {
        Keyring::trusting([self.key.verifying_key()])
    }

    pub(crate) fn revision(&self) -> u64 {
        self.history.len() as u64 - 1
    }

    /// One more revision.
    pub(crate) fn change(&mut self, changes: impl IntoIterator<Item = Change>) -> u64 {
        let mut entries = self.history.last().unwrap().clone();
        for change in changes {
            match change {
                Change::Remove(..) => _ = entries.remove(&change.subject()),
                _ => _ = entries.insert(change.subject(), change),
            }
        }
        self.history.push(entries);
        self.revision()
    }

    pub(crate) fn activate(&mut self, agent: &str, version: &str) -> u64 {
        self.change([Change::Upsert(record(agent, version, State::Active))])
    }

    pub(crate) fn quarantine(&mut self, agent: &str, version: &str) -> u64 {
        self.change([Change::Upsert(record(agent, version, State::Quarantined))])
    }

    pub(crate) fn observe(&mut self, namespace: &str) -> u64 {
        self.change([Change::Enforce(namespace.into(), Enforcement::Observe { until: at(1_000_000 * SECOND) })])
    }

    /// What `query` is answered by whoever holds exactly this revision.
    pub(crate) fn allows_at(&self, revision: u64, query: &Query<'_>, boot: i64) -> bool {
        let Some(entries) = self.history.get(usize::try_from(revision).unwrap()) else { return false };
        let record = entries.values().find_map(|change| match change {
            Change::Upsert(record)
                if (record.agent.as_str(), record.version.as_str()) == (query.agent, query.version) =>
            {
                Some(record)
            }
            _ => None,
        });
        let enforcement = match entries.get(&Subject::Namespace(query.namespace().into())) {
            Some(Change::Enforce(_, mode)) => *mode,
            _ => Enforcement::Enforce,
        };
        let freshness = Freshness { revision: Revision(revision), lease_until: at(boot + SECOND), at_least: None };
        decide_dispatch(query, record, enforcement, &freshness, at(boot)).allows()
    }

    pub(crate) fn root(&self, revision: u64) -> Digest {
        let entries = &self.history[usize::try_from(revision).unwrap()];
        entries.values().map(|change| (change.shard(), leaf(&entry_bytes(change)))).collect::<Tree>().root()
    }

    /// The head of `revision`, with a lease of fifteen seconds from `boot`.
    pub(crate) fn head(&self, revision: u64, boot: i64) -> Bytes {
        self.signed(&self.unsigned_head(revision, boot), &self.key)
    }

    pub(crate) fn unsigned_head(&self, revision: u64, boot: i64) -> Head {
        Head {
            scope: ViewScope::All,
            revision: Revision(revision),
            root: self.root(revision),
            entries: self.history[usize::try_from(revision).unwrap()].len() as u64,
            lease_until: at(boot) + SignedDuration::from_secs(15),
            issued_at: at(boot),
        }
    }

    pub(crate) fn sign(&self, head: &Head) -> Bytes {
        self.signed(head, &self.key)
    }

    pub(crate) fn signed(&self, head: &Head, key: &SigningKey) -> Bytes {
        key.sign(HEAD_PAYLOAD_TYPE, head.payload()).to_json().into()
    }

    pub(crate) fn heartbeat(&self, boot: i64) -> Message {
        Message::Heartbeat(wire::Heartbeat { head: self.head(self.revision(), boot) })
    }

    pub(crate) fn snapshot(&self, boot: i64) -> Vec<Message> {
        self.snapshot_of(self.revision(), boot)
    }

    pub(crate) fn snapshot_of(&self, revision: u64, boot: i64) -> Vec<Message> {
        let entries = &self.history[usize::try_from(revision).unwrap()];
        let entries: Vec<Bytes> = entries.values().map(entry_bytes).collect();
        let mut messages =
            vec![Message::SnapshotBegin(wire::SnapshotBegin { revision, entries: entries.len() as u64 })];
        let chunks = entries.chunks(2).map(<[Bytes]>::to_vec);
        messages.extend(chunks.map(|entries| Message::SnapshotChunk(wire::SnapshotChunk { entries })));
        messages.push(Message::SnapshotEnd(wire::SnapshotEnd { head: self.head(revision, boot) }));
        messages
    }

    /// What changed between two revisions, under a head.
    pub(crate) fn step(&self, from: u64, to: u64, boot: i64) -> wire::Delta {
        wire::Delta { head: self.head(to, boot), ..self.unsigned_step(from, to) }
    }

    /// The same without a head.
    pub(crate) fn unsigned_step(&self, from: u64, to: u64) -> wire::Delta {
        let (old, new) = (&self.history[usize::try_from(from).unwrap()], &self.history[usize::try_from(to).unwrap()]);
        let gone = old.keys().filter(|subject| !new.contains_key(subject)).map(|subject| match subject {
            Subject::Version(agent, version) => Change::Remove(agent.clone(), version.clone()),
            Subject::Namespace(_) => unreachable!("enforcements are replaced and never removed"),
        });
        let changed = new.iter().filter(|(subject, change)| old.get(subject) != Some(change));
        let changes = gone.chain(changed.map(|(_, change)| change.clone()));
        wire::Delta { from, to, entries: changes.map(|change| entry_bytes(&change)).collect(), head: Bytes::new() }
    }

    pub(crate) fn echo(&self, nonce: u64, boot: i64) -> Message {
        Message::EchoReply(wire::EchoReply { nonce, at: Some(timestamp_to_wire(at(boot))) })
    }
}
