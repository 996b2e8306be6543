//! Values that tests are made of: one agent, its digests, its evidence. Only for tests.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, Digest, Profile, Revision, intoto::AdmissionClass};
use ostiary_record::{
    CheckId, DigestSource, EventRef, Finding, Gate, Layer, Missing, NonEmpty, Outcome, ReasonCode, Seq, Severity,
    Strength, Verdict,
};

use crate::{
    evidence::NewEvidence,
    lifecycle::{Admitted, AdmittedState, Rejection, RollbackWindow, State},
    names::{Actor, Attempt, EnvironmentName, EvidenceId, Moment, VersionRef, WaiverId},
    policy::Policy,
    subject::{Authorization, GatePass, Subject},
    version::{Submission, Version},
    waiver::{Grant, NewWaiver, Waiver},
};

/// The instant that samples begin at.
#[must_use]
pub fn start() -> Timestamp {
    Timestamp::from_second(1_767_225_600).expect("2026-01-01 is a time")
}

/// `hours` after the start.
#[must_use]
pub fn hour(hours: i64) -> Timestamp {
    start() + SignedDuration::from_hours(hours)
}

/// A moment: hour and revision.
#[must_use]
pub fn moment(hours: i64, revision: u64) -> Moment {
    Moment { time: hour(hours), revision: Revision(revision) }
}

/// The agent.
#[must_use]
pub fn agent() -> AgentId {
    AgentId::new("acme", "planner").expect("a name")
}

/// A first try of the version labelled `label`.
#[must_use]
pub fn key(label: &str) -> VersionRef {
    VersionRef { agent: agent(), label: label.parse().expect("a label"), attempt: Attempt::FIRST }
}

/// The profile that samples activate.
#[must_use]
pub fn profile() -> Profile {
    "a2a-jsonrpc-1.0/user/standard".parse().expect("a profile")
}

/// Another profile.
#[must_use]
pub fn other_profile() -> Profile {
    "a2a-jsonrpc-1.0/agent/standard".parse().expect("a profile")
}

/// The digests of the version labelled `label`.
#[must_use]
pub fn subject(label: &str) -> Subject {
    let digest = |what: &str| Digest::of(format!("{what} of {label}").as_bytes());
    Subject {
        manifest: digest("manifest"),
        card: digest("card"),
        contract: digest("contract"),
        producer: digest("producer"),
        producer_source: DigestSource::Declared,
    }
}

/// An authorization for a week from the start on.
#[must_use]
pub fn authorization() -> Authorization {
    Authorization {
        evidence: EvidenceId("ev-admission".into()),
        evidence_digest: Digest::of(b"authorization"),
        profiles: vec![profile()],
        policy: Policy::one().digest(),
        verified_at: start(),
        not_before: start(),
        expires_at: hour(7 * 24),
        waived: Vec::new(),
        called_in: None,
    }
}

/// The publisher.
#[must_use]
pub fn publisher() -> Actor {
    Actor::person("pub@acme")
}

/// An operator, not the publisher.
#[must_use]
pub fn operator() -> Actor {
    Actor::person("ops@acme")
}

/// Our judge.
#[must_use]
pub fn judge() -> Actor {
    Actor::machine("ostiary-judge")
}

/// A submission of the bundle of `label`.
#[must_use]
pub fn submission(label: &str) -> Submission {
    Submission {
        bundle: bundle(label),
        activated: vec![profile()],
        environment: EnvironmentName("staging".into()),
        class: AdmissionClass::Full,
        by: publisher(),
        change_reason: Some("first".into()),
        implementation_diff: None,
    }
}

/// The digest of the bundle of `label`.
#[must_use]
pub fn bundle(label: &str) -> Digest {
    Digest::of(format!("bundle of {label}").as_bytes())
}

/// A version in `state`, submitted at the start by the publisher.
#[must_use]
pub fn version(label: &str, state: State) -> Version {
    Version { state, ..Version::submitted(key(label), submission(label), moment(0, 1)) }
}

/// What an admitted version labelled `label` carries, admitted at revision 5.
#[must_use]
pub fn admitted(label: &str) -> Admitted {
    Admitted { subject: subject(label), authorization: authorization(), since: moment(0, 5) }
}

/// A state of each kind, in lifecycle order, all since revision 5, about the version labelled `label`.
#[must_use]
pub fn states(label: &str) -> Vec<State> {
    let (subject, gate) = (subject(label), EvidenceId("ev-gate".into()));
    let pass = || GatePass { evidence: gate.clone(), at: moment(0, 2), expires_at: hour(7 * 24) };
    let (admitted, since) = (admitted(label), moment(0, 5));
    let (reason, by) = (String::from("because"), operator());
    let rollback = Some(RollbackWindow { until: hour(24), gate: gate.clone() });
    vec![
        State::Draft,
        State::StaticValidated { subject, r#static: pass() },
        State::ConformanceVerified { subject, r#static: pass(), conformance: pass() },
        State::SecurityVerified { subject, r#static: pass(), conformance: pass(), security: pass() },
        State::RegistryAdmitted { admitted: admitted.clone(), rollback },
        State::Canary { admitted: admitted.clone(), gate: gate.clone(), weight: 1_000, since },
        State::Active { admitted: admitted.clone(), gate, since },
        State::Quarantined {
            admitted: admitted.clone(),
            was: AdmittedState::Active,
            reason: reason.clone(),
            by: by.clone(),
            since,
        },
        State::Rejected { cause: Rejection::Withdrawal { who: by.clone(), reason: reason.clone() }, since },
        State::Deprecated { admitted, sunset: None, quarantined: false, reason, by, since },
    ]
}

/// Evidence of `gate` with `outcome` about the version labelled `label`, driven `hours` after the start.
#[must_use]
pub fn evidence(label: &str, gate: Gate, outcome: Outcome, hours: i64) -> NewEvidence {
    let profiles = |wanted: Outcome| if outcome == wanted { vec![profile()] } else { Vec::new() };
    let text = format!("{label} {gate} {outcome} {hours}");
    NewEvidence {
        id: EvidenceId(format!("ev {text}")),
        gate,
        outcome,
        profiles_passed: profiles(Outcome::Pass),
        profiles_failed: profiles(Outcome::Fail),
        waived: Vec::new(),
        subject: subject(label),
        policy: Policy::one().digest(),
        harness: "ostiary 0.0.0".into(),
        environment: "staging".into(),
        run: Some(Digest::of(text.as_bytes())),
        run_started: Revision(0),
        envelope: Bytes::from(format!("envelope of {text}")),
        verified_at: hour(hours),
        expires_at: hour(hours + 7 * 24),
    }
}

/// A finding of `layer` with `outcome`, for one profile or for none.
#[must_use]
pub fn finding(layer: Layer, outcome: Outcome, profile: Option<Profile>) -> Finding {
    let at = || NonEmpty::one(EventRef { recording: 0, seq: Seq(1) });
    let verdict = match outcome {
        Outcome::Pass => Verdict::Pass { seen: at() },
        Outcome::Fail => Verdict::Fail {
            reason: ReasonCode::TerminalStateReopened,
            at: at(),
            expected: "a".into(),
            observed: "b".into(),
            strength: Strength::Proven,
        },
        Outcome::Inconclusive => Verdict::Inconclusive {
            reason: ReasonCode::ObserverMissing,
            missing: NonEmpty::one(Missing { what: "observer:sql".into(), remedy: "add one".into() }),
        },
        Outcome::NotApplicable => Verdict::NotApplicable {
            reason: ReasonCode::NotDeclared,
            because: ostiary_record::DeclarationPointer { document: "agent-card.json".into(), pointer: String::new() },
        },
    };
    Finding {
        check: CheckId(format!("sample.{}", layer.as_str())),
        check_version: 1,
        layer,
        profile,
        case: None,
        verdict,
        severity: Severity::Error,
        detail: None,
        message: format!("{} is {}", layer.as_str(), outcome),
        place: ostiary_record::Place::default(),
        protocol_accepted: None,
        business_outcome: None,
        covers: Vec::new(),
        consumers_affected: Vec::new(),
    }
}

/// Another person who answers for things.
#[must_use]
pub fn approver() -> Actor {
    Actor::person("risk@acme")
}

/// A waiver of `check` for the version labelled `label`, asked for by the operator, until 24 hours after the start.
#[must_use]
pub fn new_waiver(label: &str, check: &str) -> NewWaiver {
    NewWaiver {
        id: WaiverId(format!("waiver of {check}")),
        agent: agent(),
        label: label.parse().expect("a label"),
        check: CheckId(check.to_owned()),
        profile: None,
        manifest: subject(label).manifest,
        policy: Policy::one().digest(),
        reason: "mended next week".into(),
        by: operator(),
        expires_at: hour(24),
        idempotency: None,
    }
}

/// The same, granted by the approver.
#[must_use]
pub fn waiver(label: &str, check: &str) -> Waiver {
    let grant = Grant { by: approver(), reason: "seen".into(), at: moment(0, 4), envelope: "{}".into() };
    Waiver { granted: Some(grant), ..new_waiver(label, check).asked(moment(0, 3)) }
}
