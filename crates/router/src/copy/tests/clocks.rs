//! What clocks may do to a lease.

use super::*;

#[test]
fn a_skew_inside_two_seconds_changes_nothing() {
    for off in [-1_999, 1_999] {
        let mut pair = Pair::in_step();
        pair.wall_off = off * 1_000_000;
        pair.wait(1);
        assert!(pair.allows("acme/planner", "1.0.0"), "{off} ms");
    }
}

#[test]
fn a_skew_outside_two_seconds_denies_until_the_clock_is_right_again() {
    for off in [-2_100, 2_100] {
        let mut pair = Pair::in_step();
        pair.wall_off = off * 1_000_000;
        assert!(pair.tick().held.is_some());
        assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale, "{off} ms");
        pair.wall_off = 0;
        pair.tick();
        assert!(pair.allows("acme/planner", "1.0.0"), "{off} ms");
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_prolong_a_lease() {
    let mut pair = Pair::in_step();
    pair.copy.closed();
    pair.boot = 16 * SECOND;
    pair.wall_off = -16 * SECOND;
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale, "also before anybody notices");
    pair.tick();
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn an_upstream_that_says_an_earlier_time_is_found_out_by_this_machines_clock() {
    let mut pair = Pair::in_step();
    pair.boot = 10 * SECOND;
    let effects = pair.copy.tick(at(pair.boot), pair.boot);
    let nonce = effects.send.iter().find_map(|request| match request {
        Request::Echo(echo) => Some(echo.nonce),
        _ => None,
    });
    // The frozen time would make the lease live for ever.
    let reply = pair.upstream.echo(nonce.unwrap(), 0);
    pair.copy.receive(reply, pair.boot);
    pair.boot = 15 * SECOND;
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale, "the late end of both counts");
}

#[test]
fn a_repeated_echo_reply_proves_nothing() {
    let mut pair = Pair::in_step();
    let before = pair.copy.held().clock;
    let reply = pair.upstream.echo(1, pair.boot);
    pair.boot = SECOND;
    assert!(pair.copy.receive(reply, pair.boot).ignored);
    assert_eq!(pair.copy.held().clock, before);
}

#[test]
fn a_signed_head_proves_that_time_has_passed() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.copy.open(0);
    let effects = pair.copy.opened(0);
    // Echoes are answered by an hour ago, heads are signed now.
    for request in effects.send {
        if let Request::Echo(echo) = request {
            let reply = pair.upstream.echo(echo.nonce, -3_600 * SECOND);
            pair.copy.receive(reply, 0);
        }
    }
    let messages = pair.upstream.snapshot(0);
    pair.take_all(messages);
    pair.boot = 15 * SECOND;
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn an_answer_that_took_longer_than_is_tolerated_decides_nothing() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.copy.open(0);
    let effects = pair.copy.opened(0);
    pair.boot = 3 * SECOND;
    for request in effects.send {
        if let Request::Echo(echo) = request {
            let reply = pair.upstream.echo(echo.nonce, 0);
            pair.copy.receive(reply, pair.boot);
        }
    }
    let messages = pair.upstream.snapshot(0);
    pair.take_all(messages);
    pair.copy.tick(at(pair.boot), pair.boot);
    assert_eq!(pair.copy.held().trouble, Some(crate::Trouble::Uncertain));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn before_any_echo_nothing_is_decided() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.copy.open(0);
    pair.copy.opened(0);
    let messages = pair.upstream.snapshot(0);
    pair.take_all(messages);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    let reply = pair.upstream.echo(1, 0);
    pair.take(reply);
    assert!(pair.allows("acme/planner", "1.0.0"));
}

#[test]
fn evidence_that_has_yet_to_begin_is_judged_by_the_early_end() {
    let mut pair = Pair::apart();
    let mut young = upstream::record("acme/planner", "1.0.0", ostiary_admission::State::Active);
    young.evidence.as_mut().unwrap().verified_at = at(SECOND / 2);
    pair.upstream.change([ostiary_admission::Change::Upsert(young)]);
    pair.copy.open(0);
    let effects = pair.copy.opened(0);
    pair.boot = SECOND;
    for request in effects.send {
        if let Request::Echo(echo) = request {
            // It may be the zeroth second still, or the first.
            let reply = pair.upstream.echo(echo.nonce, 0);
            pair.copy.receive(reply, pair.boot);
        }
    }
    let mut head = pair.upstream.unsigned_head(1, 0);
    head.issued_at = at(0);
    let mut messages = pair.upstream.snapshot(0);
    *messages.last_mut().unwrap() = Message::SnapshotEnd(wire::SnapshotEnd { head: pair.upstream.sign(&head) });
    pair.take_all(messages);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::EvidenceMissing);
    pair.boot += SECOND;
    assert!(pair.allows("acme/planner", "1.0.0"));
}

#[test]
fn a_timestamp_of_an_echo_that_is_none_is_ignored() {
    let mut pair = Pair::in_step();
    pair.copy.tick(at(3 * SECOND), 3 * SECOND);
    let broken = wire::EchoReply { nonce: 2, at: Some(prost_types::Timestamp { seconds: i64::MAX, nanos: -1 }) };
    assert!(pair.take(Message::EchoReply(broken)).ignored);
}
