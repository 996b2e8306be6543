//! What a lying or broken upstream may try.

use bytes::Bytes;
use ostiary_admission::{Change, Hold, HoldKind, Scope, State, wire::entry_bytes};
use ostiary_canon::dsse::SigningKey;
use prost::Message as _;

use super::{upstream::record, *};

fn heartbeat(head: Bytes) -> Message {
    Message::Heartbeat(wire::Heartbeat { head })
}

#[test]
fn freeze_denies_at_the_end_of_the_lease_and_not_before() {
    let mut pair = Pair::in_step();
    pair.boot = 15 * SECOND - 20_000_000;
    assert!(pair.allows("acme/planner", "1.0.0"));
    pair.boot = 15 * SECOND;
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn freeze_by_old_heads_does_not_extend_the_lease() {
    let mut pair = Pair::in_step();
    let old = pair.upstream.head(1, 0);
    for _ in 0..20 {
        pair.wait(1);
        pair.take(heartbeat(old.clone()));
    }
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn rollback_to_an_older_signed_head_is_refused() {
    let mut pair = Pair::in_step();
    let to = pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.step(1, to, 0);
    pair.take(Message::Delta(step));
    let old = pair.upstream.head(1, 0);
    let effects = pair.take(heartbeat(old));
    assert_eq!(effects.end, Some(Fault::Older { offered: Revision(1), known: Revision(to) }));
    assert_eq!(pair.last_refusal(), Some(RefusalReason::Older));
    pair.open();
    let messages = pair.upstream.snapshot_of(1, 0);
    assert!(matches!(pair.take_all(messages), Some(Fault::Older { .. })));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
}

#[test]
fn rollback_after_a_restart_is_refused_by_the_floor() {
    let mut pair = Pair::in_step();
    let to = pair.upstream.quarantine("acme/planner", "1.0.0");
    let floor = Floor { revision: Revision(to), root: pair.upstream.root(to), issued_at: at(0) };
    pair.copy = Copy::new(rules(pair.upstream.keyring()), Some(floor));
    pair.open();
    let messages = pair.upstream.snapshot_of(1, 0);
    assert!(matches!(pair.take_all(messages), Some(Fault::Older { .. })));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    pair.open();
    let messages = pair.upstream.snapshot(0);
    assert_eq!(pair.take_all(messages), None);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
}

#[test]
fn two_histories_with_one_number_are_told_apart_by_the_root() {
    let mut pair = Pair::in_step();
    let mut other = pair.upstream.unsigned_head(1, 0);
    other.root = ostiary_canon::Digest::of(b"another history");
    let head = pair.upstream.sign(&other);
    assert_eq!(pair.take(heartbeat(head)).end, Some(Fault::Root(Revision(1))));
    assert!(pair.allows("acme/planner", "1.0.0"), "it was not signed later than ours");
    other.issued_at = at(SECOND);
    pair.open();
    pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    let head = pair.upstream.sign(&other);
    assert_eq!(pair.take(heartbeat(head)).end, Some(Fault::Root(Revision(1))));
    assert_eq!(
        pair.reason("acme/planner", "1.0.0"),
        DecisionReason::ViewStale,
        "it was, so ours is not what is in force"
    );
}

#[test]
fn an_acknowledged_lowering_is_not_left_behind_by_a_replica_that_lags() {
    let mut pair = Pair::in_step();
    let to = pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.unsigned_step(1, to);
    pair.take(Message::Delta(step));
    pair.copy.closed();
    // The head never came; another replica has not seen the change yet and still holds a lease.
    pair.wait(4);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    for _ in 0..10 {
        pair.open();
        let messages = pair.upstream.snapshot_of(1, pair.boot);
        assert!(matches!(pair.take_all(messages), Some(Fault::Older { .. })));
        assert!(!pair.allows("acme/planner", "1.0.0"));
        pair.wait(5);
    }
    pair.open();
    let messages = pair.upstream.snapshot(pair.boot);
    assert_eq!(pair.take_all(messages), None);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
}

#[test]
fn mix_and_match_of_two_revisions_is_refused_and_the_old_copy_serves_on() {
    let mut pair = Pair::in_step();
    pair.upstream.activate("acme/writer", "1.0.0");
    pair.upstream.activate("acme/planner", "2.0.0");
    let mut messages = pair.upstream.snapshot_of(2, 0);
    let newer = pair.upstream.snapshot_of(3, 0);
    messages[0] = newer[0].clone();
    *messages.last_mut().unwrap() = newer.last().unwrap().clone();
    pair.copy.closed();
    pair.open();
    assert_eq!(pair.take_all(messages), Some(Fault::Root(Revision(3))));
    assert_eq!(pair.last_refusal(), Some(RefusalReason::Root));
    assert!(pair.allows("acme/planner", "1.0.0"));
    assert!(!pair.allows("acme/writer", "1.0.0"));
}

#[test]
fn fast_forward_without_a_good_signature_is_not_remembered() {
    let mut pair = Pair::in_step();
    let mut far = pair.upstream.unsigned_head(1, 0);
    far.revision = Revision(1 << 50);
    let wrongly = pair.upstream.signed(&far, &SigningKey::from_seed([9; 32]));
    for head in [wrongly, Bytes::from_static(b"{}"), Bytes::new()] {
        let effects = pair.take(heartbeat(head));
        assert!(matches!(effects.end, Some(Fault::Signature(_))));
        assert_eq!(pair.copy.floor().unwrap().revision, Revision(1));
        pair.open();
        pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    }
    assert!(pair.heartbeat().end.is_none());
    assert!(pair.allows("acme/planner", "1.0.0"));
}

#[test]
fn fast_forward_by_a_made_up_lowering_locks_out_for_a_minute_and_no_longer() {
    let mut pair = Pair::in_step();
    let forged = wire::Delta { from: 1, to: 1 << 50, ..wire::Delta::default() };
    assert!(pair.take(Message::Delta(forged)).end.is_none());
    assert_eq!(pair.copy.floor().unwrap().revision, Revision(1), "nobody signed it");
    let held = pair.copy.held();
    let fresh = held.check(&query("acme/planner", "1.0.0"), Some(Revision(1 << 40)), pair.boot);
    assert_eq!(fresh.reason, DecisionReason::RevisionNotReached, "it does not count as reached");
    assert!(matches!(pair.wait(4).end, Some(Fault::HeadOverdue)));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    pair.wait(60);
    pair.open();
    let messages = pair.upstream.snapshot(pair.boot);
    assert_eq!(pair.take_all(messages), None);
    assert!(pair.allows("acme/planner", "1.0.0"));
}

#[test]
fn forged_lowering_is_found_at_the_next_head() {
    let mut pair = Pair::in_step();
    pair.upstream.activate("acme/writer", "1.0.0");
    let second = pair.upstream.step(1, 2, 0);
    pair.take(Message::Delta(second));
    let forged = Change::Upsert(record("acme/planner", "1.0.0", State::Quarantined));
    let step = wire::Delta { from: 2, to: 3, entries: vec![entry_bytes(&forged)], head: Bytes::new() };
    pair.take(Message::Delta(step));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined, "it can only deny");
    pair.upstream.activate("acme/writer", "2.0.0");
    let effects = pair.heartbeat();
    assert_eq!(effects.end, Some(Fault::Root(Revision(3))));
    assert_eq!(pair.reason("acme/writer", "1.0.0"), DecisionReason::ViewStale, "nothing of it is believed any more");
    pair.open();
    assert!(pair.last_start().resume.is_none(), "it is not resumed from");
    let messages = pair.upstream.snapshot(0);
    assert_eq!(pair.take_all(messages), None);
    assert!(pair.allows("acme/planner", "1.0.0") && pair.allows("acme/writer", "2.0.0"));
}

#[test]
fn a_lowering_that_no_head_covers_in_time_makes_the_copy_stale() {
    let mut pair = Pair::in_step();
    pair.upstream.activate("acme/writer", "1.0.0");
    let second = pair.upstream.step(1, 2, 0);
    pair.take(Message::Delta(second));
    pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.unsigned_step(2, 3);
    pair.take(Message::Delta(step));
    // Heads of before go on coming, which proves nothing of the step.
    pair.wait(2);
    let old = pair.upstream.head(2, pair.boot);
    assert!(pair.take(heartbeat(old)).ignored);
    assert!(pair.allows("acme/writer", "1.0.0"));
    assert_eq!(pair.wait(2).end, Some(Fault::HeadOverdue));
    assert_eq!(pair.reason("acme/writer", "1.0.0"), DecisionReason::ViewStale);
}

#[test]
fn a_step_whose_head_signs_something_else_is_not_applied() {
    let mut pair = Pair::in_step();
    pair.upstream.activate("acme/planner", "2.0.0");
    let mut step = pair.upstream.step(1, 2, 0);
    let smuggled = Change::Upsert(record("acme/planner", "6.6.6", State::Active));
    step.entries.push(entry_bytes(&smuggled));
    assert_eq!(pair.take(Message::Delta(step)).end, Some(Fault::Root(Revision(2))));
    assert!(!pair.allows("acme/planner", "6.6.6") && !pair.allows("acme/planner", "2.0.0"));
    assert!(pair.allows("acme/planner", "1.0.0"));
    // The tree was put back: the honest step still joins.
    pair.open();
    pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    let step = pair.upstream.step(1, 2, 0);
    assert_eq!(pair.take(Message::Delta(step)).end, None);
    assert!(pair.allows("acme/planner", "2.0.0"));
}

#[test]
fn a_head_of_another_scope_is_refused() {
    let mut pair = Pair::in_step();
    let mut other = pair.upstream.unsigned_head(1, 0);
    other.scope = ViewScope::Namespace("acme".into());
    let head = pair.upstream.sign(&other);
    assert_eq!(pair.take(heartbeat(head)).end, Some(Fault::Scope("acme".to_owned())));
    assert_eq!(pair.last_refusal(), Some(RefusalReason::Scope));
}

#[test]
fn a_snapshot_signed_by_a_stranger_is_refused() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.open();
    let mut messages = pair.upstream.snapshot(0);
    let head = pair.upstream.signed(&pair.upstream.unsigned_head(1, 0), &SigningKey::from_seed([9; 32]));
    *messages.last_mut().unwrap() = Message::SnapshotEnd(wire::SnapshotEnd { head });
    assert!(matches!(pair.take_all(messages), Some(Fault::Signature(_))));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
}

/// A record as a newer version might send it: with a field that nobody knows here.
fn strange(change: &Change) -> Bytes {
    let mut bytes = entry_bytes(change).to_vec();
    bytes.extend([0xf8, 0x07, 0x01]);
    bytes.into()
}

#[test]
fn an_entry_that_is_not_understood_is_denied_in_every_mode() {
    let mut pair = Pair::in_step();
    pair.upstream.observe("acme");
    let step = pair.upstream.step(1, 2, 0);
    pair.take(Message::Delta(step));
    assert!(pair.allows("acme/planner", "2.0.0"), "the honest twin: an unknown version, in a namespace on trial");
    let entry = strange(&Change::Upsert(record("acme/planner", "2.0.0", State::Active)));
    let step = wire::Delta { from: 2, to: 3, entries: vec![entry], head: Bytes::new() };
    let effects = pair.take(Message::Delta(step));
    assert_eq!((effects.not_understood, effects.end), (1, None));
    assert_eq!(pair.reason("acme/planner", "2.0.0"), DecisionReason::RouteDisabled);
    let told = effects.tell.is_some();
    assert!(told && pair.last_applied() == Some(3));
}

#[test]
fn an_entry_about_nothing_that_can_be_read_refuses_the_whole_step() {
    let mut pair = Pair::in_step();
    for bytes in [Bytes::from_static(b"\xff\xff"), wire::Entry::default().encode_to_vec().into()] {
        let step = wire::Delta { from: 1, to: 2, entries: vec![bytes], head: Bytes::new() };
        assert!(matches!(pair.take(Message::Delta(step)).end, Some(Fault::NotUnderstood { .. })));
        assert_eq!(pair.last_refusal(), Some(RefusalReason::NotUnderstood));
        assert_eq!(pair.last_applied(), Some(1));
        pair.open();
        pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    }
}

#[test]
fn a_snapshot_is_bounded_by_what_it_announced_and_by_what_this_router_takes() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.upstream.activate("acme/planner", "2.0.0");
    pair.open();
    let too_many = Message::SnapshotBegin(wire::SnapshotBegin { revision: 2, entries: 1_001 });
    assert!(matches!(pair.take(too_many).end, Some(Fault::Gap(_))));
    pair.open();
    let mut messages = pair.upstream.snapshot(0);
    messages[0] = Message::SnapshotBegin(wire::SnapshotBegin { revision: 2, entries: 1 });
    assert!(matches!(pair.take_all(messages), Some(Fault::Gap(_))));
}

#[test]
fn a_hold_of_a_person_comes_through_without_a_head_and_denies_in_every_mode() {
    let mut pair = Pair::in_step();
    let mut held = record("acme/planner", "1.0.0", State::Active);
    held.holds = [Hold { kind: HoldKind::RouteDisabled, scope: Scope::All, by_person: true }].into();
    let to = pair.upstream.change([Change::Upsert(held)]);
    let step = pair.upstream.unsigned_step(1, to);
    assert_eq!(pair.take(Message::Delta(step)).end, None);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::RouteDisabled);
}

#[test]
fn silence_ends_a_connection() {
    let mut pair = Pair::in_step();
    assert!(pair.wait(5).end.is_none());
    pair.heartbeat();
    // Echoes go unanswered from here on.
    pair.boot += 7 * SECOND;
    let wall = at(pair.boot);
    assert_eq!(pair.copy.tick(wall, pair.boot).end, Some(Fault::Silent));
}

/// Captured entries of before, put in front of the true ones: the tree ends where the head says, and so must the records.
#[test]
fn a_step_about_one_subject_twice_cannot_bring_an_older_record_back() {
    let mut pair = Pair::in_step();
    let old = entry_bytes(&Change::Upsert(record("acme/planner", "1.0.0", State::Active)));
    pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.unsigned_step(1, 2);
    let quarantined = step.entries[0].clone();
    pair.take(Message::Delta(step));
    pair.heartbeat();
    pair.upstream.activate("acme/writer", "1.0.0");
    let honest = pair.upstream.step(2, 3, 0);
    let removed = entry_bytes(&Change::Remove("acme/planner".parse().unwrap(), "1.0.0".parse().unwrap()));
    for smuggled in [old, removed] {
        let mut step = honest.clone();
        step.entries.splice(0..0, [smuggled, quarantined.clone()]);
        assert_eq!(pair.take(Message::Delta(step)).end, Some(Fault::Root(Revision(3))));
        assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
        pair.open();
        pair.take(Message::Resumed(wire::Resumed { revision: 2 }));
    }
    assert_eq!(pair.take(Message::Delta(honest)).end, None, "the honest twin");
    assert!(pair.allows("acme/writer", "1.0.0") && !pair.allows("acme/planner", "1.0.0"));
}

/// A removal has no leaf, so that the root says nothing of it: in a namespace on trial, what is unknown is let through.
#[test]
fn a_snapshot_with_a_removal_in_it_is_refused() {
    let mut pair = Pair::apart();
    pair.upstream.quarantine("acme/planner", "1.0.0");
    pair.upstream.observe("acme");
    let removed = entry_bytes(&Change::Remove("acme/planner".parse().unwrap(), "1.0.0".parse().unwrap()));
    pair.open();
    let mut messages = pair.upstream.snapshot(0);
    messages[0] = Message::SnapshotBegin(wire::SnapshotBegin { revision: 2, entries: 3 });
    let at = messages.len() - 1;
    messages.insert(at, Message::SnapshotChunk(wire::SnapshotChunk { entries: vec![removed] }));
    assert!(pair.take_all(messages).is_some());
    assert!(!pair.allows("acme/planner", "1.0.0"));
    pair.open();
    let messages = pair.upstream.snapshot(0);
    assert_eq!(pair.take_all(messages), None, "the honest twin");
    assert!(pair.allows("acme/planner", "9.9.9") && !pair.allows("acme/planner", "1.0.0"));
}
