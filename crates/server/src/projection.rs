//! From what the store tells to changes of the index. Signatures are verified here, once, and never on a check.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_admission::{Change, Enforcement, SignatureStatus};
use ostiary_canon::{
    Profile,
    dsse::{DsseError, Envelope, Keyring, Verified},
    intoto::{Authorization, Statement, Subject},
};
use ostiary_domain::{
    EvidenceRecord, Store, StoreError, Version, lifecycle::Admitted, projection::project, version::Told,
};

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
    Ok(intact.map_or(SignatureStatus::Invalid, |record| verify(keys, &record, version, admitted)))
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
