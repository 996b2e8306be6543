//! Repetitions make one verdict: agreement stands, disagreement is never PASS by its last try (V-02).

use ostiary_record::{EventRef, Finding, Outcome, ReasonCode, Severity, Strength, Verdict};

use crate::{
    check::{Check, CheckSpec},
    contract_view::Tolerance,
    facts::{Facts, Tape},
    judge::{
        Scene, guard,
        missing::{Gap, judgeable, partly_skipped},
        unit::Unit,
    },
};

/// Judges one unit: every repetition apart, then all together.
pub(crate) fn judge_unit<'a>(scene: &'a Scene<'a>, check: &dyn Check, unit: &Unit<'a>) -> Vec<Finding> {
    let tries: Vec<Vec<Finding>> = unit.repetitions().into_iter().map(|n| judge_one(scene, check, unit, n)).collect();
    let tolerance = crate::contract_view::tolerance(scene.bundle);
    merge(tries, tolerance, &facts(scene, check.spec(), unit, Vec::new()))
}

/// Judges one repetition. Where something is missing, only the finding that a declaration exempts can stand.
fn judge_one<'a>(scene: &'a Scene<'a>, check: &dyn Check, unit: &Unit<'a>, n: u32) -> Vec<Finding> {
    let tapes = unit.repetition(n);
    match judgeable(scene, check.spec(), unit, &tapes) {
        Ok(tapes) => {
            let facts = facts(scene, check.spec(), unit, tapes);
            let findings = guard::guarded(&facts, scene.run, check);
            match partly_skipped(scene, check.spec(), unit) {
                Some(gap) => without_pass(&facts, findings, gap),
                None => findings,
            }
        }
        Err(gaps) => {
            let facts = facts(scene, check.spec(), unit, tapes);
            let exempt = guard::guarded(&facts, scene.run, check);
            if exempt.iter().all(|f| f.verdict.outcome() == Outcome::NotApplicable) {
                return exempt;
            }
            gaps.into_iter().map(|gap| gap_finding(&facts, gap)).collect()
        }
    }
}

/// The findings that hold although a variant was not driven.
fn without_pass(facts: &Facts<'_>, mut findings: Vec<Finding>, gap: Gap) -> Vec<Finding> {
    let before = findings.len();
    findings.retain(|f| f.verdict.outcome() != Outcome::Pass);
    if findings.len() < before {
        findings.push(gap_finding(facts, gap));
    }
    findings
}

fn gap_finding(facts: &Facts<'_>, gap: Gap) -> Finding {
    facts.inconclusive(gap.reason, gap.what, gap.remedy)
}

fn facts<'a>(scene: &'a Scene<'a>, spec: &'static CheckSpec, unit: &Unit<'_>, tapes: Vec<Tape<'a>>) -> Facts<'a> {
    Facts { spec, profile: unit.profile.clone(), case: unit.case.clone(), tapes, scene }
}

/// One list of findings for all repetitions.
fn merge(mut tries: Vec<Vec<Finding>>, tolerance: Tolerance, facts: &Facts<'_>) -> Vec<Finding> {
    let outcomes: Vec<Outcome> = tries.iter().map(|findings| outcome(findings)).collect();
    let of = |wanted: Outcome| outcomes.iter().filter(|o| **o == wanted).count();
    let (n, fails, passes) = (tries.len(), of(Outcome::Fail), of(Outcome::Pass));
    if fails > 0 && passes > 0 {
        return vec![nondeterministic(&tries, (fails, n), tolerance, facts)];
    }
    let worst = outcomes.iter().copied().reduce(Outcome::worst).unwrap_or(Outcome::Inconclusive);
    let at = outcomes.iter().position(|o| *o == worst).unwrap_or(0);
    let mut findings = tries.swap_remove(at);
    if n > 1 {
        for finding in &mut findings {
            if let Verdict::Fail { strength, .. } = &mut finding.verdict {
                *strength = Strength::Repeated { k: small(fails.max(1)), n: small(n) };
            }
        }
    }
    findings
}

/// The verdict on a check that flips: FAIL beyond the contract's tolerance, INCONCLUSIVE within it.
fn nondeterministic(
    tries: &[Vec<Finding>],
    (fails, n): (usize, usize),
    tolerance: Tolerance,
    facts: &Facts<'_>,
) -> Finding {
    let differ = small(fails.min(n - fails));
    if differ <= tolerance.may_differ || !tolerance.fails_beyond {
        let remedy = format!("failed {fails} of {n} times; the contract lets {} differ", tolerance.may_differ);
        return facts.inconclusive(ReasonCode::Nondeterministic, "agreement of repetitions", remedy);
    }
    let cited: Vec<EventRef> = tries.iter().flatten().flat_map(cited).collect();
    let failing = tries.iter().flatten().find_map(|f| match &f.verdict {
        Verdict::Fail { reason, expected, observed, .. } => {
            Some(format!("{reason}: expected {expected}; observed {observed}"))
        }
        _ => None,
    });
    let observed = format!("failed {fails} of {n} times ({})", failing.unwrap_or_default());
    let mut finding = facts.fail(ReasonCode::Nondeterministic, cited, "the same verdict in every repetition", observed);
    if let Verdict::Fail { strength, .. } = &mut finding.verdict {
        *strength = Strength::Repeated { k: small(fails), n: small(n) };
    }
    finding
}

fn cited(finding: &Finding) -> Vec<EventRef> {
    match &finding.verdict {
        Verdict::Pass { seen: refs } | Verdict::Fail { at: refs, .. } => refs.as_slice().to_vec(),
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => Vec::new(),
    }
}

/// The worst outcome of what counts; where nothing counts, of everything.
fn outcome(findings: &[Finding]) -> Outcome {
    let worst = |all: Vec<Outcome>| all.into_iter().reduce(Outcome::worst);
    let counted = findings.iter().filter(|f| f.severity == Severity::Error).map(|f| f.verdict.outcome()).collect();
    let all = findings.iter().map(|f| f.verdict.outcome()).collect();
    worst(counted).or_else(|| worst(all)).unwrap_or(Outcome::Inconclusive)
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
