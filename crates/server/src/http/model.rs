//! What versions, holds, evidence and jobs look like over HTTP.

use ostiary_domain::{
    EvidenceRecord, GateReason, Hold, HoldKind, Job, Route, Scope, State, Version, lifecycle::Rejection,
    ports::Operated,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
}

/// A result and its evidence.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NewestView {
    /// `PASS`, `FAIL`, `INCONCLUSIVE` or `NOT_APPLICABLE`.
    pub outcome: String,
    /// Id of the evidence.
    pub evidence: String,
}

/// One standing hold.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    /// Its id.
    pub id: String,
    /// `route_disabled`, `canary_stopped` or `revalidating`.
    pub kind: String,
    /// For whom.
    pub scope: ScopeView,
    /// Why.
    pub reason: String,
    /// Who set it.
    pub author: String,
    /// The evidence it was set on.
    pub evidence: Option<String>,
    /// When it was set.
    pub set_at: String,
}

/// For whom a hold holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "scope", content = "of")]
pub enum ScopeView {
    /// Everybody.
    Everything,
    /// Dispatch over one interface, by its address.
    Interface(String),
    /// Dispatch under one profile.
    Profile(String),
    /// Dispatch on behalf of one consumer.
    Consumer(String),
    /// Dispatch with one card digest.
    Digest(String),
}

/// One piece of evidence, without its envelope.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EvidenceView {
    /// Its id.
    pub id: String,
    /// `namespace/agent`.
    pub agent: String,
    /// Label of the version.
    pub version: String,
    /// Try of the version.
    pub attempt: u32,
    /// The gate.
    pub gate: String,
    /// What the judgement was.
    pub outcome: String,
    /// Profiles it holds for.
    pub profiles_passed: Vec<String>,
    /// Profiles in which something failed.
    pub profiles_failed: Vec<String>,
    /// What was measured.
    pub subject: SubjectView,
    /// Digest of the policy.
    pub policy: String,
    /// Version of the harness.
    pub harness_version: String,
    /// Verification environment.
    pub environment: String,
    /// Digest of the recordings; none at the admission gate.
    pub run: Option<String>,
    /// When it was driven.
    pub verified_at: String,
    /// Until when it founds anything.
    pub expires_at: String,
    /// `decided`, or `kept` when its transition lost a race.
    pub standing: String,
    /// Digest of the envelope's bytes.
    pub digest: String,
    /// Revision that recorded it.
    pub revision: u64,
}

/// One run of the queue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: String,
    /// The gate.
    pub gate: String,
    /// `queued`, `leased`, `done` or `failed`.
    pub state: String,
    /// How often it was handed out.
    pub tries: u32,
    /// What the last try said when it failed.
    pub last_error: Option<String>,
}

/// Every change answers with the revision that routers can be asked to have.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The revision token.
    pub revision: u64,
}

/// A change that queued a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Queued {
    /// The run.
    pub job: Option<String>,
    /// The revision token.
    pub revision: u64,
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
    fn of(subject: &ostiary_domain::Subject) -> Self {
        Self {
            manifest: subject.manifest.to_string(),
            card_digest: subject.card.to_string(),
            contract_digest: subject.contract.to_string(),
            producer_digest: subject.producer.to_string(),
            producer_digest_source: source(subject.producer_source).to_owned(),
        }
    }
}

const fn source(source: ostiary_record::DigestSource) -> &'static str {
    match source {
        ostiary_record::DigestSource::Declared => "declared",
        ostiary_record::DigestSource::Attested => "attested",
        ostiary_record::DigestSource::Observed => "observed",
    }
}

// === impl AuthorizationView ===

impl AuthorizationView {
    fn of(word: &ostiary_domain::Authorization) -> Self {
        Self {
            evidence: word.evidence.to_string(),
            evidence_digest: word.evidence_digest.to_string(),
            profiles: texts(&word.profiles),
            not_before: word.not_before.to_string(),
            expires_at: word.expires_at.to_string(),
        }
    }
}

// === impl HoldView ===

impl HoldView {
    /// A hold.
    #[must_use]
    pub fn of(hold: &Hold) -> Self {
        Self {
            id: hold.id.to_string(),
            kind: hold.kind.as_str().to_owned(),
            scope: ScopeView::of(&hold.scope),
            reason: hold.reason.clone(),
            author: hold.author.to_string(),
            evidence: hold.evidence.as_ref().map(ToString::to_string),
            set_at: hold.set.time.to_string(),
        }
    }
}

// === impl ScopeView ===

impl ScopeView {
    fn of(scope: &Scope) -> Self {
        match scope {
            Scope::Everything => Self::Everything,
            Scope::Interface(url) => Self::Interface(url.clone()),
            Scope::Profile(profile) => Self::Profile(profile.to_string()),
            Scope::Consumer(consumer) => Self::Consumer(consumer.clone()),
            Scope::Digest(digest) => Self::Digest(digest.to_string()),
        }
    }

    /// The scope that a caller means.
    ///
    /// # Errors
    /// When a profile or digest is none.
    pub fn parse(&self) -> Result<Scope, String> {
        Ok(match self {
            Self::Everything => Scope::Everything,
            Self::Interface(url) => Scope::Interface(url.clone()),
            Self::Profile(text) => Scope::Profile(text.parse().map_err(|error| format!("{error}"))?),
            Self::Consumer(consumer) => Scope::Consumer(consumer.clone()),
            Self::Digest(text) => Scope::Digest(text.parse().map_err(|error| format!("{error}"))?),
        })
    }
}

/// The kind of hold of that name.
#[must_use]
pub fn hold_kind(text: &str) -> Option<HoldKind> {
    [HoldKind::RouteDisabled, HoldKind::CanaryStopped, HoldKind::Revalidating]
        .into_iter()
        .find(|kind| kind.as_str() == text)
}

// === impl EvidenceView ===

impl EvidenceView {
    /// A record.
    #[must_use]
    pub fn of(record: &EvidenceRecord) -> Self {
        Self {
            id: record.id.to_string(),
            agent: record.version.agent.to_string(),
            version: record.version.label.to_string(),
            attempt: record.version.attempt.0,
            gate: record.gate.to_string(),
            outcome: record.outcome.to_string(),
            profiles_passed: texts(&record.profiles_passed),
            profiles_failed: texts(&record.profiles_failed),
            subject: SubjectView::of(&record.subject),
            policy: record.policy.to_string(),
            harness_version: record.harness.clone(),
            environment: record.environment.clone(),
            run: record.run.map(|run| run.to_string()),
            verified_at: record.verified_at.to_string(),
            expires_at: record.expires_at.to_string(),
            standing: match record.standing {
                ostiary_domain::Standing::Decided => "decided",
                ostiary_domain::Standing::Kept => "kept",
            }
            .to_owned(),
            digest: record.digest().to_string(),
            revision: record.recorded.0,
        }
    }
}

// === impl JobView ===

impl JobView {
    /// A job.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self {
            id: job.id.to_string(),
            gate: job.gate.to_string(),
            state: job.state.as_str().to_owned(),
            tries: job.tries,
            last_error: job.last_error.clone(),
        }
    }
}

// === impl Changed, Queued ===

impl Changed {
    /// What an act changed.
    #[must_use]
    pub const fn of(done: &Operated) -> Self {
        Self { revision: done.revision.0 }
    }
}

impl Queued {
    /// What an act queued.
    #[must_use]
    pub fn of(done: &Operated) -> Self {
        Self { job: done.job.as_ref().map(ToString::to_string), revision: done.revision.0 }
    }
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
