//! What is signed: a fact about a gate, or an authorization that rests on facts.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ostiary_canon::{
    Digest, Profile, Revision,
    intoto::{
        Authorization, AuthorizationFacts, Conditions, GateEvidence, ResourceDescriptor, Statement, Subject,
        TestResult, TestVerdict,
    },
};
use ostiary_domain::{
    EvidenceRecord, GateDecision, GateOutcome, Policy, Version, Waived,
    evidence::{About, newest_telling},
    lifecycle::EarlyGate,
};
use ostiary_record::{Finding, Gate, Outcome, Report, Run, Severity};

use super::{GateError, measure::Measured, waived};

/// A judged run.
pub(super) struct JudgedRun<'a> {
    pub(super) run: &'a Run,
    pub(super) digest: Digest,
    pub(super) report: &'a Report,
    pub(super) gate: Gate,
    pub(super) verified_at: Timestamp,
    pub(super) policy: Digest,
}

/// The fact that a gate was run, and what passed.
pub(super) fn of_run(judged: &JudgedRun<'_>, decision: &GateDecision) -> TestResult {
    let conditions = Conditions {
        gate: judged.gate.to_string(),
        verified_at: judged.verified_at,
        harness_version: judged.report.harness_version.clone(),
        policy_digest: judged.policy,
        run_digest: judged.digest,
        environment: judged.run.environment.name.clone(),
        endpoint: judged.run.environment.endpoint.clone(),
        spki_sha256: judged.run.environment.spki_sha256.clone(),
        connect_to: judged.run.environment.connect_to.clone(),
        trust_roots: judged.run.environment.trust_roots.as_deref().and_then(|text| text.parse().ok()),
        producer_digest_source: Some(judged.report.producer_digest_source),
        profiles_passed: decision.profiles_passed.clone(),
        profiles_failed: decision.profiles_failed.clone(),
    };
    let named = |wanted: fn(&Finding) -> bool| {
        let findings = judged.report.findings.iter().map(|line| &line.finding);
        findings.filter(|finding| wanted(finding)).map(name).collect::<BTreeSet<_>>()
    };
    // What is waived did not pass and did not fail the gate: it is warned of, and the configuration says by which waiver.
    let excused = waived::tests(&decision.waived);
    let mut failed = named(|f| counts(f) && f.verdict.outcome() == Outcome::Fail);
    failed.retain(|name| !excused.contains(name));
    let mut warned =
        named(|f| f.verdict.outcome() == Outcome::Inconclusive || (!counts(f) && f.verdict.outcome() == Outcome::Fail));
    warned.extend(excused);
    let passed = named(|f| f.verdict.outcome() == Outcome::Pass);
    // One check can pass in one case and fail in another; the worse one is what the statement says.
    let warned: Vec<String> = warned.difference(&failed).cloned().collect();
    let passed = passed.into_iter().filter(|name| !failed.contains(name) && !warned.contains(name)).collect();
    TestResult {
        result: waived::verdict(verdict(decision.outcome), &decision.waived),
        configuration: conditions.configuration().into_iter().chain(waived::descriptors(&decision.waived)).collect(),
        url: None,
        passed,
        warned,
        failed: failed.into_iter().collect(),
    }
}

/// The fact that the admission gate, which has no run, did not open.
pub(super) fn of_refusal(decision: &GateDecision, policy: Digest, now: Timestamp) -> TestResult {
    let mut configuration = ResourceDescriptor::named("policy", policy);
    configuration.annotations.insert("gate".to_owned(), Gate::Admission.as_str().into());
    configuration.annotations.insert("verified_at".to_owned(), now.to_string().into());
    let codes = |outcome: GateOutcome| {
        let of = decision
            .reasons
            .iter()
            .filter(move |reason| (reason.outcome() == GateOutcome::Fail) == (outcome == GateOutcome::Fail));
        of.map(|reason| reason.code().to_owned()).collect::<BTreeSet<_>>().into_iter().collect()
    };
    TestResult {
        result: verdict(decision.outcome),
        configuration: vec![configuration],
        url: None,
        passed: Vec::new(),
        warned: codes(GateOutcome::Inconclusive),
        failed: codes(GateOutcome::Fail),
    }
}

/// The fact that an admitted agent serves a card that nobody admitted; `kept` is the object that holds its bytes.
pub(super) fn of_another_card(decision: &GateDecision, policy: Digest, kept: Digest, now: Timestamp) -> TestResult {
    let mut fact = of_refusal(decision, policy, now);
    fact.configuration.push(ResourceDescriptor::named("served-card", kept));
    fact
}

/// What an admission rests on and is bounded by.
pub(super) struct Grounds<'a> {
    pub(super) version: &'a Version,
    pub(super) measured: &'a Measured,
    pub(super) evidence: &'a [EvidenceRecord],
    pub(super) policy: &'a Policy,
    pub(super) profiles: &'a [Profile],
    pub(super) waived: &'a [Waived],
    pub(super) now: Timestamp,
    pub(super) revision: Revision,
}

/// The registry's word for a version, until the first of its grounds runs out.
///
/// # Errors
/// When a ground is missing: `judge_gate` opened the gate on something that is not there, which is a fault of ours.
pub(super) fn authorization(grounds: &Grounds<'_>) -> Result<Authorization, GateError> {
    let founding = EarlyGate::ALL.map(|gate| founding(grounds, gate.gate()));
    let gates: Vec<GateEvidence> = founding.into_iter().flatten().map(gate_evidence).collect();
    let ends = gates.iter().map(|gate| gate.expires_at).min();
    let verified = gates.iter().map(|gate| gate.verified_at).max();
    let (Some(ends), Some(verified_at), true) = (ends, verified, gates.len() == EarlyGate::ALL.len()) else {
        return Err(GateError::Statement("a gate that passed has no evidence".to_owned()));
    };
    let subject = &grounds.measured.subject;
    let mut profiles_passed = grounds.profiles.to_vec();
    profiles_passed.sort();
    Authorization::issue(AuthorizationFacts {
        not_before: grounds.now,
        window_ends: ends,
        agent_version: grounds.version.key.label.clone(),
        card_digest: subject.card,
        contract_digest: subject.contract,
        producer_digest: subject.producer,
        profiles_passed,
        verified_at,
        expires_at: ends,
        gates,
        policy: grounds.policy.digest(),
        environment: grounds.version.environment.to_string(),
        revision: grounds.revision,
        class: grounds.version.class,
        waived: waived::names(grounds.waived),
    })
    .map_err(|error| GateError::Statement(error.to_string()))
}

/// The newest result of a gate about these digests under this policy: what `judge_gate` has looked at.
fn founding<'a>(grounds: &Grounds<'a>, gate: Gate) -> Option<&'a EvidenceRecord> {
    let about =
        About { version: &grounds.version.key, subject: &grounds.measured.subject, policy: grounds.policy.digest() };
    newest_telling(grounds.evidence, gate, &about).filter(|e| e.outcome == Outcome::Pass)
}

fn gate_evidence(record: &EvidenceRecord) -> GateEvidence {
    GateEvidence {
        gate: record.gate.to_string(),
        evidence_digest: record.digest(),
        profiles: record.profiles_passed.clone(),
        verified_at: record.verified_at,
        expires_at: record.expires_at,
    }
}

/// A predicate about a version, as the bytes that are signed.
///
/// # Errors
/// When the predicate has no canonical form.
pub(super) fn bytes<P: ostiary_canon::intoto::Predicate>(
    version: &Version,
    measured: &Measured,
    predicate: P,
) -> Result<Vec<u8>, GateError> {
    let subject = Subject::new(&version.key.agent, &version.key.label, measured.subject.manifest);
    Statement::new(subject, predicate).to_bytes().map_err(|error| GateError::Statement(error.to_string()))
}

const fn verdict(outcome: GateOutcome) -> TestVerdict {
    match outcome {
        GateOutcome::Pass => TestVerdict::Passed,
        GateOutcome::Blocked | GateOutcome::Inconclusive => TestVerdict::Warned,
        GateOutcome::Fail => TestVerdict::Failed,
    }
}

/// What the judgement is in evidence.
pub(super) const fn outcome(outcome: GateOutcome) -> Outcome {
    match outcome {
        GateOutcome::Pass => Outcome::Pass,
        GateOutcome::Blocked | GateOutcome::Inconclusive => Outcome::Inconclusive,
        GateOutcome::Fail => Outcome::Fail,
    }
}

fn counts(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// A check under a profile; the same check under another profile is another test.
fn name(finding: &Finding) -> String {
    match &finding.profile {
        Some(profile) => format!("{}@{profile}", finding.check),
        None => finding.check.to_string(),
    }
}
