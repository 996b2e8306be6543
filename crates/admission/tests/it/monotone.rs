//! Bad evidence never helps: adding a fault never turns a deny into an allow, in any state and mode.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use ostiary_admission::{Enforcement, State, decide_dispatch, explain_dispatch};
use proptest::prelude::*;

use crate::{
    fixture::{hours, now},
    table::{FAULTS, World},
};

/// The numbers of what is really a fault: saying less about contract and producer is none.
fn faults() -> impl Strategy<Value = usize> {
    (1..FAULTS.len()).prop_filter("a fault", |at| !["contract left out", "producer left out"].contains(&FAULTS[*at].0))
}

fn world(state: State, faults: &BTreeSet<usize>) -> World {
    let mut world = World::new(state);
    faults.iter().for_each(|fault| FAULTS[*fault].1(&mut world));
    world
}

fn modes() -> impl Strategy<Value = Enforcement> {
    prop_oneof![
        Just(Enforcement::Enforce),
        (-2_i64..3).prop_map(|h| Enforcement::Observe { until: now() + hours(h) }),
        (-2_i64..3).prop_map(|h| Enforcement::Warn { until: now() + hours(h) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn one_more_fault_never_turns_a_deny_into_an_allow(
        state in prop::sample::select(&State::ALL[..]),
        faults in prop::collection::btree_set(faults(), 0..5),
        more in faults(),
        enforcement in modes(),
    ) {
        // A namespace that only observes lets unknown versions through, but not quarantined ones.
        prop_assume!(enforcement == Enforcement::Enforce || FAULTS[more].0 != "version unknown");
        let with_more: BTreeSet<usize> = faults.iter().copied().chain([more]).collect();
        let (before, after) = (world(state, &faults), world(state, &with_more));
        if after.decide(enforcement).allows() {
            prop_assert!(before.decide(enforcement).allows(), "{:?} + {}", faults, FAULTS[more].0);
        }
    }

    #[test]
    fn a_lenient_mode_never_denies_what_enforce_allows(
        state in prop::sample::select(&State::ALL[..]),
        faults in prop::collection::btree_set(faults(), 0..5),
        enforcement in modes(),
    ) {
        let world = world(state, &faults);
        if world.decide(Enforcement::Enforce).allows() {
            let lenient = world.decide(enforcement);
            prop_assert!(lenient.allows());
            prop_assert_eq!(lenient.would_deny, None);
        }
    }

    #[test]
    fn time_alone_never_turns_a_deny_for_age_into_an_allow(
        state in prop::sample::select(&State::ALL[..]),
        first in 0_i64..200_000,
        later in 0_i64..200_000,
    ) {
        // From the moment that evidence holds, waiting only takes away.
        let world = World::new(state);
        let at = |seconds: i64| now() + SignedDuration::from_secs(seconds);
        let allows = |when| {
            decide_dispatch(&world.query, world.record.as_ref(), Enforcement::Enforce, &world.freshness, when).allows()
        };
        if allows(at(first + later)) {
            prop_assert!(allows(at(first)));
        }
    }

    #[test]
    fn an_answer_is_a_pure_function_of_its_arguments(
        state in prop::sample::select(&State::ALL[..]),
        faults in prop::collection::btree_set(faults(), 0..5),
        enforcement in modes(),
    ) {
        let world = world(state, &faults);
        prop_assert_eq!(world.decide(enforcement), world.decide(enforcement));
        let all = explain_dispatch(&world.query, world.record.as_ref(), &world.freshness, now());
        prop_assert_eq!(world.decide(Enforcement::Enforce).allows(), all.is_empty());
    }
}
