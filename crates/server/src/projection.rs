//! From what the store tells to changes of the index. Signatures are verified here, once, and never on a check.

use std::collections::BTreeMap;

use ostiary_admission::{Change, Enforcement, SignatureStatus};
use ostiary_canon::dsse::{DsseError, Envelope, Keyring};
use ostiary_domain::{EvidenceRecord, Store, StoreError, Version, projection::project, version::Told};

/// The changes of a batch, namespaces first.
///
/// # Errors
/// When the store does not answer.
pub async fn changes(store: &dyn Store, keys: &Keyring, told: Vec<Told>) -> Result<Vec<Change>, StoreError> {
    let mut modes: BTreeMap<String, Enforcement> = BTreeMap::new();
    let mut out = Vec::with_capacity(told.len() + 1);
    for Told { version, enforcement } in told {
        modes.insert(version.key.agent.namespace().to_owned(), enforcement);
        let signature = signature(store, keys, &version).await?;
        out.push(Change::Upsert(project(&version, signature)));
    }
    out.extend(modes.into_iter().map(|(namespace, mode)| Change::Enforce(namespace.into_boxed_str(), mode)));
    Ok(out)
}

/// What verifying the authorization of `version` says; one that has none needs none.
async fn signature(store: &dyn Store, keys: &Keyring, version: &Version) -> Result<SignatureStatus, StoreError> {
    let Some(admitted) = version.state.admitted() else { return Ok(SignatureStatus::Verified) };
    let word = &admitted.authorization;
    let record = store.evidence(&word.evidence).await?;
    let intact = record.filter(|record| record.digest() == word.evidence_digest);
    Ok(intact.map_or(SignatureStatus::Invalid, |record| verify(keys, &record)))
}

fn verify(keys: &Keyring, record: &EvidenceRecord) -> SignatureStatus {
    let Ok(envelope) = Envelope::parse(&record.envelope) else { return SignatureStatus::Invalid };
    match keys.verify(&envelope) {
        Ok(_) => SignatureStatus::Verified,
        Err(DsseError::Revoked { .. }) => SignatureStatus::KeyRevoked,
        Err(_) => SignatureStatus::Invalid,
    }
}
