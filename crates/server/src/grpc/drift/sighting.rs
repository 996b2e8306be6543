//! Reads a drift report: every field is looked at before anything is done.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Digest;
use ostiary_domain::{
    DriftReportId,
    drift::{Claim, DriftFinding, DriftKind, NewDriftReport},
    ports::Idempotency,
};
use ostiary_proto::drift::v1 as wire;

use super::{digest, invalid, name, parsed, time};
use crate::{app::App, auth::Caller, error::ApiError};

/// How far a router's clock may be ahead of ours.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// Longest reference to a sample.
const REFERENCE: usize = 1_024;

/// The report in `message`.
///
/// # Errors
/// `INVALID_REQUEST` with the field that does not do.
pub(super) fn read(message: &wire::ReportDriftRequest, caller: &Caller, app: &App) -> Result<NewDriftReport, ApiError> {
    let key = name("idempotency_key", &message.idempotency_key)?;
    let claim = claim(message, app.clock.now())?;
    let asked = serde_json::to_vec(&(&message.agent, &message.version, &claim));
    let request = Digest::of(&asked.expect("a claim holds only texts, numbers and times"));
    Ok(NewDriftReport {
        id: DriftReportId(app.ids.next("drift")),
        agent: parsed("agent", &message.agent)?,
        label: parsed("version", &message.version)?,
        by: caller.actor(),
        key: Idempotency { key, request },
        claim,
    })
}

fn claim(message: &wire::ReportDriftRequest, now: Timestamp) -> Result<Claim, ApiError> {
    let (finding, observed) = (finding(message)?, digest("observed_digest", &message.observed_digest)?);
    if finding == DriftFinding::Mismatch && observed.is_none() {
        return Err(invalid("observed_digest", "a mismatch says what was seen: `sha256:<hex>`"));
    }
    let (first_seen, last_seen) = seen(message, now)?;
    if message.count == 0 {
        return Err(invalid("count", "what was never seen is not reported"));
    }
    Ok(Claim {
        router_id: name("router_id", &message.router_id)?,
        kind: kind(message)?,
        finding,
        expected: digest("expected_digest", &message.expected_digest)?,
        observed,
        first_seen,
        last_seen,
        count: message.count,
        sample_reference: reference(&message.sample_reference)?,
    })
}

fn seen(message: &wire::ReportDriftRequest, now: Timestamp) -> Result<(Timestamp, Timestamp), ApiError> {
    let (first, last) = (time("first_seen", message.first_seen)?, time("last_seen", message.last_seen)?);
    if last < first {
        return Err(invalid("last_seen", "is before `first_seen`"));
    }
    if last.duration_since(now) > AHEAD {
        return Err(invalid("last_seen", "is minutes in the future: set the router's clock"));
    }
    Ok((first, last))
}

fn kind(message: &wire::ReportDriftRequest) -> Result<DriftKind, ApiError> {
    match wire::DriftKind::try_from(message.kind) {
        Ok(wire::DriftKind::Card) => Ok(DriftKind::Card),
        Ok(wire::DriftKind::Contract) => Ok(DriftKind::Contract),
        Ok(wire::DriftKind::Producer) => Ok(DriftKind::Producer),
        Ok(wire::DriftKind::Identity) => Ok(DriftKind::Identity),
        Ok(wire::DriftKind::Behavior) => Ok(DriftKind::Behavior),
        Ok(wire::DriftKind::Unspecified) => Err(invalid("kind", "is missing")),
        Err(_) => Err(invalid("kind", format_args!("{} is none that this server knows", message.kind))),
    }
}

fn finding(message: &wire::ReportDriftRequest) -> Result<DriftFinding, ApiError> {
    match wire::DriftFinding::try_from(message.finding) {
        Ok(wire::DriftFinding::Mismatch) => Ok(DriftFinding::Mismatch),
        Ok(wire::DriftFinding::Unreachable) => Ok(DriftFinding::Unreachable),
        Ok(wire::DriftFinding::Unspecified) => Err(invalid("finding", "is missing")),
        Err(_) => Err(invalid("finding", format_args!("{} is none that this server knows", message.finding))),
    }
}

fn reference(text: &str) -> Result<Option<String>, ApiError> {
    if text.len() > REFERENCE {
        return Err(invalid("sample_reference", format_args!("is longer than {REFERENCE} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid("sample_reference", "contains a control character"));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
