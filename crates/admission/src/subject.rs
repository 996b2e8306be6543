//! What an entry is about: one version, or one namespace.

use std::fmt;

use ostiary_canon::{AgentId, VersionLabel};
use sha2::{Digest as _, Sha256};

use crate::index::Change;

/// What an entry is about. Two entries about the same subject are an old and a new value of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// One version of an agent.
    Version(AgentId, VersionLabel),
    /// How a namespace is enforced.
    Namespace(Box<str>),
}

/// In which of the [`SHARDS`] shards of a tree an entry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardNumber(u16);

/// How many shards a tree has: at a million versions one shard's digest is over some 250 leaves, hashed in microseconds.
pub const SHARDS: usize = 4096;

/// What is hashed before an agent's id.
const AGENT: &[u8] = b"ostiary.agent.v1\0";

/// What is hashed before a namespace.
const NAMESPACE: &[u8] = b"ostiary.namespace.v1\0";

// === impl Subject ===

impl Subject {
    /// The namespace that it belongs to.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Version(agent, _) => agent.namespace(),
            Self::Namespace(namespace) => namespace,
        }
    }

    /// The shard that it counts in: all versions of an agent in one.
    #[must_use]
    pub fn shard(&self) -> ShardNumber {
        match self {
            Self::Version(agent, _) => ShardNumber::of_agent(agent),
            Self::Namespace(namespace) => ShardNumber::of_namespace(namespace),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(agent, version) => write!(f, "{agent} {version}"),
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
        }
    }
}

// === impl Change ===

impl Change {
    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Upsert(record) => Subject::Version(record.agent.clone(), record.version.clone()),
            Self::Remove(agent, version) => Subject::Version(agent.clone(), version.clone()),
            Self::Enforce(namespace, _) => Subject::Namespace(namespace.clone()),
        }
    }

    /// The namespace that it belongs to.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::Upsert(record) => record.agent.namespace(),
            Self::Remove(agent, _) => agent.namespace(),
            Self::Enforce(namespace, _) => namespace,
        }
    }

    /// The shard that its entry counts in.
    #[must_use]
    pub fn shard(&self) -> ShardNumber {
        match self {
            Self::Upsert(record) => ShardNumber::of_agent(&record.agent),
            Self::Remove(agent, _) => ShardNumber::of_agent(agent),
            Self::Enforce(namespace, _) => ShardNumber::of_namespace(namespace),
        }
    }
}

// === impl ShardNumber ===

impl ShardNumber {
    /// The shard of all versions of an agent.
    #[must_use]
    pub fn of_agent(agent: &AgentId) -> Self {
        Self::of(AGENT, agent.as_str())
    }

    /// The shard of a namespace's enforcement.
    #[must_use]
    pub fn of_namespace(namespace: &str) -> Self {
        Self::of(NAMESPACE, namespace)
    }

    /// Below [`SHARDS`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The first twelve bits of the digest.
    fn of(tag: &[u8], text: &str) -> Self {
        let digest = Sha256::new().chain_update(tag).chain_update(text.as_bytes()).finalize();
        Self(u16::from_be_bytes([digest[0], digest[1]]) >> 4)
    }
}
