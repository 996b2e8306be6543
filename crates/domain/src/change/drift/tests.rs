//! Whatever routers tell, in whatever order the control plane looks and people act: routers alone take nothing down.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{Digest, Revision};
use ostiary_record::{Gate, Outcome};
use proptest::prelude::*;

use super::{DriftIds, looked, report};
use crate::{
    change::Loaded,
    drift::{
        Background, Claim, Conclusion, DriftAction, DriftFinding, DriftKind, DriftReport, Look, NewDriftReport,
        Revalidation, Saw, Sighting,
    },
    hold::HoldKind,
    lifecycle::StateName,
    names::{Actor, DriftReportId, HoldId, JobId, Moment, RowVersion},
    policy::Policy,
    ports::Idempotency,
    route::Route,
    sample::{self, hour, states},
    version::Version,
};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A router reports a card.
    Report { router: u8, card: u8 },
    /// The control plane looks, and sees that card, or none.
    Look { card: Option<u8> },
    /// A person lifts the oldest hold.
    Lift,
    /// Some minutes pass.
    Pass(u8),
}

/// A store in miniature: what the decisions are given, and what they change.
struct Miniature {
    version: Version,
    sibling: Version,
    open: Option<Revalidation>,
    reports: Vec<(DriftReport, Timestamp)>,
    now: Moment,
}

/// The admitted card, that of another admitted version, and two that nobody admitted.
fn card(number: u8) -> Digest {
    match number {
        0 => sample::subject("1.0.0").card,
        1 => sample::subject("2.0.0").card,
        other => Digest::of(&[other]),
    }
}

impl Miniature {
    fn new() -> Self {
        let version = sample::version("1.0.0", states("1.0.0").swap_remove(6));
        let mut sibling = sample::version("1.0.0", states("2.0.0").swap_remove(4));
        sibling.key = sample::key("2.0.0");
        Self {
            version,
            sibling,
            open: None,
            reports: Vec::new(),
            now: Moment { time: hour(1), revision: Revision(10) },
        }
    }

    fn loaded(&self) -> Loaded {
        let route = Route { active: Some(self.version.key.clone()), ..Route::empty(sample::agent()) };
        Loaded { version: self.version.clone(), route, peers: Vec::new(), policy: Policy::one().digest() }
    }

    fn ids(&self) -> DriftIds {
        DriftIds { hold: HoldId(format!("hold-{}", self.now.revision)), job: JobId("job".into()) }
    }

    /// The reporters of `card` since the open revalidation began.
    fn witnesses(&self, card: Digest) -> Vec<&str> {
        let since = self.open.as_ref().map_or(Revision(u64::MAX), |open| open.since.revision);
        let told = self.reports.iter().map(|(report, _)| report);
        let told = told.filter(|r| r.claim.other_card() == Some(card) && r.taken.revision >= since);
        let mut names: Vec<&str> = told.map(|r| r.by.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn report(&mut self, router: u8, number: u8) {
        let by = Actor::machine(format!("router-{router}"));
        let observed = card(number);
        let concluded = |(report, at): &(DriftReport, Timestamp)| {
            (report.by == by && report.concluded.is_some_and(Conclusion::was_nothing)).then_some(*at)
        };
        let background = Background {
            siblings: vec![self.version.clone(), self.sibling.clone()],
            open: self.open.clone(),
            seconded: self.witnesses(observed).iter().any(|name| *name != by.name),
            unfounded: self.reports.iter().filter_map(concluded).max(),
            recent: 0,
        };
        let new = NewDriftReport {
            id: DriftReportId(format!("drift-{}", self.now.revision)),
            agent: sample::agent(),
            label: self.version.key.label.clone(),
            by: by.clone(),
            key: Idempotency { key: "k".into(), request: observed },
            claim: claim(observed, self.now.time),
        };
        let judged = report(self.loaded(), &background, &new, &self.ids(), self.now).expect("it is taken");
        self.take(judged.changes.versions);
        self.open = judged.revalidation.or(self.open.take());
        let NewDriftReport { id, claim, .. } = new;
        let (version, taken) = (self.version.key.clone(), self.now);
        let report = DriftReport { id, version, by, claim, taken, action: judged.action, concluded: None };
        self.reports.push((report, self.now.time));
    }

    fn look(&mut self, number: Option<u8>) {
        let Some(open) = self.open.clone() else { return };
        let saw = match number {
            None => Saw::Nothing { why: "away".into() },
            Some(number) => {
                let evidence = sample::evidence("1.0.0", Gate::Admission, Outcome::Fail, 1);
                let evidence = (number > 0).then(|| (evidence, bytes::Bytes::new()));
                Saw::Card(Box::new(Sighting { card: card(number), evidence }))
            }
        };
        let seconded = (2..4).any(|number| self.witnesses(card(number)).len() > 1);
        let siblings = [self.version.clone(), self.sibling.clone()];
        let look = Look { claimed: open, saw };
        let seen = looked(self.loaded(), (&siblings, seconded), &look, &self.ids(), self.now).expect("it is written");
        self.take(seen.changes.map(|changes| changes.versions).unwrap_or_default());
        self.open = seen.revalidation;
        if let Some(conclusion) = seen.conclusion {
            let waiting = self.reports.iter_mut().filter(|(report, _)| report.concluded.is_none());
            waiting.for_each(|(report, at)| (report.concluded, *at) = (Some(conclusion), self.now.time));
        }
    }

    fn take(&mut self, versions: Vec<Version>) {
        if let Some(version) = versions.into_iter().find(|version| version.key == self.version.key) {
            self.version = Version { row: RowVersion(self.version.row.0 + 1), ..version };
        }
    }

    fn step(&mut self, step: Step) {
        self.now.revision.0 += 1;
        match step {
            Step::Report { router, card } => self.report(router, card),
            Step::Look { card } => self.look(card),
            Step::Lift if !self.version.holds.is_empty() => drop(self.version.holds.remove(0)),
            Step::Lift => {}
            Step::Pass(minutes) => self.now.time += SignedDuration::from_mins(minutes.into()),
        }
    }

    fn holds(&self, kind: HoldKind) -> usize {
        self.version.holds.iter().filter(|hold| hold.kind == kind).count()
    }
}

fn claim(observed: Digest, now: Timestamp) -> Claim {
    Claim {
        router_id: "r".into(),
        kind: DriftKind::Card,
        finding: DriftFinding::Mismatch,
        expected: None,
        observed: Some(observed),
        first_seen: now,
        last_seen: now,
        count: 1,
        sample_reference: None,
    }
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u8, 0..4_u8).prop_map(|(router, card)| Step::Report { router, card }),
        3 => prop::option::of(0..4_u8).prop_map(|card| Step::Look { card }),
        1 => Just(Step::Lift),
        2 => (1..12_u8).prop_map(Step::Pass),
    ]
}

proptest! {
    #[test]
    fn only_a_look_takes_a_version_down(steps in prop::collection::vec(steps(), 1..60)) {
        let mut world = Miniature::new();
        for step in steps {
            let (before, was_open) = (world.version.state.name(), world.open.is_some());
            world.step(step);
            let after = world.version.state.name();
            if before != after {
                prop_assert!(matches!(step, Step::Look { card: Some(2..) }) && was_open, "{step:?}");
                prop_assert_eq!(after, StateName::Quarantined);
                prop_assert!(world.version.holds.is_empty(), "nothing of ours blocks the way out");
            }
            prop_assert!(world.holds(HoldKind::Revalidating) <= 1 && world.holds(HoldKind::RevalidatingForAll) <= 1);
            prop_assert!(world.open.is_some() || world.version.holds.is_empty(), "a hold without a look stands for ever");
        }
    }

    #[test]
    fn everybody_is_denied_only_on_the_word_of_two_while_nobody_can_look(steps in prop::collection::vec(steps(), 1..60)) {
        let mut world = Miniature::new();
        for step in steps {
            world.step(step);
            if world.holds(HoldKind::RevalidatingForAll) > 0 {
                let open = world.open.as_ref().expect("it is being looked at");
                prop_assert!(open.failed > 0, "it is looked first");
                prop_assert!((2..4).any(|number| world.witnesses(card(number)).len() > 1), "two saw the same card");
            }
        }
    }

    #[test]
    fn one_router_alone_denies_nobody_who_sees_the_admitted_card(
        steps in prop::collection::vec(steps(), 1..60)
    ) {
        let mut world = Miniature::new();
        for step in steps {
            match step {
                Step::Report { card, .. } => world.step(Step::Report { router: 0, card }),
                // An honest agent: it is away, or serves what was admitted.
                Step::Look { card } => world.step(Step::Look { card: card.map(|_| 0) }),
                other => world.step(other),
            }
            prop_assert_eq!(world.version.state.name(), StateName::Active);
            prop_assert_eq!(world.holds(HoldKind::RevalidatingForAll), 0);
            let told = world.reports.last().map(|(report, _)| report.action);
            prop_assert_ne!(told, Some(DriftAction::RevalidatingForAll));
        }
    }
}
