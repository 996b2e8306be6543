//! A try of a version, with everything that people ask first.

use ostiary_domain::{
    AdmissionClass, Authorization, GateReason, Route, State, Subject, Version, Waived, lifecycle::Rejection,
};
use ostiary_record::DigestSource;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{HoldView, texts};

/// One try of a version.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct VersionView {
    /// `namespace/agent`.
    pub agent: String,
    /// Label.
    pub version: String,
    /// Which try of the label, from 1.
    pub attempt: u32,
    /// Lifecycle state.
    pub state: String,
    /// Where it stands on the agent's route: `active`, `canary`, `previous`.
    pub route: Option<String>,
    /// The gate that would move it on.
    pub next_gate: Option<String>,
    /// Standing holds.
    pub holds: Vec<HoldView>,
    /// Digest of the contract bundle.
    pub bundle_digest: String,
    /// Verification environment.
    pub environment: String,
    /// `full`, or `reduced` where nobody can observe what the agent does.
    pub class: String,
    /// Profiles that it is to be admitted for.
    pub profiles: Vec<String>,
    /// What all evidence is about, once the static gate has fixed it.
    pub subject: Option<SubjectView>,
    /// What the registry vouches for, from admission on.
    pub authorization: Option<AuthorizationView>,
    /// Newest result of any gate.
    pub newest: Option<NewestView>,
    /// Why it was rejected, quarantined or retired.
    pub why: Vec<String>,
    /// Who submitted it.
    pub submitted_by: String,
    /// When.
    pub submitted_at: String,
    /// Why it differs from the version before, as the submitter says.
    pub change_reason: Option<String>,
    /// Where the difference can be read.
    pub implementation_diff: Option<String>,
    /// Revision that last changed what routers are told of it.
    pub revision: u64,
}

/// The digests that evidence is bound to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SubjectView {
    /// The one subject of all statements.
    pub manifest: String,
    /// Of the card, canonical, without signatures.
    pub card_digest: String,
    /// Of the contract bundle.
    pub contract_digest: String,
    /// Of the agent's artifact.
    pub producer_digest: String,
    /// How the artifact's digest is known.
    pub producer_digest_source: String,
}

/// What the registry vouches for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AuthorizationView {
    /// The signed statement.
    pub evidence: String,
    /// Its digest, as routers are told.
    pub evidence_digest: String,
    /// For which profiles.
    pub profiles: Vec<String>,
    /// From when.
    pub not_before: String,
    /// Until when, exclusive.
    pub expires_at: String,
    /// Checks that did not pass and were waived.
    pub waived: Vec<WaivedView>,
    /// When it was called in because a waiver under it was revoked; it entitles to nothing since.
    pub called_in_at: Option<String>,
}

/// A finding that did not stop a gate, by a waiver.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct WaivedView {
    /// The check.
    pub check: String,
    /// The profile, if the finding is bound to one.
    pub profile: Option<String>,
    /// Always `WAIVED`: it never counts as passed.
    pub verdict: String,
    /// What the check said: `FAIL` or `INCONCLUSIVE`.
    pub found: String,
    /// The check's reason code.
    pub reason_code: String,
    /// The waiver.
    pub waiver: String,
    /// The waiver's end.
    pub until: String,
}

/// A result and its evidence.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewestView {
    /// `PASS`, `FAIL`, `INCONCLUSIVE` or `NOT_APPLICABLE`.
    pub outcome: String,
    /// Id of the evidence.
    pub evidence: String,
}
// === impl VersionView ===

impl VersionView {
    /// A try and its place on the route.
    #[must_use]
    pub fn of(version: &Version, route: &Route) -> Self {
        Self {
            agent: version.key.agent.to_string(),
            version: version.key.label.to_string(),
            attempt: version.key.attempt.0,
            state: version.state.name().to_string(),
            route: place(version, route).map(str::to_owned),
            next_gate: version.state.next_gate().map(|gate| gate.to_string()),
            holds: version.holds.iter().map(HoldView::of).collect(),
            bundle_digest: version.bundle.to_string(),
            environment: version.environment.to_string(),
            class: class(version.class).to_owned(),
            profiles: texts(&version.activated),
            subject: version.state.subject().map(SubjectView::of),
            authorization: version.state.admitted().map(|admitted| AuthorizationView::of(&admitted.authorization)),
            newest: version
                .newest
                .as_ref()
                .map(|(outcome, evidence)| NewestView { outcome: outcome.to_string(), evidence: evidence.to_string() }),
            why: why(&version.state),
            submitted_by: version.submitted_by.to_string(),
            submitted_at: version.submitted_at.time.to_string(),
            change_reason: version.change_reason.clone(),
            implementation_diff: version.implementation_diff.clone(),
            revision: version.revision.0,
        }
    }
}

pub(super) const fn class(class: AdmissionClass) -> &'static str {
    match class {
        AdmissionClass::Full => "full",
        AdmissionClass::Reduced => "reduced",
    }
}

// === impl WaivedView ===

impl WaivedView {
    /// Everything that was waived.
    #[must_use]
    pub fn all(waived: &[Waived]) -> Vec<Self> {
        let one = |w: &Waived| Self {
            check: w.check.to_string(),
            profile: w.profile.as_ref().map(ToString::to_string),
            verdict: "WAIVED".to_owned(),
            found: if w.failed { "FAIL" } else { "INCONCLUSIVE" }.to_owned(),
            reason_code: w.code.as_str().to_owned(),
            waiver: w.waiver.to_string(),
            until: w.until.to_string(),
        };
        waived.iter().map(one).collect()
    }
}

fn place(version: &Version, route: &Route) -> Option<&'static str> {
    let key = Some(&version.key);
    if route.active.as_ref() == key {
        Some("active")
    } else if route.canary.as_ref() == key {
        Some("canary")
    } else if route.previous.as_ref().map(|previous| &previous.version) == key {
        Some("previous")
    } else {
        None
    }
}

/// Why a version ended or is off the road, every reason.
fn why(state: &State) -> Vec<String> {
    match state {
        State::Rejected { cause: Rejection::Gate { gate, reasons, .. }, .. } => {
            reasons.as_slice().iter().map(|reason| format!("{gate} gate: {}", sentence(reason))).collect()
        }
        State::Rejected { cause: Rejection::Withdrawal { who, reason }, .. } => {
            vec![format!("withdrawn by {who}: {reason}")]
        }
        State::Quarantined { reason, by, .. } => vec![format!("quarantined by {by}: {reason}")],
        State::Deprecated { reason, by, .. } => vec![format!("retired by {by}: {reason}")],
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. }
        | State::RegistryAdmitted { .. }
        | State::Canary { .. }
        | State::Active { .. } => Vec::new(),
    }
}

/// A reason as one line: its code, and what a check said where one did.
#[must_use]
pub fn sentence(reason: &GateReason) -> String {
    match reason {
        GateReason::Finding { check, profile, message, .. } => {
            let under = profile.as_ref().map(|profile| format!(" under {profile}")).unwrap_or_default();
            format!("{} ({check}{under}): {message}", reason.code())
        }
        other => {
            let facts = serde_json::to_value(other).unwrap_or_default();
            let facts: Vec<String> = facts
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, value)| *key != "reason" && !value.is_null())
                .map(|(key, value)| {
                    format!("{key} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect();
            if facts.is_empty() { reason.code().to_owned() } else { format!("{}: {}", reason.code(), facts.join(", ")) }
        }
    }
}

// === impl SubjectView ===

impl SubjectView {
    /// The digests.
    #[must_use]
    pub fn of(subject: &Subject) -> Self {
        Self {
            manifest: subject.manifest.to_string(),
            card_digest: subject.card.to_string(),
            contract_digest: subject.contract.to_string(),
            producer_digest: subject.producer.to_string(),
            producer_digest_source: source(subject.producer_source).to_owned(),
        }
    }
}

const fn source(source: DigestSource) -> &'static str {
    match source {
        DigestSource::Declared => "declared",
        DigestSource::Attested => "attested",
        DigestSource::Observed => "observed",
    }
}

// === impl AuthorizationView ===

impl AuthorizationView {
    fn of(word: &Authorization) -> Self {
        Self {
            evidence: word.evidence.to_string(),
            evidence_digest: word.evidence_digest.to_string(),
            profiles: texts(&word.profiles),
            not_before: word.not_before.to_string(),
            expires_at: word.expires_at.to_string(),
            waived: WaivedView::all(&word.waived),
            called_in_at: word.called_in.map(|at| at.time.to_string()),
        }
    }
}
