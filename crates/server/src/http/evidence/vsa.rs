//! `GET …/versions/{version}/vsa`: what the registry verified, in the words of supply-chain tools.
//!
//! Made from what is stored, so the same standing gives the same bytes. A PASSED summary has no end that its readers
//! would look at; so there is one only while the registry's own word holds and the version is on the road.

use std::sync::Arc;

use axum::{
    extract::State as Shared,
    http::header,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use ostiary_canon::{
    Digest,
    dsse::Envelope,
    intoto::{Authorization, AuthorizationFacts, PAYLOAD_TYPE, Statement, Subject},
    vsa::{Ground, Vsa, WaivedChecks},
};
use ostiary_domain::{EvidenceRecord, Scope, Standing, State, Version, lifecycle::Admitted};
use ostiary_record::Outcome;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
        versions::newest,
    },
};

/// Get a signed SLSA verification summary of a version.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/vsa", tag = "evidence",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/vnd.dsse.envelope+json"),
        (status = "4XX", body = Problem)
    )
)]
pub async fn vsa(
    Shared(app): Shared<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<Response, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let evidence = app.store.evidence_of(&version.key).await?;
    let summary = match &version.state {
        State::RegistryAdmitted { admitted, .. } | State::Canary { admitted, .. } | State::Active { admitted, .. } => {
            admission(&version, admitted, &evidence, app.store.now().await?)?
        }
        State::Rejected { .. } => refusal(&version, &evidence)?,
        other => return Err(nothing(format!("a version in state {} has no summary", other.name()))),
    };
    let payload = summary.to_bytes().map_err(ApiError::internal)?;
    let envelope = app.signer.sign(PAYLOAD_TYPE, &payload).map_err(ApiError::internal)?;
    Ok(([(header::CONTENT_TYPE, "application/vnd.dsse.envelope+json")], envelope).into_response())
}

/// The summary of an authorization that holds now.
fn admission(
    version: &Version,
    admitted: &Admitted,
    evidence: &[EvidenceRecord],
    now: Timestamp,
) -> Result<Statement<Vsa>, ApiError> {
    let word = &admitted.authorization;
    let record = evidence.iter().find(|record| record.id == word.evidence);
    let record = record.ok_or_else(|| ApiError::internal("an admitted version without its authorization"))?;
    // our own store, and bound to the version by its digest
    if Digest::of(&record.envelope) != word.evidence_digest {
        return Err(ApiError::internal("an authorization of another digest than the version names"));
    }
    let envelope = Envelope::parse(&record.envelope).map_err(ApiError::internal)?;
    let statement = Statement::<Authorization>::parse(&envelope.payload).map_err(ApiError::internal)?;
    if let Some(hold) = version.holds.iter().find(|hold| hold.scope == Scope::Everything) {
        return Err(nothing(format!("a hold keeps everybody from it: {}", hold.reason)));
    }
    if !statement.predicate.holds_at(now) {
        return Err(nothing(format!("the authorization ended at {}", word.expires_at)));
    }
    let facts = statement.predicate.facts();
    let vsa = Vsa::admitted(&version.key.agent, facts, word.evidence_digest, &waived(facts, evidence));
    Ok(Statement::new(statement.subject, vsa))
}

/// What was waived in each gate that the authorization rests on.
fn waived(facts: &AuthorizationFacts, evidence: &[EvidenceRecord]) -> WaivedChecks {
    let mut by_gate = WaivedChecks::new();
    for gate in &facts.gates {
        let records = evidence.iter().filter(|record| record.digest() == gate.evidence_digest);
        let checks = records.flat_map(|record| &record.waived).map(|waived| waived.check.0.clone());
        by_gate.entry(gate.gate.clone()).or_default().extend(checks);
    }
    by_gate
}

/// The summary of the gate that failed.
fn refusal(version: &Version, evidence: &[EvidenceRecord]) -> Result<Statement<Vsa>, ApiError> {
    let failed = |record: &&EvidenceRecord| record.outcome == Outcome::Fail && record.standing == Standing::Decided;
    let record = evidence.iter().filter(failed).max_by_key(|record| record.recorded);
    let record = record.ok_or_else(|| nothing("the version was taken back before any gate failed".to_owned()))?;
    let ground = Ground { gate: record.gate.to_string(), envelope: record.digest() };
    let key = &version.key;
    let vsa = Vsa::refused(&key.agent, &key.label, record.policy, record.verified_at, ground);
    Ok(Statement::new(Subject::new(&key.agent, &key.label, record.subject.manifest), vsa))
}

fn nothing(why: String) -> ApiError {
    ApiError::new(ErrorCode::NotReady, why)
}
