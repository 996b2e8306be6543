//! What keeps a unit from being judged: scenarios that were not driven, controls that failed.

use ostiary_record::{Axes, NotRun, ReasonCode};

use crate::{
    check::{CheckSpec, Reads},
    declaration::could_not_fetch,
    facts::Tape,
    judge::{Scene, unit::Unit},
    scenario::Control,
    stage::{CONTROL_FAILED, CONTROL_OK},
};

/// Something without which no verdict is possible.
pub(super) struct Gap {
    pub(super) reason: ReasonCode,
    pub(super) what: String,
    pub(super) remedy: String,
}

/// The recordings that may be judged, or the gaps.
pub(super) fn judgeable<'a>(
    scene: &Scene<'_>,
    spec: &CheckSpec,
    unit: &Unit<'_>,
    tapes: &[Tape<'a>],
) -> Result<Vec<Tape<'a>>, Vec<Gap>> {
    if spec.reads == Reads::Declarations {
        return if tapes.is_empty() { Err(vec![not_run(scene, unit, "discover")]) } else { Ok(tapes.to_vec()) };
    }
    let gaps = undriven(scene, spec, unit, tapes);
    if !gaps.is_empty() {
        return Err(gaps);
    }
    if spec.reads == Reads::Everything {
        return Ok(tapes.to_vec());
    }
    let (sound, unsound): (Vec<Tape<'a>>, Vec<Tape<'a>>) =
        tapes.iter().copied().partition(|t| control_problem(scene, *t).is_none());
    let any = matches!(spec.reads, Reads::Any(_) | Reads::AcrossProfiles(_));
    let enough = unsound.is_empty() || (any && !sound.is_empty());
    if enough { Ok(sound) } else { Err(unsound.iter().filter_map(|t| control_problem(scene, *t)).collect()) }
}

/// The scenarios that the check needs and that have no recording.
fn undriven(scene: &Scene<'_>, spec: &CheckSpec, unit: &Unit<'_>, tapes: &[Tape<'_>]) -> Vec<Gap> {
    let absent = |id: &&&str| !tapes.iter().any(|t| t.recording.scenario.0 == **id);
    match spec.reads {
        Reads::Declarations => Vec::new(),
        Reads::Each(ids) => ids.iter().filter(absent).map(|id| not_run(scene, unit, id)).collect(),
        Reads::Any(_) | Reads::AcrossProfiles(_) | Reads::Everything if !tapes.is_empty() => Vec::new(),
        Reads::Any(ids) | Reads::AcrossProfiles(ids) => ids.iter().map(|id| not_run(scene, unit, id)).collect(),
        Reads::Everything => vec![not_run(scene, unit, "any")],
    }
}

/// The variants that were planned beside those that were driven, and not driven: a PASS does not hold for them.
pub(super) fn partly_skipped(scene: &Scene<'_>, spec: &CheckSpec, unit: &Unit<'_>) -> Option<Gap> {
    let Reads::Each(ids) = spec.reads else { return None };
    let n = scene.run.not_run.iter().find(|n| ids.contains(&n.scenario.0.as_str()) && unit.holds(&n.axes))?;
    let variant: Vec<String> = n.axes.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let what = format!("scenario:{} {}", n.scenario, variant.join(" "));
    Some(Gap { reason: n.reason, what: what.trim_end().to_owned(), remedy: n.why.clone() })
}

fn not_run(scene: &Scene<'_>, unit: &Unit<'_>, scenario: &str) -> Gap {
    let what = format!("scenario:{scenario}");
    match skipped(scene, scenario, |axes| unit.holds(axes)) {
        Some(n) if n.reason != ReasonCode::CardUnavailable => Gap { reason: n.reason, what, remedy: n.why.clone() },
        // without a card there is nothing to drive, and this one cause stands for all that follows from it
        _ if scene.discovered.card_absence().is_some() => {
            let why = scene.discovered.card_absence().unwrap_or_default();
            Gap { reason: ReasonCode::CardUnavailable, what, remedy: could_not_fetch(&why) }
        }
        Some(n) => Gap { reason: n.reason, what, remedy: n.why.clone() },
        None => Gap {
            reason: ReasonCode::ScenarioNotRun,
            what,
            remedy: "the scenario was not driven for this profile".to_owned(),
        },
    }
}

fn skipped<'a>(scene: &Scene<'a>, scenario: &str, holds: impl Fn(&Axes) -> bool) -> Option<&'a NotRun> {
    scene.run.not_run.iter().find(|n| n.scenario.0 == scenario && holds(&n.axes))
}

/// Why the recording of a negative scenario proves nothing; `None` when its control worked or none is needed.
fn control_problem(scene: &Scene<'_>, tape: Tape<'_>) -> Option<Gap> {
    let recording = tape.recording;
    let control = scene.harness.scenario(&recording.scenario.0)?.spec().control;
    let profile = &recording.axes.profile;
    let (id, controls): (&str, Vec<_>) = match control {
        Control::NotNeeded => return None,
        Control::Within => (recording.scenario.0.as_str(), vec![recording]),
        Control::By(id) => {
            let of = scene.run.recordings.iter().filter(|r| r.scenario.0 == id && r.axes.profile == *profile);
            (id, of.collect())
        }
    };
    if controls.iter().any(|r| r.mark(CONTROL_OK).is_some()) {
        return None;
    }
    if let Some(n) = skipped(scene, id, |axes| axes.profile == *profile) {
        return Some(Gap { reason: n.reason, what: format!("control:{id}"), remedy: n.why.clone() });
    }
    let why = controls.iter().find_map(|r| r.mark(CONTROL_FAILED)).and_then(|(why, _)| why);
    let remedy = why.unwrap_or("the control shows no sign of success").to_owned();
    Some(Gap { reason: ReasonCode::ControlFailed, what: format!("control:{id}"), remedy })
}
