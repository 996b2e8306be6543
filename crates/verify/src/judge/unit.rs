//! Which recordings one judgement reads: those of one profile and one case.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::Profile;
use ostiary_record::{Axes, CaseId};

use crate::{
    check::{CheckSpec, Reads},
    coverage::core,
    facts::Tape,
    judge::Scene,
};

/// One judgement: a check on one profile and one case, or on all profiles together.
#[derive(Clone, Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) profile: Option<Profile>,
    pub(crate) case: Option<CaseId>,
    /// Whether it is about all profiles together.
    pub(crate) across: bool,
    /// All repetitions.
    pub(crate) tapes: Vec<Tape<'a>>,
}

/// The judgements of a check, in stable order.
pub(crate) fn units<'a>(scene: &Scene<'a>, spec: &CheckSpec) -> Vec<Unit<'a>> {
    if spec.reads == Reads::Declarations {
        let tapes = all_tapes(scene).filter(|t| t.recording.axes.profile.is_none() && t.index == 0).collect();
        return vec![Unit { profile: None, case: None, across: false, tapes }];
    }
    let beyond = core::beyond(scene.bundle, scene.discovered);
    if let Reads::AcrossProfiles(_) = spec.reads {
        // a binding of which the core alone was tried says nothing of what all bindings have in common
        let own = |t: &Tape<'a>| profile_of(&t.recording.axes).is_none_or(|p| !beyond.contains(&p));
        let tapes = all_tapes(scene).filter(|t| reads(spec, &t.recording.scenario.0)).filter(own).collect();
        return vec![Unit { profile: None, case: None, across: true, tapes }];
    }
    let mut out = Vec::new();
    for profile in profiles(scene) {
        if beyond.contains(&profile) && !tried(scene, spec, &profile) {
            continue;
        }
        for case in cases(scene, spec, &profile) {
            let everything = spec.reads == Reads::Everything;
            let of = |axes: &Axes| profile_of(axes).as_ref() == Some(&profile) && (everything || axes.case == case);
            let reads = |t: &Tape<'a>| reads(spec, &t.recording.scenario.0) && of(&t.recording.axes);
            let tapes = all_tapes(scene).filter(reads).collect();
            out.push(Unit { profile: Some(profile.clone()), case, across: false, tapes });
        }
    }
    if out.is_empty() {
        out.push(Unit { profile: None, case: None, across: false, tapes: Vec::new() });
    }
    out
}

// === impl Unit ===

impl<'a> Unit<'a> {
    /// The repetitions that were driven, at least one. A stored run may name any number, so that they are listed and
    /// not counted.
    pub(crate) fn repetitions(&self) -> BTreeSet<u32> {
        let mut all: BTreeSet<u32> = self.tapes.iter().map(|t| t.recording.axes.repetition).collect();
        if all.is_empty() {
            all.insert(0);
        }
        all
    }

    /// The recordings of one repetition; a scenario that was not driven in it, for a profile, gives its last.
    pub(crate) fn repetition(&self, n: u32) -> Vec<Tape<'a>> {
        let key = |t: &Tape<'a>| (t.recording.scenario.0.as_str(), t.recording.axes.profile.as_deref());
        let mut of: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
        for tape in &self.tapes {
            of.entry(key(tape)).or_default().insert(tape.recording.axes.repetition);
        }
        let stands_for = |driven: &BTreeSet<u32>| if driven.contains(&n) { Some(n) } else { driven.last().copied() };
        let wanted = |t: &&Tape<'a>| {
            let driven = of.get(&key(t));
            driven.and_then(stands_for) == Some(t.recording.axes.repetition)
        };
        self.tapes.iter().filter(wanted).copied().collect()
    }

    /// Whether something of this unit was driven or tried under these axes.
    pub(crate) fn holds(&self, axes: &Axes) -> bool {
        (self.across || profile_of(axes) == self.profile) && (axes.case == self.case || self.case.is_none())
    }
}

/// The profiles that were driven or tried, in order of their names.
pub(crate) fn profiles(scene: &Scene<'_>) -> BTreeSet<Profile> {
    let driven = scene.run.recordings.iter().map(|r| &r.axes);
    let tried = scene.run.not_run.iter().map(|n| &n.axes);
    driven.chain(tried).filter_map(profile_of).collect()
}

pub(crate) fn profile_of(axes: &Axes) -> Option<Profile> {
    axes.profile.as_deref().and_then(|p| p.parse().ok())
}

/// The cases that a check's scenarios were driven or tried for; a check without cases has one unit, of no case.
fn cases(scene: &Scene<'_>, spec: &CheckSpec, profile: &Profile) -> BTreeSet<Option<CaseId>> {
    if spec.reads == Reads::Everything {
        return std::iter::once(None).collect();
    }
    let of = |scenario: &str, axes: &Axes| reads(spec, scenario) && profile_of(axes).as_ref() == Some(profile);
    let driven = scene.run.recordings.iter().filter(|r| of(&r.scenario.0, &r.axes)).map(|r| r.axes.case.clone());
    let tried = scene.run.not_run.iter().filter(|n| of(&n.scenario.0, &n.axes)).map(|n| n.axes.case.clone());
    let mut found: BTreeSet<Option<CaseId>> = driven.chain(tried).collect();
    if found.is_empty() {
        found.insert(None);
    }
    found
}

/// Whether the scenarios of a check were driven for a profile of which only the core is tried.
fn tried(scene: &Scene<'_>, spec: &CheckSpec, profile: &Profile) -> bool {
    let driven = |id: &&str| {
        let of = |r: &ostiary_record::Recording| r.scenario.0 == **id && profile_of(&r.axes).as_ref() == Some(profile);
        scene.run.recordings.iter().any(of)
    };
    match spec.reads {
        Reads::Each(ids) => ids.iter().all(driven),
        Reads::Any(ids) => ids.iter().any(driven),
        Reads::Declarations | Reads::AcrossProfiles(_) | Reads::Everything => false,
    }
}

fn reads(spec: &CheckSpec, scenario: &str) -> bool {
    match spec.reads {
        Reads::Declarations => false,
        Reads::Each(ids) | Reads::Any(ids) | Reads::AcrossProfiles(ids) => ids.contains(&scenario),
        Reads::Everything => true,
    }
}

fn all_tapes<'a>(scene: &Scene<'a>) -> impl Iterator<Item = Tape<'a>> {
    let number = |(n, recording)| Tape { index: u32::try_from(n).unwrap_or(u32::MAX), recording };
    scene.run.recordings.iter().enumerate().map(number)
}
