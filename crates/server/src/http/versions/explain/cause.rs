//! What stands in the way of a version, in words: each cause with its remedy and the command that comes next.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ostiary_domain::{
    EvidenceRecord, GateDecision, GateReason, Job, JobState, State, Version, approval::Edge, lifecycle::Rejection,
};
use ostiary_record::Gate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    out.retain(|cause| seen.insert((cause.code.clone(), cause.what.clone())));
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
    let plain = |code: &str, what: String, remedy: &str, command: Option<String>| {
        vec![CauseView {
            kind: "order".to_owned(),
            gate: None,
            code: code.to_owned(),
            what,
            remedy: remedy.to_owned(),
            command,
        }]
    };
    match &version.state {
        State::Rejected { cause: Rejection::Gate { gate, reasons, .. }, .. } => reasons
            .as_slice()
            .iter()
            .map(|reason| CauseView { command: Some(submit(version)), ..of(version, *gate, reason) })
            .collect(),
        State::Rejected { cause: Rejection::Withdrawal { who, reason }, .. } => plain(
            "WITHDRAWN",
            format!("{who} took it back: {reason}"),
            "submit it again when it is ready",
            Some(submit(version)),
        ),
        State::Quarantined { reason, by, .. } => plain(
            "QUARANTINED",
            format!("{by} took it off the road: {reason}"),
            "correct it; then somebody who did not submit it approves the release, and fresh runs must pass",
            Some(command(version, "approve", "--edge release --reason \"…\"")),
        ),
        State::Deprecated { reason, by, .. } => {
            plain("DEPRECATED", format!("{by} retired it: {reason}"), "submit another version", Some(submit(version)))
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

fn holds(known: &Known<'_>) -> Vec<CauseView> {
    let one = |hold: &ostiary_domain::Hold| CauseView {
        kind: "hold".to_owned(),
        gate: None,
        code: hold.kind.as_str().to_uppercase(),
        what: format!("{} holds it ({}): {}", hold.author, hold.kind.as_str(), hold.reason),
        remedy: "a person looks at the reason, sees to it, and lifts the hold; no run does".to_owned(),
        command: Some(command(known.version, "version hold lift", &format!("--id {} --reason \"…\"", hold.id))),
    };
    known.version.holds.iter().map(one).collect()
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
        reasons.iter().map(|reason| of(known.version, newest.record.gate, reason))
    });
    reasons.collect()
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

/// What to do where no check of a layer passed; an interface that nobody drives stays that way however often it is run.
const NO_PASS: &str = "see in the report why its checks did not apply or could not tell, and what they miss; for an interface \
    that this build cannot drive, name the other profiles under `activate` in coverage.yaml and submit again";

/// Kind, sentence and remedy of a gate's reason.
fn words(reason: &GateReason) -> (&'static str, String, String) {
    let text = |kind, what: String, remedy: &str| (kind, what, remedy.to_owned());
    match reason {
        GateReason::Finding { check, profile, failed, code, message, .. } => {
            let under = profile.as_ref().map(|profile| format!(" under {profile}")).unwrap_or_default();
            let verb = if *failed { "failed" } else { "could not tell" };
            text("finding", format!("{check} {verb}{under}: {message}"), code.row().remedy)
        }
        GateReason::LayerWithoutPass { layer, profile } => {
            text("missing", format!("nothing of the {layer} layer passed for {profile}"), NO_PASS)
        }
        GateReason::CheckNotRun { check } => text(
            "missing",
            format!("{check} is required and gave no verdict"),
            "have the gate run by a worker of this version; if that does not help, the policy names a check that is not there",
        ),
        GateReason::GateNotInPolicy => text(
            "missing",
            "the policy has no rule for this gate".to_owned(),
            "an administrator puts a policy that has one",
        ),
        GateReason::NoProfileActivated => text(
            "missing",
            "the version activates no profile".to_owned(),
            "name one in coverage.yaml under `activate`, or an interface in the card, and submit again",
        ),
        GateReason::GateOutOfOrder { expected } => text(
            "order",
            match expected {
                Some(gate) => format!("the {gate} gate comes first"),
                None => "no gate is open from where it stands".to_owned(),
            },
            "take the steps in order",
        ),
        GateReason::RunMissing => text("run", "there is no run to judge".to_owned(), "ask for the gate again"),
        GateReason::RunStale { verified_at } => {
            text("expired", format!("the run is of {verified_at}, too old for this gate"), "ask for the gate again")
        }
        GateReason::RunTooEarly { started, after } => text(
            "order",
            format!("the run began at revision {}, and must follow revision {}", started.0, after.0),
            "ask for the gate again; only a run that begins now counts",
        ),
        other => later(other),
    }
}

/// The same for what lies outside a run.
fn later(reason: &GateReason) -> (&'static str, String, String) {
    let text = |kind, what: String, remedy: &str| (kind, what, remedy.to_owned());
    match reason {
        GateReason::SubjectChanged { expected, observed } => text(
            "changed",
            format!("what was measured now ({observed}) is not what the evidence is about ({expected})"),
            "card, contract or artifact changed: submit it as a new version",
        ),
        GateReason::CardChanged { expected, observed } => text(
            "changed",
            format!("the card that is served ({observed}) is not the one that was verified ({expected})"),
            "serve the verified card again, or submit the new one as a new version",
        ),
        GateReason::CardNotFetched => text(
            "missing",
            "the card could not be fetched, or too long ago".to_owned(),
            "see that the agent serves its card to the control plane, then ask again",
        ),
        GateReason::EvidenceMissing { gate } => {
            text("missing", format!("the {gate} gate has no PASS for these digests and this policy"), "have it run")
        }
        GateReason::EvidenceExpired { gate, expired_at } => text(
            "expired",
            format!("the PASS of the {gate} gate ran out at {expired_at}"),
            "have the gate run again against the agent as it is now",
        ),
        GateReason::EvidenceFailed { gate } => text(
            "finding",
            format!("the newest result of the {gate} gate is a FAIL"),
            "see to what that gate found, then have it run again",
        ),
        GateReason::ProfileNotVerified { gate, profile } => text(
            "missing",
            format!("the PASS of the {gate} gate does not hold for {profile}"),
            "give the environment a subject of that profile, or take the profile out of `activate`",
        ),
        GateReason::WaiverEnded { gate, waiver } => text(
            "expired",
            format!("what the {gate} gate found rests on waiver `{waiver}`, which has ended"),
            "mend what was waived and run the gate again, or ask for another waiver",
        ),
        GateReason::AuthorizationExpired { expired_at } => text(
            "expired",
            format!("the registry's word for it ran out at {expired_at}"),
            "have its gates run again; the word is renewed on what passes",
        ),
        GateReason::Held { kind, because } => text(
            "hold",
            format!("the hold {} stands in the way: {because}", kind.as_str()),
            "a person looks at the reason, sees to it, and lifts the hold; no run does",
        ),
        GateReason::ApprovalMissing { edge, needed, given } => text(
            "approval",
            format!("{given} of {needed} people have consented to the {}", edge_name(*edge)),
            "somebody who did not submit it looks at it and approves",
        ),
        other => text("missing", other.code().to_lowercase().replace('_', " "), "see the report of the gate"),
    }
}

const fn edge_name(edge: Edge) -> &'static str {
    match edge {
        Edge::Admission => "admission",
        Edge::Canary => "canary",
        Edge::Promotion => "promotion",
        Edge::Release => "release",
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
