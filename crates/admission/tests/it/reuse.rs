//! How long an answer may be reused.

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{Enforcement, State};

use crate::{
    fixture::{hours, now},
    table::{Fault, World, cells},
};

fn seconds(count: i64) -> Timestamp {
    now() + SignedDuration::from_secs(count)
}

#[test]
fn an_allow_lives_until_the_first_thing_that_ends() {
    let cases: [(&str, Fault, i64); 5] = [
        ("the lease", |_| {}, 15),
        ("the evidence", |world| world.record.as_mut().unwrap().evidence.as_mut().unwrap().expires_at = seconds(9), 9),
        (
            "the profile",
            |world| world.record.as_mut().unwrap().evidence.as_mut().unwrap().profiles[0].expires_at = seconds(8),
            8,
        ),
        ("the sunset", |world| world.record.as_mut().unwrap().sunset.as_mut().unwrap().until = seconds(7), 7),
        ("a shorter lease", |world| world.freshness.lease_until = seconds(2), 2),
    ];
    for (what, change, expected) in cases {
        let mut world = World::new(State::Deprecated);
        change(&mut world);
        let decision = world.decide(Enforcement::Enforce);
        assert!(decision.allows(), "{what}");
        assert_eq!(decision.valid_until, seconds(expected), "{what}");
    }
}

#[test]
fn a_lenient_allow_ends_with_its_mode() {
    let world = World::new(State::Draft);
    let decision = world.decide(Enforcement::Observe { until: seconds(3) });
    assert!(decision.allows());
    assert_eq!(decision.valid_until, seconds(3));
}

#[test]
fn no_allow_outlives_the_lease_and_no_deny_is_kept_for_long() {
    for enforcement in [Enforcement::Enforce, Enforcement::Observe { until: now() + hours(1) }] {
        for (state, fault, world, _) in cells() {
            let decision = world.decide(enforcement);
            if decision.allows() {
                assert!(decision.valid_until <= world.freshness.lease_until, "{state}, {fault}");
                assert!(decision.valid_until > now(), "{state}, {fault}");
            } else {
                assert_eq!(decision.valid_until, seconds(1), "{state}, {fault}");
            }
        }
    }
}
