//! What will be driven, in which order: scenario × variant × repetition, decided before the first call. Pure.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::{Digest, Profile};
use ostiary_contract::Bundle;
use ostiary_record::{ActorId, Axes, EnvironmentFacts, Gate, NotRun, ReasonCode};

use crate::{
    check::{Check, Reads},
    coverage::core,
    discover::{Discovered, Interface},
    plan::{cast::cast, incidents::Incidents},
    registry::Harness,
    scenario::{Control, DISCOVER, Isolation, Role, Scenario, ScenarioSpec},
};

mod cast;
mod incidents;

/// Everything that planning depends on.
pub struct PlanInput<'a> {
    /// The gate asked for; `None` = all that verification asks (static to security).
    pub gate: Option<Gate>,
    /// Only these checks, scenarios or cases; empty = all.
    pub only: &'a [String],
    /// The contract.
    pub bundle: &'a Bundle,
    /// What the candidate declares now.
    pub discovered: &'a Discovered,
    /// The verification environment.
    pub environment: &'a EnvironmentFacts,
    /// Seed of generated values.
    pub seed: u64,
    /// Most calls of the run: no more drives are planned than there are calls to make.
    pub calls: u32,
}

/// Most drives of one run, whatever an environment allows: a plan is held in memory as a whole.
const MOST_STEPS: usize = 100_000;

/// What to do where notifications cannot be received.
pub(crate) const NO_CALLBACKS: &str = "push notifications cannot be received here: add `callbacks` to the environment, and let the agent call that address";

/// What will be driven, and what will not.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The gate asked for.
    pub gate: Option<Gate>,
    /// In order of driving.
    pub steps: Vec<Step>,
    /// Planned by the contract, impossible here.
    pub not_run: Vec<NotRun>,
    /// How many checks will judge.
    pub checks: u32,
}

/// One drive of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The scenario.
    pub scenario: &'static str,
    /// The variant, repetition included.
    pub axes: Axes,
    /// Its own seed.
    pub seed: u64,
    /// What it may run beside.
    pub isolation: Isolation,
    /// Who plays whom.
    pub cast: BTreeMap<Role, ActorId>,
    /// The scenario whose control must have worked for the same profile.
    pub control: Option<&'static str>,
}

/// Steps that may be driven together.
pub(crate) struct Group<'p> {
    /// In the plan's order.
    pub(crate) steps: &'p [Step],
    /// Whether one must end before the next begins.
    pub(crate) alone: bool,
}

/// Plans a run: same input, same plan.
#[must_use]
pub fn plan(harness: &Harness, input: &PlanInput<'_>) -> Plan {
    let checks: Vec<&dyn Check> = harness.checks_for(input.gate, input.only).collect();
    let mut plan = Plan { gate: input.gate, steps: Vec::new(), not_run: Vec::new(), checks: count(checks.len()) };
    let mut unaffordable = BTreeSet::new();
    let mut scenarios = wanted(harness, input, &checks);
    // in the order of driving, so that a budget that does not last for all is spent on controls first
    scenarios.sort_by_key(|s| rank(harness, s.spec().isolation, s.spec().id));
    let beyond = core::beyond(input.bundle, input.discovered);
    let variants_of = |s: &dyn Scenario| [s.variants(input), core::variants(s, input, &beyond)].concat();
    let variants = scenarios.iter().flat_map(|s| variants_of(*s).into_iter().map(|axes| (s.spec(), axes)));
    let incidents = Incidents::of(harness, input);
    // past incidents and their controls are tried whatever else the budget lasts for (O-03)
    let (first, rest): (Vec<_>, Vec<_>) = variants.partition(|(spec, axes)| incidents.need(spec.id, axes));
    for (spec, axes) in first.into_iter().chain(rest) {
        add(&mut plan, spec, input, axes, &mut unaffordable);
    }
    plan.steps.sort_by_key(|step| rank(harness, step.isolation, step.scenario));
    let spent = |(scenario, profile): (&'static str, Option<String>)| NotRun {
        scenario: scenario.into(),
        axes: Axes { profile, ..Axes::default() },
        reason: ReasonCode::BudgetExceeded,
        why: format!("not all variants and repetitions fit into the budget of {} calls", input.calls),
    };
    plan.not_run.extend(unaffordable.into_iter().map(spent));
    plan
}

// === impl Plan ===

impl Plan {
    /// Gives up everything that would be driven, for one reason.
    pub(crate) fn abandon(&mut self, reason: ReasonCode, why: &str) {
        let not_run =
            |step: Step| NotRun { scenario: step.scenario.into(), axes: step.axes, reason, why: why.to_owned() };
        self.not_run.extend(self.steps.drain(..).map(not_run));
    }

    /// The steps in groups of equal isolation and control depth.
    pub(crate) fn groups<'p>(&'p self, harness: &Harness) -> Vec<Group<'p>> {
        let of = |step: &Step| rank(harness, step.isolation, step.scenario);
        let same = |a: &Step, b: &Step| of(a) == of(b);
        let group = |steps: &'p [Step]| Group { steps, alone: steps[0].isolation != Isolation::Shared };
        self.steps.chunk_by(same).map(group).collect()
    }
}

// === impl PlanInput ===

impl PlanInput<'_> {
    /// The profiles to be activated: the contract's list, or every declared interface as default/default.
    #[must_use]
    pub fn profiles(&self) -> Vec<Profile> {
        activated(self.bundle, self.discovered)
    }

    /// One variant for each activated profile whose interface the harness can drive.
    #[must_use]
    pub fn each_profile(&self) -> Vec<Axes> {
        let drivable = |p: &Profile| self.interface(p).is_some_and(Interface::exercisable);
        let axes = |p: Profile| Axes { profile: Some(p.to_string()), ..Axes::default() };
        self.profiles().into_iter().filter(drivable).map(axes).collect()
    }

    /// The interface that a profile is about.
    #[must_use]
    pub fn interface(&self, profile: &Profile) -> Option<&Interface> {
        self.discovered.interface(profile)
    }

    /// Whether a case is among what was asked for.
    #[must_use]
    pub fn wants_case(&self, id: &str) -> bool {
        let cases = &self.bundle.cases;
        let named = |only: &String| cases.iter().any(|c| c.id == *only);
        !self.only.iter().any(named) || self.only.iter().any(|only| only == id)
    }

    /// A member of the card's `capabilities`; absent = not declared.
    #[must_use]
    pub fn declares(&self, capability: &str) -> bool {
        let card = self.discovered.card.as_ref();
        card.is_some_and(|c| c.pointer(&format!("/capabilities/{capability}")) == Some(&true.into()))
    }
}

/// The profiles to be activated, of which every gate is judged apart.
#[must_use]
pub fn activated(bundle: &Bundle, discovered: &Discovered) -> Vec<Profile> {
    let wanted = crate::contract_view::activate(bundle);
    if !wanted.is_empty() {
        return wanted;
    }
    let default = |i: &Interface| i.protocol().and_then(|p| p.parse().ok());
    let mut seen = BTreeSet::new();
    discovered.interfaces.iter().filter_map(default).filter(|p: &Profile| seen.insert(p.clone())).collect()
}

/// The scenarios that the checks read, with their controls, in registry order.
fn wanted<'h>(harness: &'h Harness, input: &PlanInput<'_>, checks: &[&dyn Check]) -> Vec<&'h dyn Scenario> {
    let mut ids: BTreeSet<&str> = checks.iter().flat_map(|c| c.spec().reads.scenarios()).copied().collect();
    if checks.iter().any(|c| c.spec().reads == Reads::Everything) && ids.is_empty() {
        ids.extend(harness.scenarios().map(|s| s.spec().id));
    }
    ids.extend(harness.scenarios().map(|s| s.spec().id).filter(|id| input.only.iter().any(|only| only == id)));
    let named = input.bundle.cases.iter().filter(|c| input.only.contains(&c.id));
    ids.extend(named.flat_map(crate::cases::scenarios_of));
    loop {
        let controls =
            harness.scenarios().filter(|s| ids.contains(s.spec().id)).filter_map(|s| match s.spec().control {
                Control::By(id) => Some(id),
                Control::NotNeeded | Control::Within => None,
            });
        let more: Vec<&str> = controls.filter(|id| !ids.contains(id)).collect();
        if more.is_empty() {
            break;
        }
        ids.extend(more);
    }
    ids.remove(DISCOVER);
    let allowed = |s: &&dyn Scenario| input.gate.is_none_or(|gate| s.spec().gate <= gate);
    harness.scenarios().filter(|s| ids.contains(s.spec().id)).filter(allowed).collect()
}

/// Scenarios of which not all fits into the budget, with the profile.
type Unaffordable = BTreeSet<(&'static str, Option<String>)>;

/// Adds one variant with all its repetitions, or says once why it cannot be driven. Each drive makes at least one call, so
/// that what the budget has no calls for is not even laid out: a contract cannot make the plan longer than that.
fn add(plan: &mut Plan, spec: &ScenarioSpec, input: &PlanInput<'_>, variant: Axes, unaffordable: &mut Unaffordable) {
    let profile = variant.profile.as_deref().and_then(|p| p.parse::<Profile>().ok());
    let cast = profile.as_ref().map(|p| cast(input, p)).unwrap_or_default();
    if let Some((reason, why)) = obstacle(spec, input, &cast) {
        plan.not_run.push(NotRun { scenario: spec.id.into(), axes: variant, reason, why });
        return;
    }
    let repetitions = repetitions(spec, input);
    if size(repetitions) > size(input.calls).min(MOST_STEPS).saturating_sub(plan.steps.len()) {
        unaffordable.insert((spec.id, variant.profile));
        return;
    }
    let control = if let Control::By(id) = spec.control { Some(id) } else { None };
    for repetition in 0..repetitions {
        let axes = Axes { repetition, ..variant.clone() };
        let seed = seed_of(input.seed, spec.id, &axes);
        plan.steps.push(Step { scenario: spec.id, axes, seed, isolation: spec.isolation, cast: cast.clone(), control });
    }
}

/// What the scenario wants, or the contract if that is more; what must be alone is not repeated for the contract.
fn repetitions(spec: &ScenarioSpec, input: &PlanInput<'_>) -> u32 {
    let own = spec.repeats.max(1);
    if spec.isolation == Isolation::Shared { own.max(crate::contract_view::repetitions(input.bundle)) } else { own }
}

fn obstacle(
    spec: &ScenarioSpec,
    input: &PlanInput<'_>,
    cast: &BTreeMap<Role, ActorId>,
) -> Option<(ReasonCode, String)> {
    if spec.needs.card && input.discovered.card.is_none() {
        return Some((ReasonCode::CardUnavailable, "there is no readable card to start from".to_owned()));
    }
    if let Some(risk) = spec.clearance.needed()
        && !input.environment.cleared_effects.iter().any(|e| e == risk)
    {
        return Some((ReasonCode::CallNotCleared, format!("`{risk}` is not in the environment's `cleared_effects`")));
    }
    if spec.needs.callbacks && input.environment.callbacks.is_none() {
        return Some((ReasonCode::ObserverMissing, NO_CALLBACKS.to_owned()));
    }
    let missing = spec.needs.roles.iter().find(|r| **r != Role::Anonymous && !cast.contains_key(r))?;
    let why = format!("no subject of the environment can play the role {}", missing.as_str());
    Some((ReasonCode::SubjectMissing, why))
}

/// Shared before exclusive before destructive; within these, controls before what they control.
fn rank(harness: &Harness, isolation: Isolation, scenario: &str) -> (Isolation, u32) {
    (isolation, harness.control_depth(scenario))
}

fn seed_of(seed: u64, scenario: &str, axes: &Axes) -> u64 {
    let name = serde_json::to_vec(&(seed, scenario, axes)).expect("axes are plain data and always serialise");
    let digest = Digest::of(&name);
    let mut first = [0_u8; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    u64::from_be_bytes(first)
}

fn size(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
