//! Holds what a check says against its own specification. A contradiction is the harness's fault and never a verdict.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ostiary_record::{EventRef, Finding, ReasonCode, Recording, Run, Verdict};

use crate::{
    check::{Check, CheckSpec},
    facts::Facts,
    judge::outcome::Outcomes,
};

/// Reasons that the engine itself gives for any check; a check need not list them.
pub const ENGINE_REASONS: &[ReasonCode] = &[
    ReasonCode::Nondeterministic,
    ReasonCode::ControlFailed,
    ReasonCode::ObservationIncomplete,
    ReasonCode::TargetUnreachable,
    ReasonCode::TargetUnresponsive,
    ReasonCode::TargetRateLimited,
    ReasonCode::BudgetExceeded,
    ReasonCode::ScenarioNotRun,
    ReasonCode::SubjectMissing,
    ReasonCode::ProviderStateFailed,
    ReasonCode::CallNotCleared,
    ReasonCode::HarnessFault,
    ReasonCode::NotDeclared,
    ReasonCode::CardUnavailable,
];

/// What the check says, as it may stand; each contradiction becomes INCONCLUSIVE, and so do silence and a panic.
pub(super) fn guarded(facts: &Facts<'_>, run: &Run, check: &dyn Check) -> Vec<Finding> {
    // recordings are uploaded by workers: one that breaks a check must not break the control plane
    let Ok(findings) = catch_unwind(AssertUnwindSafe(|| check.judge(facts))) else {
        return vec![fault(facts, "the check panicked")];
    };
    if findings.is_empty() {
        return vec![fault(facts, "the check gave no finding")];
    }
    let hold = |finding: Finding| match contradiction(facts.spec, run, &finding) {
        None => clipped(finding),
        Some(why) => fault(facts, &why),
    };
    let mut outcomes = Outcomes::of(facts);
    findings.into_iter().map(hold).map(|finding| outcomes.told(finding)).collect()
}

/// The finding with texts that people can bear: what an agent says may stand in them.
fn clipped(mut finding: Finding) -> Finding {
    clip(&mut finding.message);
    finding.place.pointer.iter_mut().chain(&mut finding.detail).for_each(clip);
    match &mut finding.verdict {
        Verdict::Fail { expected, observed, .. } => [expected, observed].into_iter().for_each(clip),
        Verdict::Inconclusive { missing, .. } => {
            missing.iter_mut().flat_map(|m| [&mut m.what, &mut m.remedy]).for_each(clip);
        }
        Verdict::Pass { .. } | Verdict::NotApplicable { .. } => {}
    }
    finding
}

fn clip(text: &mut String) {
    const MOST: usize = 2 << 10;
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST));
        text.push('…');
    }
}

fn fault(facts: &Facts<'_>, why: &str) -> Finding {
    facts.inconclusive(ReasonCode::HarnessFault, "harness", why)
}

/// What in a finding contradicts the specification of its check, or the run.
fn contradiction(spec: &CheckSpec, run: &Run, finding: &Finding) -> Option<String> {
    if finding.check.0 != spec.id || finding.layer != spec.layer {
        return Some(format!("finding of `{}` in layer {} from check `{}`", finding.check, finding.layer, spec.id));
    }
    if finding.severity < spec.severity {
        return Some(format!("finding is graver than its check `{}`", spec.id));
    }
    if let Some(reason) = finding.verdict.reason()
        && !spec.reasons.contains(&reason)
        && !ENGINE_REASONS.contains(&reason)
    {
        return Some(format!("reason {reason} is not in the specification of `{}`", spec.id));
    }
    let cited = match &finding.verdict {
        Verdict::Pass { seen } => seen.as_slice(),
        Verdict::Fail { at, .. } => at.as_slice(),
        Verdict::Inconclusive { .. } | Verdict::NotApplicable { .. } => &[],
    };
    let unknown = cited.iter().find(|c| !exists(run, c))?;
    Some(format!("event {} of recording {} is cited and does not exist", unknown.seq.0, unknown.recording))
}

fn exists(run: &Run, cited: &EventRef) -> bool {
    let recording = usize::try_from(cited.recording).ok().and_then(|n| run.recordings.get(n));
    let at = |r: &Recording| usize::try_from(cited.seq.0).ok().and_then(|n| r.events.get(n)).map(|e| e.seq);
    // an event stands at its number; where a stored recording is cut, it is looked for
    recording.is_some_and(|r| at(r) == Some(cited.seq) || r.events.iter().any(|e| e.seq == cited.seq))
}
