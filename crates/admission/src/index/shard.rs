//! One shard: a hash table of records, looked up by borrowed names.

use std::{
    hash::{BuildHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use hashbrown::HashTable;

use crate::record::AdmissionRecord;

/// The records of some agents. Cloning copies pointers, not records.
#[derive(Clone, Default)]
pub(super) struct Shard(HashTable<Arc<AdmissionRecord>>);

/// The hash that chooses an agent's shard.
pub(super) fn agent_hash(hasher: &impl BuildHasher, agent: &str) -> u64 {
    hasher.hash_one(agent)
}

// === impl Shard ===

impl Shard {
    pub(super) fn get(&self, hasher: &impl BuildHasher, agent: &str, version: &str) -> Option<&Arc<AdmissionRecord>> {
        self.0.find(version_hash(hasher, agent, version), |record| is(record, agent, version))
    }

    /// Puts a record in; says whether one of the same version was there.
    pub(super) fn upsert(&mut self, hasher: &impl BuildHasher, record: Arc<AdmissionRecord>) -> bool {
        let hash = version_hash(hasher, record.agent.as_str(), record.version.as_str());
        let same = |other: &Arc<AdmissionRecord>| is(other, record.agent.as_str(), record.version.as_str());
        if let Some(slot) = self.0.find_mut(hash, same) {
            *slot = record;
            return true;
        }
        let rehash = |one: &Arc<AdmissionRecord>| version_hash(hasher, one.agent.as_str(), one.version.as_str());
        self.0.insert_unique(hash, record, rehash);
        false
    }

    /// Takes a record out; says whether it was there.
    pub(super) fn remove(&mut self, hasher: &impl BuildHasher, agent: &str, version: &str) -> bool {
        let hash = version_hash(hasher, agent, version);
        match self.0.find_entry(hash, |record| is(record, agent, version)) {
            Ok(entry) => {
                entry.remove();
                true
            }
            Err(_) => false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<AdmissionRecord>> {
        self.0.iter()
    }
}

/// Agent and version together, told apart by the terminator that hashing a text adds.
fn version_hash(hasher: &impl BuildHasher, agent: &str, version: &str) -> u64 {
    let mut state = hasher.build_hasher();
    agent.hash(&mut state);
    version.hash(&mut state);
    state.finish()
}

fn is(record: &AdmissionRecord, agent: &str, version: &str) -> bool {
    record.version.as_str() == version && record.agent.as_str() == agent
}
