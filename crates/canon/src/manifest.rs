//! The version manifest: everything that evidence about one version is bound to, and its digest, the one subject.
//!
//! One subject and not three: verifiers that others wrote accept a statement when *any* of its subjects matches, so
//! with three of them an admitted card could be paired with another producer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AgentId, Digest, VersionLabel, json};

/// How a digest is known (B-05), the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestSource {
    /// Somebody says so.
    Declared,
    /// Signed provenance or a verifiable endpoint statement.
    Attested,
    /// Measured by us.
    Observed,
}

/// A digest and how it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownDigest {
    /// The digest.
    pub digest: Digest,
    /// How it is known.
    pub source: DigestSource,
}

/// What one agent version is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionManifest {
    /// The agent.
    pub agent: AgentId,
    /// Its version.
    pub version: VersionLabel,
    /// The card as served, canonical, without `signatures`.
    pub card_digest: Digest,
    /// The card's bytes as served; unlike `card_digest` it changes with white space. `None` where only the canonical
    /// form is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_raw_digest: Option<Digest>,
    /// The contract bundle.
    pub contract_digest: Digest,
    /// The artifacts by name: the agent's under [`VersionManifest::AGENT`], MCP servers' under their own.
    pub producer_digests: BTreeMap<String, KnownDigest>,
}

// === impl VersionManifest ===

impl VersionManifest {
    /// The name of the agent's own artifact among the producers.
    pub const AGENT: &'static str = "agent";

    /// The agent's own artifact.
    #[must_use]
    pub fn producer_digest(&self) -> Option<KnownDigest> {
        self.producer_digests.get(Self::AGENT).copied()
    }

    /// The canonical bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_value(self)
            .ok()
            .and_then(|value| json::canonicalize(&value).ok())
            .expect("a manifest holds only texts, so it always has a canonical form")
    }

    /// The digest of the canonical bytes: the one subject of every statement about this version.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> VersionManifest {
        let known = |seed: &[u8]| KnownDigest { digest: Digest::of(seed), source: DigestSource::Declared };
        VersionManifest {
            agent: "acme/planner".parse().unwrap(),
            version: "3.4.1".parse().unwrap(),
            card_digest: Digest::of(b"card"),
            card_raw_digest: Some(Digest::of(b"raw card")),
            contract_digest: Digest::of(b"contract"),
            producer_digests: [
                (VersionManifest::AGENT.to_owned(), known(b"agent")),
                ("work-plan".to_owned(), known(b"server")),
            ]
            .into(),
        }
    }

    #[test]
    fn each_member_changes_the_subject() {
        let base = manifest();
        let other = Digest::of(b"other");
        let mut attested = base.clone();
        attested.producer_digests.get_mut(VersionManifest::AGENT).unwrap().source = DigestSource::Attested;
        let mut fewer = base.clone();
        fewer.producer_digests.remove("work-plan");
        let changed = [
            VersionManifest { agent: "acme/other".parse().unwrap(), ..base.clone() },
            VersionManifest { version: "3.4.2".parse().unwrap(), ..base.clone() },
            VersionManifest { card_digest: other, ..base.clone() },
            VersionManifest { card_raw_digest: None, ..base.clone() },
            VersionManifest { contract_digest: other, ..base.clone() },
            attested,
            fewer,
        ];
        for one in changed {
            assert_ne!(one.digest(), base.digest(), "{one:?}");
        }
    }

    #[test]
    fn a_manifest_is_read_back_and_keeps_its_digest() {
        let read: VersionManifest = serde_json::from_slice(&manifest().to_bytes()).unwrap();
        assert_eq!(read, manifest());
        assert_eq!(read.digest(), manifest().digest());
    }

    #[test]
    fn the_canonical_bytes_are_frozen() {
        // A changed spelling would void all evidence: change this only with a new predicate version.
        let digest = |seed: &[u8]| Digest::of(seed).to_string();
        let expected = format!(
            r#"{{"agent":"acme/planner","card_digest":"{}","card_raw_digest":"{}","contract_digest":"{}","producer_digests":{{"agent":{{"digest":"{}","source":"declared"}},"work-plan":{{"digest":"{}","source":"declared"}}}},"version":"3.4.1"}}"#,
            digest(b"card"),
            digest(b"raw card"),
            digest(b"contract"),
            digest(b"agent"),
            digest(b"server"),
        );
        assert_eq!(String::from_utf8(manifest().to_bytes()).unwrap(), expected);
    }
}
