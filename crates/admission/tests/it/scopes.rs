//! Whom a hold hits (L-10): its scope, and whoever does not say enough to be outside it.

use ostiary_admission::{Enforcement, HoldKind, Scope, State};

use crate::{
    fixture::{PROFILE, hold, profile},
    table::{Fault, World},
};

#[test]
fn a_hold_hits_its_scope_and_who_does_not_say() {
    // scope, what the caller says, whether it is hit
    let interface = || Scope::Interface("https://agent.example/a2a".into());
    let consumer = || Scope::Consumer("billing".into());
    let cases: Vec<(Scope, Fault, bool)> = vec![
        (Scope::All, |_| {}, true),
        (interface(), |_| {}, true),
        (interface(), |world| world.query.interface = Some("https://agent.example/other"), false),
        (interface(), |world| world.query.interface = None, true),
        (Scope::Profile(profile(PROFILE)), |_| {}, true),
        (Scope::Profile(profile("mcp-2026-07-28")), |_| {}, false),
        (consumer(), |_| {}, true),
        (consumer(), |world| world.query.consumer = Some("search"), false),
        (consumer(), |world| world.query.consumer = None, true),
    ];
    for (scope, say, hit) in cases {
        let mut world = World::new(State::Active);
        say(&mut world);
        world.record.as_mut().unwrap().holds = [hold(HoldKind::RouteDisabled, scope.clone())].into();
        assert_eq!(world.decide(Enforcement::Enforce).allows(), !hit, "{scope:?}, {:?}", world.query);
    }
}

#[test]
fn the_short_form_of_a_profile_is_hit_by_a_hold_on_the_default_profile() {
    let mut world = World::new(State::Active);
    let short = profile("a2a-jsonrpc-1.0");
    let record = world.record.as_mut().unwrap();
    record.evidence.as_mut().unwrap().profiles[0].profile = short.clone();
    for text in ["a2a-jsonrpc-1.0", "a2a-jsonrpc-1.0/default/default"] {
        world.query.profile = Some(text);
        assert!(world.decide(Enforcement::Enforce).allows(), "{text}");
    }
    world.record.as_mut().unwrap().holds = [hold(HoldKind::RouteDisabled, Scope::Profile(short))].into();
    for text in ["a2a-jsonrpc-1.0", "a2a-jsonrpc-1.0/default/default"] {
        world.query.profile = Some(text);
        assert!(!world.decide(Enforcement::Enforce).allows(), "{text}");
    }
}
