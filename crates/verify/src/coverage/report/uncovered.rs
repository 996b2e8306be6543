//! Everything that stays uncovered, with why: one entry a cause, so that people read causes and not lists.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_contract::file::coverage::{DeprecatedCoverage, OperationCoverage};
use ostiary_record::{Coverage, Finding, Gap, NotRun, Outcome, ReasonCode, Uncovered, Verdict};

use super::{rows::policy, values_of};
use crate::{
    coverage::{
        core,
        matrix::{Matrix, RiskClass},
    },
    judge::Scene,
    plan::activated,
};

pub(super) fn uncovered(
    scene: &Scene<'_>,
    coverage: &Coverage,
    matrices: &[Matrix],
    findings: &[Finding],
) -> Vec<Uncovered> {
    let mut out = promises(coverage, findings);
    out.extend(not_asked(scene, coverage));
    out.extend(steps(scene));
    out.extend(interfaces(scene));
    out.extend(matrices.iter().flat_map(|m| of_matrix(m, coverage)));
    out.extend(incidents(coverage));
    out
}

/// Promises for which nothing was shown.
fn promises(coverage: &Coverage, findings: &[Finding]) -> Vec<Uncovered> {
    let open = coverage.promises.iter().filter(|p| !matches!(p.verdict, Outcome::Pass | Outcome::Fail));
    let entry = |promise: &ostiary_record::PromiseCoverage| {
        let own = findings.iter().filter(|f| f.covers.iter().any(|c| c.0 == promise.id));
        let finding = own.into_iter().find(|f| f.verdict.outcome() == promise.verdict);
        let (why, detail) = finding.map_or((Gap::NotAsked, "no check was asked".to_owned()), cause);
        Uncovered { what: format!("promise {}", promise.id), why, detail, ids: vec![promise.id.clone()] }
    };
    open.map(entry).collect()
}

fn cause(finding: &Finding) -> (Gap, String) {
    match &finding.verdict {
        Verdict::Inconclusive { reason, missing } => {
            let first = missing.as_slice().first().map(|m| format!("{}: {}", m.what, m.remedy)).unwrap_or_default();
            (gap(*reason), format!("{}: {first}", finding.check))
        }
        Verdict::NotApplicable { because, .. } => {
            (Gap::Constraint, format!("{}: {}{} exempts", finding.check, because.document, because.pointer))
        }
        Verdict::Pass { .. } | Verdict::Fail { .. } => (Gap::Inconclusive, finding.check.to_string()),
    }
}

/// The kind of cause that a reason code is.
const fn gap(reason: ReasonCode) -> Gap {
    match reason {
        ReasonCode::CallNotCleared => Gap::NotCleared,
        ReasonCode::SubjectMissing => Gap::NoSubject,
        ReasonCode::BudgetExceeded => Gap::Budget,
        _ => Gap::Inconclusive,
    }
}

/// Promises of the harness that the gate or the selection left out.
fn not_asked(scene: &Scene<'_>, coverage: &Coverage) -> Option<Uncovered> {
    let asked: BTreeSet<&str> = coverage.promises.iter().map(|p| p.id.as_str()).collect();
    let all: BTreeSet<&str> = scene.harness.checks().flat_map(|c| c.spec().covers).copied().collect();
    let left: Vec<String> = all.difference(&asked).map(|id| (*id).to_owned()).collect();
    let detail = match scene.run.gate {
        _ if !scene.options.only.is_empty() => format!("only {} was asked for", scene.options.only.join(", ")),
        Some(gate) => format!("the {gate} gate asks for less"),
        None => "nothing asks for them".to_owned(),
    };
    let what = format!("{} promises", left.len());
    (!left.is_empty()).then_some(Uncovered { what, why: Gap::NotAsked, detail, ids: left })
}

/// Variants that were planned and not driven, one entry a scenario and cause.
fn steps(scene: &Scene<'_>) -> Vec<Uncovered> {
    let mut groups: BTreeMap<(&str, &str), Vec<&NotRun>> = BTreeMap::new();
    for step in &scene.run.not_run {
        groups.entry((&step.scenario.0, &step.why)).or_default().push(step);
    }
    let entry = |((scenario, why), steps): ((&str, &str), Vec<&NotRun>)| {
        let mut variants: Vec<String> = steps.iter().map(|s| variant(s)).filter(|v| !v.is_empty()).collect();
        variants.dedup();
        let named = if variants.len() == 1 { variants.remove(0) } else { format!("{} variants", steps.len()) };
        let reads = scene.harness.checks().map(crate::check::Check::spec);
        let ids: BTreeSet<&str> =
            reads.filter(|spec| spec.reads.scenarios().contains(&scenario)).flat_map(|s| s.covers).copied().collect();
        Uncovered {
            what: format!("{scenario} ({named})"),
            why: gap(steps[0].reason),
            detail: why.to_owned(),
            ids: ids.into_iter().map(str::to_owned).collect(),
        }
    };
    groups.into_iter().map(entry).collect()
}

fn variant(step: &NotRun) -> String {
    let profile = step.axes.profile.clone().unwrap_or_default();
    format!("{profile} {}", values_of(&step.axes)).trim().to_owned()
}

/// Declared interfaces that nothing was driven over.
fn interfaces(scene: &Scene<'_>) -> Vec<Uncovered> {
    let wanted = activated(scene.bundle, scene.discovered);
    let beyond = core::beyond(scene.bundle, scene.discovered);
    let mut out = Vec::new();
    for interface in &scene.discovered.interfaces {
        let protocol = interface.protocol();
        if protocol.as_deref().is_some_and(|protocol| wanted.iter().any(|p| p.protocol() == protocol)) {
            continue;
        }
        let core = protocol.as_deref().is_some_and(|protocol| beyond.iter().any(|p| p.protocol() == protocol));
        let detail = if core {
            "the contract does not activate it: the core of the protocol was tried, and nothing else".to_owned()
        } else if interface.exercisable() {
            "the contract does not activate it".to_owned()
        } else {
            deprecated(scene.bundle.coverage.deprecated_versions).to_owned()
        };
        let what = format!("interface {} {}", interface.binding, interface.protocol_version);
        out.push(Uncovered { what, why: Gap::Policy, detail, ids: Vec::new() });
    }
    out
}

/// Why a version that the harness does not drive stays out; consumers are known from a later release on.
const fn deprecated(policy: DeprecatedCoverage) -> &'static str {
    match policy {
        DeprecatedCoverage::ProductionConsumersOnly => "no consumer in production is known to use it",
        DeprecatedCoverage::All => "the harness drives no interface of this version",
        DeprecatedCoverage::None => "the contract's policy leaves deprecated versions out",
    }
}

/// What a space of combinations leaves out: what is not cleared, what the policy does not ask for, what constraints
/// rule out.
fn of_matrix(matrix: &Matrix, coverage: &Coverage) -> Vec<Uncovered> {
    let risk = matrix.risk.as_str();
    let ids = || vec!["O-01".to_owned()];
    let covering = match &matrix.covering {
        Ok(covering) => covering,
        Err(problem) => {
            let what = format!("combinations of {risk} operations");
            return vec![Uncovered { what, why: Gap::Policy, detail: problem.to_string(), ids: ids() }];
        }
    };
    let mut out = Vec::new();
    // what writes and is not cleared was planned, and stands among the steps that were not run
    if !matrix.cleared && matrix.risk == RiskClass::Destructive {
        let what = format!("{} combinations of {risk} operations", covering.rows.len());
        let detail = "the environment's `cleared_effects` does not have the risk".to_owned();
        out.push(Uncovered { what, why: Gap::NotCleared, detail, ids: ids() });
    }
    let how = match matrix.policy {
        OperationCoverage::Representative => "the usual values of each operation alone",
        OperationCoverage::PairwisePlusBoundaries | OperationCoverage::ExhaustiveSecurityMatrix => {
            "pairs, and not every combination of three or more axes"
        }
    };
    let what = format!("{risk} operations beyond {} of {} combinations", covering.rows.len(), matrix.space.product());
    let detail = format!("`{}` asks for {how}", policy(matrix.policy));
    out.push(Uncovered { what, why: Gap::Policy, detail, ids: ids() });
    let own = coverage.combinations.iter().find(|space| space.risk == risk);
    for (name, count) in own.iter().flat_map(|space| &space.ruled_out) {
        let what = format!("{count} parts of combinations of {risk} operations");
        out.push(Uncovered { what, why: Gap::Constraint, detail: name.clone(), ids: ids() });
    }
    out
}

/// Past incidents of which nothing was shown.
fn incidents(coverage: &Coverage) -> Vec<Uncovered> {
    let open = coverage.incidents.iter().filter(|i| !matches!(i.verdict, Some(Outcome::Pass | Outcome::Fail)));
    let entry = |incident: &ostiary_record::IncidentCoverage| Uncovered {
        what: format!("incident {}", incident.case),
        why: incident.reason.map_or(Gap::NotAsked, gap),
        detail: incident.reason.map_or_else(|| "its case was not asked for".to_owned(), |r| r.to_string()),
        ids: vec!["O-03".to_owned()],
    };
    open.map(entry).collect()
}
