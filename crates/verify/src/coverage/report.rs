//! Which risk is covered by which combination, and what stays uncovered, with why (O-02).
//!
//! Made of recordings and findings alone; what was to be tried is planned again, by the same pure function.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::Profile;
use ostiary_contract::CaseSet;
use ostiary_protocol::a2a::Binding;
use ostiary_record::{
    Axes, BindingCount, Coverage, CoveredBy, Finding, IncidentCoverage, Outcome, PromiseCoverage, ReasonCode, Severity,
    Verdict,
};

use crate::{
    check::{CheckSpec, Reads},
    judge::Scene,
    plan::{PlanInput, activated},
};

mod rows;
mod uncovered;

/// Most variants that are listed beside one check.
const MOST_VARIANTS: usize = 24;

/// The part of a report that tells what was covered.
pub(crate) fn coverage(scene: &Scene<'_>, findings: &[Finding]) -> Coverage {
    let input = PlanInput {
        gate: scene.run.gate,
        only: &scene.options.only,
        bundle: scene.bundle,
        discovered: scene.discovered,
        environment: &scene.run.environment,
        seed: scene.discovered.recording.seed,
        calls: u32::MAX,
    };
    // a card or list that is judged alone has no combinations
    let matrices = if scene.options.card_alone { Vec::new() } else { crate::coverage::matrix::matrices(&input) };
    let promises = promises(scene, findings);
    let mut coverage = Coverage {
        scenarios: scenarios(scene),
        combinations: matrices.iter().map(|m| rows::skill(scene, m, findings)).collect(),
        incidents: incidents(scene, findings),
        promises,
        uncovered: Vec::new(),
    };
    coverage.uncovered = uncovered::uncovered(scene, &coverage, &matrices, findings);
    coverage
}

/// How many variants were driven over each binding, and how many were not; repetitions count once.
fn scenarios(scene: &Scene<'_>) -> Vec<BindingCount> {
    let mut driven: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut not_run = driven.clone();
    for recording in &scene.run.recordings {
        note(&mut driven, &recording.scenario.0, &recording.axes);
    }
    for step in &scene.run.not_run {
        note(&mut not_run, &step.scenario.0, &step.axes);
    }
    let names: BTreeSet<&String> = driven.keys().chain(not_run.keys()).collect();
    let size = |of: &BTreeMap<String, BTreeSet<String>>, name: &String| {
        of.get(name).map_or(0, |all| u32::try_from(all.len()).unwrap_or(u32::MAX))
    };
    let count = |name: &String| BindingCount {
        binding: name.clone(),
        driven: size(&driven, name),
        not_run: size(&not_run, name),
    };
    let mut out: Vec<BindingCount> = names.into_iter().map(count).collect();
    out.sort_by_key(|count| order(&count.binding));
    out
}

fn note(of: &mut BTreeMap<String, BTreeSet<String>>, scenario: &str, axes: &Axes) {
    let Some(profile) = axes.profile.as_deref().and_then(|p| p.parse::<Profile>().ok()) else { return };
    let variant = format!("{scenario} {profile} {}", values_of(axes));
    of.entry(binding_name(&profile)).or_default().insert(variant);
}

/// The bindings in the order in which people speak of them.
fn order(binding: &str) -> usize {
    ["JSON-RPC", "HTTP+JSON", "gRPC"].iter().position(|known| *known == binding).unwrap_or(usize::MAX)
}

/// The binding of a profile in the words of people.
pub(crate) fn binding_name(profile: &Profile) -> String {
    let known = [(Binding::JsonRpc, "JSON-RPC"), (Binding::HttpJson, "HTTP+JSON"), (Binding::Grpc, "gRPC")];
    let of = |binding: &Binding| binding.slug().is_some_and(|slug| profile.protocol().starts_with(&format!("{slug}-")));
    let name = known.iter().find(|(binding, _)| of(binding)).map(|(_, name)| *name);
    name.unwrap_or_else(|| profile.protocol()).to_owned()
}

/// The axes of a variant in words: case and values, without profile and repetition.
pub(crate) fn values_of(axes: &Axes) -> String {
    let case = axes.case.iter().map(|case| format!("case={case}"));
    let values = axes.values.iter().map(|(name, value)| format!("{name}={value}"));
    case.chain(values).collect::<Vec<_>>().join(" ")
}

/// One row a promise that some check of the harness covers.
fn promises(scene: &Scene<'_>, findings: &[Finding]) -> Vec<PromiseCoverage> {
    let wanted = activated(scene.bundle, scene.discovered);
    let gating = |f: &&Finding| f.profile.as_ref().is_none_or(|p| wanted.contains(p));
    let asked: Vec<&'static CheckSpec> =
        scene.harness.checks_for(scene.run.gate, &scene.options.only).map(|c| c.spec()).collect();
    let gating: Vec<&Finding> = findings.iter().filter(gating).collect();
    let mut ids: BTreeSet<&str> = asked.iter().flat_map(|spec| spec.covers).copied().collect();
    ids.extend(gating.iter().flat_map(|f| &f.covers).map(|id| id.0.as_str()));
    // a check covers several promises, and says the same for each
    let says = by(scene, &asked, &gating);
    let promise = |id: &str| {
        let own: Vec<&Finding> = gating.iter().copied().filter(|f| f.covers.iter().any(|c| c.0 == id)).collect();
        let spoke = |said: &&CoveredBy| {
            own.iter().any(|f| f.check == said.check && f.profile.as_ref().map(ToString::to_string) == said.profile)
        };
        let by = says.iter().filter(spoke).cloned().collect();
        PromiseCoverage { id: id.to_owned(), verdict: worst(&own), by }
    };
    ids.into_iter().map(promise).collect()
}

/// The worst of what counts; where nothing counts, of everything; not applicable where nothing was said at all.
pub(crate) fn worst(findings: &[&Finding]) -> Outcome {
    let outcomes = |counts: bool| {
        let of = findings.iter().filter(move |f| !counts || f.severity == Severity::Error);
        of.map(|f| f.verdict.outcome()).reduce(Outcome::worst)
    };
    outcomes(true).or_else(|| outcomes(false)).unwrap_or(Outcome::NotApplicable)
}

/// The reason of the worst finding, where it is no PASS.
pub(crate) fn reason(findings: &[&Finding], worst: Outcome) -> Option<ReasonCode> {
    findings.iter().find(|f| f.verdict.outcome() == worst).and_then(|f| f.verdict.reason())
}

fn by(scene: &Scene<'_>, specs: &[&'static CheckSpec], findings: &[&Finding]) -> Vec<CoveredBy> {
    let mut groups: BTreeMap<(String, Option<String>), Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        let key = (finding.check.0.clone(), finding.profile.as_ref().map(ToString::to_string));
        groups.entry(key).or_default().push(finding);
    }
    let row = |((check, profile), own): ((String, Option<String>), Vec<&Finding>)| {
        let spec = specs.iter().find(|spec| spec.id == check);
        let verdict = worst(&own);
        CoveredBy {
            variants: spec.map(|spec| variants(scene, spec, profile.as_deref())).unwrap_or_default(),
            reason: reason(&own, verdict),
            check: check.as_str().into(),
            profile,
            verdict,
        }
    };
    groups.into_iter().map(row).collect()
}

/// The variants of scenarios that a check read for a profile, each once.
fn variants(scene: &Scene<'_>, spec: &CheckSpec, profile: Option<&str>) -> Vec<String> {
    if matches!(spec.reads, Reads::Declarations | Reads::Everything) {
        return Vec::new();
    }
    let read = |r: &&ostiary_record::Recording| {
        spec.reads.scenarios().contains(&r.scenario.0.as_str())
            && profile.is_none_or(|p| r.axes.profile.as_deref() == Some(p))
    };
    let name = |r: &ostiary_record::Recording| format!("{} {}", r.scenario, values_of(&r.axes)).trim_end().to_owned();
    let all: BTreeSet<String> = scene.run.recordings.iter().filter(read).map(name).collect();
    let more = all.len().saturating_sub(MOST_VARIANTS);
    let mut out: Vec<String> = all.into_iter().take(MOST_VARIANTS).collect();
    if more > 0 {
        out.push(format!("… and {more} more"));
    }
    out
}

/// Past incidents: the cases of `cases/regression/`, with what they say now.
fn incidents(scene: &Scene<'_>, findings: &[Finding]) -> Vec<IncidentCoverage> {
    let cases = scene.bundle.cases.iter().filter(|c| c.set == CaseSet::Regression);
    let incident = |case: &ostiary_contract::Case| {
        let own: Vec<&Finding> =
            findings.iter().filter(|f| f.case.as_ref().is_some_and(|id| id.0 == case.id)).collect();
        let verdict = (!own.is_empty()).then(|| worst(&own));
        IncidentCoverage {
            case: case.id.as_str().into(),
            file: case.path.clone(),
            reason: verdict.and_then(|verdict| reason(&own, verdict)),
            verdict,
        }
    };
    cases.map(incident).collect()
}

/// The recordings that a finding cites, by their place in the run.
pub(crate) fn cited(finding: &Finding) -> BTreeSet<u32> {
    match &finding.verdict {
        Verdict::Pass { seen: refs } | Verdict::Fail { at: refs, .. } => {
            refs.as_slice().iter().map(|at| at.recording).collect()
        }
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests;
