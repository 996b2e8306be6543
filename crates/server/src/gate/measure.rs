//! What was measured: the manifest, whose digest is the one subject of everything that is said about a version.

use std::collections::BTreeMap;

use ostiary_canon::{
    Digest,
    manifest::{KnownDigest, VersionManifest},
};
use ostiary_contract::Bundle;
use ostiary_domain::{Subject, Version};
use ostiary_record::DigestSource;

/// What was measured, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The manifest; its digest is the subject.
    pub manifest: VersionManifest,
    /// The same in short.
    pub subject: Subject,
    /// Whether the card was really seen, and the artifact really pinned. What is not, never opens a gate.
    pub complete: bool,
}

/// The manifest of `version` with the card that was seen, if one was.
///
/// Where no card could be fetched, nothing can be said about another one: the one that earlier evidence names, or that
/// the bundle declares, stands in, and the measurement is incomplete.
#[must_use]
pub fn measure(version: &Version, bundle: &Bundle, card: Option<Digest>, source: DigestSource) -> Measured {
    let fixed = version.state.subject();
    let stand_in = || fixed.map_or_else(|| declared_card(bundle), |subject| subject.card);
    let pinned = bundle.contract.producer.digest();
    // A placeholder such as `latest` loads and is refused by the pinning check of every gate; it gets a digest of its
    // text, so that the refusal has a subject.
    let producer = pinned.unwrap_or_else(|| placeholder(bundle));
    let agent = KnownDigest { digest: producer, source };
    let manifest = VersionManifest {
        agent: version.key.agent.clone(),
        version: version.key.label.clone(),
        card_digest: card.unwrap_or_else(stand_in),
        // The bytes as served differ with white space from one answer to the next; evidence is bound to the canonical
        // form alone.
        card_raw_digest: None,
        contract_digest: bundle.digest,
        producer_digests: BTreeMap::from([(VersionManifest::AGENT.to_owned(), agent)]),
    };
    let subject = Subject {
        manifest: manifest.digest(),
        card: manifest.card_digest,
        contract: manifest.contract_digest,
        producer,
        producer_source: source,
    };
    Measured { complete: card.is_some() && pinned.is_some(), manifest, subject }
}

fn placeholder(bundle: &Bundle) -> Digest {
    let written = bundle.contract.producer.artifact_digest.as_ref();
    Digest::of(written.map(|digest| digest.value.to_string()).unwrap_or_default().as_bytes())
}

fn declared_card(bundle: &Bundle) -> Digest {
    let card = bundle.card.as_ref();
    card.and_then(|card| ostiary_protocol::a2a::digest::card_digest(&card.value).ok())
        .unwrap_or_else(|| Digest::of(b""))
}
