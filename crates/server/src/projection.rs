//! From what the store tells to changes of the index. Signatures are verified here, once, and never on a check.
//!
//! A first filling verifies as many signatures as there are admitted versions: they are read in bulk and verified on
//! several threads, a bounded number of pieces of evidence in memory at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    sync::Arc,
    thread,
};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use ostiary_admission::{Change, Enforcement, SignatureStatus};
use ostiary_canon::{
    Profile,
    dsse::{DsseError, Envelope, Keyring, Verified},
    intoto::{Authorization, Statement, Subject},
};
use ostiary_domain::{
    EvidenceId, EvidenceRecord, Store, StoreError, Version, lifecycle::Admitted, projection::project, version::Told,
};

/// Versions whose evidence is read and verified together: some five kilobytes each.
const CHUNK: usize = 500;

/// Fewer than this are verified at once: a handful of signatures costs less than another thread.
const FEW: usize = 8;

/// The changes of a batch: its versions, and the enforcement of their namespaces.
///
/// # Errors
/// When the store does not answer.
pub async fn changes(store: &dyn Store, keys: &Arc<Keyring>, told: Vec<Told>) -> Result<Vec<Change>, StoreError> {
    let modes: BTreeMap<String, Enforcement> =
        told.iter().map(|told| (told.version.key.agent.namespace().to_owned(), told.enforcement)).collect();
    let mut out = Vec::with_capacity(told.len() + modes.len());
    let mut told = told.into_iter();
    let chunks = std::iter::from_fn(|| Some(told.by_ref().take(CHUNK).collect::<Vec<_>>()).filter(|c| !c.is_empty()));
    // One chunk is read while others are verified.
    let at_once = thread::available_parallelism().map_or(1, NonZero::get) + 1;
    let mut projected = stream::iter(chunks).map(|chunk| projected(store, keys, chunk)).buffered(at_once);
    while let Some(changes) = projected.try_next().await? {
        out.extend(changes);
    }
    drop(projected);
    out.extend(modes.into_iter().map(|(namespace, mode)| Change::Enforce(namespace.into_boxed_str(), mode)));
    Ok(out)
}

/// Reads what admitted each of `told`, and verifies it.
async fn projected(store: &dyn Store, keys: &Arc<Keyring>, told: Vec<Told>) -> Result<Vec<Change>, StoreError> {
    let ids: Vec<EvidenceId> = told
        .iter()
        .filter_map(|told| told.version.state.admitted())
        .map(|a| a.authorization.evidence.clone())
        .collect();
    let few = ids.len() < FEW;
    let found = if ids.is_empty() { Vec::new() } else { store.evidence_in_bulk(ids).await? };
    let keys = Arc::clone(keys);
    let verify = move || verified(&keys, &told, found);
    if few {
        return Ok(verify());
    }
    match tokio::task::spawn_blocking(verify).await {
        Ok(changes) => Ok(changes),
        // It cannot be cancelled, so it panicked: as if it had been called.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn verified(keys: &Keyring, told: &[Told], found: Vec<EvidenceRecord>) -> Vec<Change> {
    let found: BTreeMap<EvidenceId, EvidenceRecord> = found.into_iter().map(|one| (one.id.clone(), one)).collect();
    told.iter().map(|told| Change::Upsert(project(&told.version, signature(keys, &found, &told.version)))).collect()
}

/// What verifying the authorization of `version` says; one that has none needs none.
fn signature(keys: &Keyring, found: &BTreeMap<EvidenceId, EvidenceRecord>, version: &Version) -> SignatureStatus {
    let Some(admitted) = version.state.admitted() else { return SignatureStatus::Verified };
    let word = &admitted.authorization;
    let intact = found.get(&word.evidence).filter(|record| record.digest() == word.evidence_digest);
    intact.map_or(SignatureStatus::Invalid, |record| verify(keys, record, version, admitted))
}

fn verify(keys: &Keyring, record: &EvidenceRecord, version: &Version, admitted: &Admitted) -> SignatureStatus {
    let Ok(envelope) = Envelope::parse(&record.envelope) else { return SignatureStatus::Invalid };
    match keys.verify(&envelope) {
        Ok(signed) if says(&signed, version, admitted) => SignatureStatus::Verified,
        Ok(_) => SignatureStatus::Invalid,
        Err(DsseError::Revoked { .. }) => SignatureStatus::KeyRevoked,
        Err(_) => SignatureStatus::Invalid,
    }
}

/// Whether the signed words are those that routers are going to be told. What stands in a column is only a copy of them:
/// a copy that says more, or something else, is worth nothing.
fn says(signed: &Verified, version: &Version, admitted: &Admitted) -> bool {
    let Ok(statement) = Statement::<Authorization>::from_verified(signed) else { return false };
    let (copy, key) = (&admitted.authorization, &version.key);
    let facts = statement.predicate.facts();
    let about = Subject::new(&key.agent, &key.label, admitted.subject.manifest);
    let profiles = |list: &[Profile]| list.iter().cloned().collect::<BTreeSet<_>>();
    let waived: BTreeSet<&str> = copy.waived.iter().map(|w| w.check.0.as_str()).collect();
    statement.subject == about
        && facts.agent_version == key.label
        && (facts.card_digest, facts.contract_digest, facts.producer_digest)
            == (admitted.subject.card, admitted.subject.contract, admitted.subject.producer)
        && (facts.not_before, facts.window_ends, facts.verified_at)
            == (copy.not_before, copy.expires_at, copy.verified_at)
        && profiles(&facts.profiles_passed) == profiles(&copy.profiles)
        && facts.policy == copy.policy
        && facts.class == version.class
        && facts.waived.iter().map(String::as_str).collect::<BTreeSet<_>>() == waived
}
