//! What stands in the way of a version, in words: each cause with its remedy and the command that comes next.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use ostiary_domain::{
    Edge, EvidenceRecord, GateDecision, GateReason, Job, JobState, Scope, State, Version, approval::Consent,
    lifecycle::Rejection,
};
use ostiary_record::Gate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::{edge_name, words};

/// One thing that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CauseView {
    /// `finding`, `missing`, `approval`, `expired`, `hold`, `run`, `changed` or `order`.
    pub kind: String,
    /// The gate that says so.
    pub gate: Option<String>,
    /// The stable code.
    pub code: String,
    /// What is so, as a sentence.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// The command that comes next, if one does.
    pub command: Option<String>,
}

/// The newest result of a gate, with the decision that was made on it where it is still readable.
pub struct Newest<'a> {
    /// The evidence.
    pub record: &'a EvidenceRecord,
    /// The decision.
    pub decision: Option<&'a GateDecision>,
}

/// What is known when a version is explained.
pub struct Known<'a> {
    /// The version.
    pub version: &'a Version,
    /// The newest result of each gate.
    pub gates: &'a [Newest<'a>],
    /// Its runs.
    pub jobs: &'a [Job],
    /// Who has consented to which step by now; a gate's decision tells of the moment when it was asked.
    pub consents: &'a BTreeMap<Edge, Consent>,
    /// Now.
    pub now: Timestamp,
}

/// Everything that stands in the way, the weightiest first: nothing = the version may go on.
#[must_use]
pub fn causes(known: &Known<'_>) -> Vec<CauseView> {
    let mut out = ended(known);
    out.extend(holds(known));
    out.extend(runs(known));
    // a version that has ended is explained by what ended it; older results of gates are in its evidence
    if !known.version.state.name().is_terminal() {
        out.extend(gates(known));
        out.extend(expired(known));
    }
    let mut seen = BTreeSet::new();
    // two holds that read alike are two: each has to be lifted by its own command
    out.retain(|cause| seen.insert((cause.code.clone(), cause.what.clone(), cause.command.clone())));
    out
}

/// Where the version stands and whether a router may dispatch to it, as one sentence.
#[must_use]
pub fn summary(known: &Known<'_>, causes: &[CauseView]) -> String {
    let version = known.version;
    let name = format!("{}@{}", version.key.agent, version.key.label);
    let held = if version.holds.is_empty() { "" } else { ", as far as no hold stops it" };
    let ran_out = version.state.admitted().is_some() && !version.is_authorized(known.now);
    let dispatch = match &version.state {
        State::Active { .. } | State::Canary { .. } if ran_out => {
            "its evidence has run out or was called in, so no router may dispatch to it".to_owned()
        }
        State::Active { .. } => format!("routers may dispatch to it{held}"),
        State::Canary { .. } => format!("routers may dispatch to it for its cohort{held}"),
        State::RegistryAdmitted { .. } => {
            "it is admitted, and no router dispatches to it before a promotion".to_owned()
        }
        State::Quarantined { .. } => "it is off the road".to_owned(),
        State::Rejected { .. } => "it was not admitted, and this try is over".to_owned(),
        State::Deprecated { .. } => "it is retired".to_owned(),
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. } => "it is not admitted yet".to_owned(),
    };
    let count = match causes.len() {
        0 => "nothing stands in its way".to_owned(),
        1 => "one thing stands in its way".to_owned(),
        n => format!("{n} things stand in its way"),
    };
    format!("{name} is {}: {dispatch}; {count}.", version.state.name())
}

/// What to type when nothing stands in the way.
#[must_use]
pub fn onward(version: &Version) -> Option<String> {
    match &version.state {
        State::RegistryAdmitted { .. } => {
            Some(command(version, "version promote", "--to canary --reason \"…\" --wait"))
        }
        State::Canary { .. } => Some(command(version, "version promote", "--to active --reason \"…\" --wait")),
        State::Quarantined { .. } => Some(command(version, "version release", "--reason \"…\"")),
        State::Rejected { .. } => Some(submit(version)),
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. } => Some(command(version, "version status", "")),
        State::Active { .. } | State::Deprecated { .. } => None,
    }
}

fn ended(known: &Known<'_>) -> Vec<CauseView> {
    let version = known.version;
    match &version.state {
        State::Rejected { cause: Rejection::Gate { gate, reasons, .. }, .. } => reasons
            .as_slice()
            .iter()
            .map(|reason| CauseView { command: Some(submit(version)), ..of(version, *gate, reason) })
            .collect(),
        State::Rejected { cause: Rejection::Withdrawal { who, reason }, .. } => {
            let what = format!("{who} took it back: {reason}");
            vec![order("WITHDRAWN", what, "submit it again when it is ready", submit(version))]
        }
        State::Quarantined { reason, by, .. } => {
            vec![quarantined(known, format!("{by} took it off the road: {reason}"))]
        }
        State::Deprecated { reason, by, .. } => {
            let what = format!("{by} retired it: {reason}");
            vec![order("DEPRECATED", what, "submit another version", submit(version))]
        }
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. }
        | State::RegistryAdmitted { .. }
        | State::Canary { .. }
        | State::Active { .. } => Vec::new(),
    }
}

/// The way out of quarantine: people's consent first, then the release.
fn quarantined(known: &Known<'_>, what: String) -> CauseView {
    let released = known.consents.get(&Edge::Release).is_some_and(|consent| consent.suffices());
    let (remedy, next) = if released {
        let next = command(known.version, "version release", "--reason \"…\"");
        ("people consented to the release: ask for it, and fresh runs must pass", next)
    } else {
        let next = command(known.version, "approve", "--edge release --reason \"…\"");
        ("correct it; then somebody who did not submit it approves the release, and fresh runs must pass", next)
    };
    order("QUARANTINED", what, remedy, next)
}

/// What somebody decided.
fn order(code: &str, what: String, remedy: &str, command: String) -> CauseView {
    let (kind, code, remedy) = ("order".to_owned(), code.to_owned(), remedy.to_owned());
    CauseView { kind, gate: None, code, what, remedy, command: Some(command) }
}

fn holds(known: &Known<'_>) -> Vec<CauseView> {
    let one = |hold: &ostiary_domain::Hold| CauseView {
        kind: "hold".to_owned(),
        gate: None,
        code: hold.kind.as_str().to_uppercase(),
        what: format!("{} holds it ({}) for {}: {}", hold.author, hold.kind.as_str(), whom(&hold.scope), hold.reason),
        remedy: "a person looks at the reason, sees to it, and lifts the hold; no run does".to_owned(),
        command: Some(command(known.version, "version hold lift", &format!("--id {} --reason \"…\"", hold.id))),
    };
    known.version.holds.iter().map(one).collect()
}

/// For whom a hold holds.
fn whom(scope: &Scope) -> String {
    match scope {
        Scope::Everything => "everybody".to_owned(),
        Scope::Interface(url) => format!("interface {url}"),
        Scope::Profile(profile) => format!("profile {profile}"),
        Scope::Consumer(consumer) => format!("consumer {consumer}"),
        Scope::Digest(digest) => format!("card {digest}"),
    }
}

fn runs(known: &Known<'_>) -> Vec<CauseView> {
    let newest = known.jobs.last().filter(|job| job.state != JobState::Done);
    let one = |job: &Job| {
        let error = job.last_error.as_deref().map(|error| format!("; the last try said: {error}")).unwrap_or_default();
        let (code, what, remedy, next) = match job.state {
            JobState::Queued => (
                "RUN_WAITS",
                format!("the run of the {} gate waits for a worker{error}", job.gate),
                "see that a worker runs, inside `ostiary serve` or as `ostiary worker`",
                command(known.version, "version status", ""),
            ),
            JobState::Leased | JobState::Done => (
                "RUN_GOES_ON",
                format!("the {} gate is being run", job.gate),
                "wait for it",
                command(known.version, "version status", ""),
            ),
            JobState::Failed => (
                "RUN_FAILED",
                format!("the run of the {} gate was given up after {} tries{error}", job.gate, job.tries),
                "see to what the run said (is the agent up, is the environment right?), then ask for it again",
                again(known.version, job.gate),
            ),
        };
        let (code, remedy) = (code.to_owned(), remedy.to_owned());
        CauseView { kind: "run".to_owned(), gate: Some(job.gate.to_string()), code, what, remedy, command: Some(next) }
    };
    newest.map(one).into_iter().collect()
}

/// The reasons of the gates that did not open: of each gate before admission, and of the one that comes next.
fn gates(known: &Known<'_>) -> Vec<CauseView> {
    let next = known.version.state.next_gate();
    let counts = |gate: Gate| next == Some(gate) || known.version.state.name().is_admitted();
    let shut = known.gates.iter().filter(|newest| counts(newest.record.gate));
    let reasons = shut.flat_map(|newest| {
        let reasons = newest.decision.map_or(&[][..], |decision| &decision.reasons);
        reasons.iter().map(|reason| match reason {
            GateReason::ApprovalMissing { edge, .. } => approval(known, newest.record.gate, *edge, reason),
            _ => of(known.version, newest.record.gate, reason),
        })
    });
    reasons.collect()
}

/// An approval that was missing when the gate was asked: it may have been given since, and then the gate is to be asked
/// again.
fn approval(known: &Known<'_>, gate: Gate, edge: Edge, then: &GateReason) -> CauseView {
    let Some(Consent { given, needed }) = known.consents.get(&edge).copied() else {
        return of(known.version, gate, then);
    };
    let cause = of(known.version, gate, &GateReason::ApprovalMissing { edge, needed, given });
    if given < needed {
        return cause;
    }
    let next = match edge {
        Edge::Release => command(known.version, "version release", "--reason \"…\""),
        Edge::Admission | Edge::Canary | Edge::Promotion => again(known.version, gate),
    };
    let remedy = "consent was given after the gate was asked: ask for it again".to_owned();
    CauseView { remedy, command: Some(next), ..cause }
}

/// Results that once passed and found nothing any more.
fn expired(known: &Known<'_>) -> Vec<CauseView> {
    let old = known.gates.iter().filter(|newest| {
        newest.record.outcome == ostiary_record::Outcome::Pass && newest.record.expires_at <= known.now
    });
    let one = |newest: &Newest<'_>| CauseView {
        kind: "expired".to_owned(),
        gate: Some(newest.record.gate.to_string()),
        code: "EVIDENCE_EXPIRED".to_owned(),
        what: format!("the PASS of the {} gate ran out at {}", newest.record.gate, newest.record.expires_at),
        remedy: "have the gate run again against the agent as it is now".to_owned(),
        command: Some(again(known.version, newest.record.gate)),
    };
    let called_in = known.version.state.admitted().and_then(|admitted| admitted.authorization.called_in);
    let revoked = called_in.map(|at| CauseView {
        kind: "expired".to_owned(),
        gate: None,
        code: "EVIDENCE_STALE".to_owned(),
        what: format!("the registry's word for it was called in at {}: a waiver under it was revoked", at.time),
        remedy: "mend what was waived, then have the gates run again; the word is renewed on what passes".to_owned(),
        command: Some(again(known.version, Gate::Conformance)),
    });
    revoked.into_iter().chain(old.map(one)).collect()
}

fn of(version: &Version, gate: Gate, reason: &GateReason) -> CauseView {
    let (kind, what, remedy) = words(reason);
    let next = match reason {
        GateReason::ApprovalMissing { edge, .. } => {
            command(version, "approve", &format!("--edge {} --reason \"…\"", edge_name(*edge)))
        }
        GateReason::EvidenceMissing { gate }
        | GateReason::EvidenceExpired { gate, .. }
        | GateReason::EvidenceFailed { gate } => again(version, *gate),
        GateReason::Finding { check, failed: true, .. } => {
            format!("ostiary verify DIR --env FILE --only {check}")
        }
        GateReason::SubjectChanged { .. } | GateReason::CardChanged { .. } | GateReason::NoProfileActivated => {
            submit(version)
        }
        _ => again(version, gate),
    };
    CauseView {
        kind: kind.to_owned(),
        gate: Some(gate.to_string()),
        code: reason.code().to_owned(),
        what,
        remedy,
        command: Some(next),
    }
}

/// Has a gate run again: by itself up to security, by the step that it guards from there on.
fn again(version: &Version, gate: Gate) -> String {
    match gate {
        Gate::Static | Gate::Conformance | Gate::Security | Gate::Admission => {
            command(version, "version verify", &format!("--gate {gate} --reason \"…\" --wait"))
        }
        Gate::Canary => command(version, "version promote", "--to canary --reason \"…\" --wait"),
        Gate::Active => command(version, "version promote", "--to active --reason \"…\" --wait"),
    }
}

fn submit(version: &Version) -> String {
    let (namespace, environment) = (version.key.agent.namespace(), &version.environment);
    format!("ostiary version submit --namespace {namespace} --bundle DIR --env {environment} --wait")
}

fn command(version: &Version, act: &str, more: &str) -> String {
    format!("ostiary {act} --agent {} --version {} {more}", version.key.agent, version.key.label).trim_end().to_owned()
}
