//! The honest path, and what comes twice, late or in another order.

use ostiary_admission::Enforcement;

use super::*;

#[test]
fn nothing_is_allowed_before_a_snapshot_is_complete() {
    let mut pair = Pair::apart();
    pair.upstream.activate("acme/planner", "1.0.0");
    pair.open();
    let mut messages = pair.upstream.snapshot(0);
    let end = messages.pop().unwrap();
    pair.take_all(messages);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    pair.take(end);
    assert!(pair.allows("acme/planner", "1.0.0"));
    assert_eq!(pair.last_applied(), Some(1));
}

#[test]
fn a_lowering_step_without_a_head_is_applied_and_acknowledged_at_once() {
    let mut pair = Pair::in_step();
    let to = pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.unsigned_step(to - 1, to);
    let effects = pair.take(Message::Delta(step));
    assert!(effects.end.is_none());
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
    assert_eq!(pair.last_applied(), Some(to));
    assert_eq!(pair.copy.floor().unwrap().revision, Revision(to - 1), "nobody signed it yet");
    pair.heartbeat();
    assert_eq!(pair.copy.floor().unwrap().revision, Revision(to));
    pair.wait(4);
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined, "the head covered it in time");
}

#[test]
fn a_raise_under_its_head_is_applied() {
    let mut pair = Pair::in_step();
    let to = pair.upstream.activate("acme/planner", "2.0.0");
    let step = pair.upstream.step(to - 1, to, pair.boot);
    pair.take(Message::Delta(step));
    assert!(pair.allows("acme/planner", "2.0.0"));
    assert_eq!(pair.last_applied(), Some(to));
}

#[test]
fn forged_raise_without_head_is_refused() {
    for forge in [
        |upstream: &mut Upstream| upstream.activate("acme/planner", "6.6.6"),
        |upstream: &mut Upstream| upstream.observe("acme"),
    ] {
        let mut pair = Pair::in_step();
        let to = forge(&mut pair.upstream);
        let step = pair.upstream.unsigned_step(to - 1, to);
        let effects = pair.take(Message::Delta(step));
        assert_eq!(effects.end, Some(Fault::RaiseWithoutHead(Revision(to))));
        assert_eq!(pair.last_refusal(), Some(RefusalReason::Signature));
        assert_eq!(pair.last_applied(), Some(to - 1));
        assert!(!pair.allows("acme/planner", "6.6.6"));
        assert!(pair.allows("acme/planner", "1.0.0"), "what was verified serves on");
    }
}

#[test]
fn a_step_that_lowers_one_thing_and_raises_another_needs_its_head() {
    let mut pair = Pair::in_step();
    pair.upstream.quarantine("acme/planner", "1.0.0");
    let to = pair.upstream.activate("acme/planner", "2.0.0");
    let step = pair.upstream.unsigned_step(1, to);
    assert!(pair.take(Message::Delta(step)).end.is_some());
    assert!(!pair.allows("acme/planner", "2.0.0"));
}

#[test]
fn duplicate_delivery_changes_nothing() {
    let mut pair = Pair::in_step();
    let second = pair.upstream.activate("acme/planner", "2.0.0");
    let raise = pair.upstream.step(1, second, 0);
    pair.take(Message::Delta(raise.clone()));
    let third = pair.upstream.quarantine("acme/planner", "2.0.0");
    let lower = pair.upstream.unsigned_step(second, third);
    pair.take(Message::Delta(lower.clone()));
    for again in [raise, lower] {
        let effects = pair.take(Message::Delta(again));
        assert!(effects.ignored && effects.end.is_none() && effects.send.is_empty());
    }
    assert_eq!(pair.reason("acme/planner", "2.0.0"), DecisionReason::Quarantined, "the older step did not come back");
}

#[test]
fn a_missing_or_reordered_step_is_a_gap_and_is_not_applied() {
    let mut pair = Pair::in_step();
    let second = pair.upstream.activate("acme/planner", "2.0.0");
    let third = pair.upstream.activate("acme/planner", "3.0.0");
    let late = pair.upstream.step(second, third, 0);
    let effects = pair.take(Message::Delta(late));
    assert!(matches!(effects.end, Some(Fault::Gap(_))));
    assert_eq!(pair.last_refusal(), Some(RefusalReason::Gap));
    assert!(!pair.allows("acme/planner", "3.0.0"));
    assert!(pair.allows("acme/planner", "1.0.0"));
    pair.open();
    assert_eq!(pair.last_start().resume.unwrap().revision, 1, "it goes on from the last head");
    assert_eq!(pair.last_start().resume_root, pair.upstream.root(1).as_bytes().as_slice());
    pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    let step = pair.upstream.step(1, third, 0);
    pair.take(Message::Delta(step));
    assert!(pair.allows("acme/planner", "3.0.0"));
}

#[test]
fn a_resumed_stream_does_not_undo_what_was_lowered_without_a_head() {
    let mut pair = Pair::in_step();
    let second = pair.upstream.quarantine("acme/planner", "1.0.0");
    let step = pair.upstream.unsigned_step(1, second);
    pair.take(Message::Delta(step.clone()));
    pair.copy.closed();
    pair.open();
    pair.take(Message::Resumed(wire::Resumed { revision: 1 }));
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::Quarantined);
    assert!(pair.take(Message::Delta(step)).ignored, "it comes again, and is known");
    assert!(pair.heartbeat().end.is_none());
    assert_eq!(pair.copy.floor().unwrap().revision, Revision(second));
}

#[test]
fn a_resumption_that_was_not_asked_for_is_refused() {
    let mut pair = Pair::in_step();
    assert!(matches!(pair.take(Message::Resumed(wire::Resumed { revision: 1 })).end, Some(Fault::Gap(_))));
}

#[test]
fn a_pruned_token_is_answered_by_a_snapshot_and_the_old_copy_serves_until_it_is_whole() {
    let mut pair = Pair::in_step();
    pair.copy.closed();
    pair.upstream.activate("acme/planner", "2.0.0");
    pair.open();
    pair.take(Message::Resync(wire::Resync { detail: "pruned".to_owned() }));
    let mut messages = pair.upstream.snapshot(pair.boot);
    let end = messages.pop().unwrap();
    pair.take_all(messages);
    assert!(pair.allows("acme/planner", "1.0.0") && !pair.allows("acme/planner", "2.0.0"));
    pair.take(end);
    assert!(pair.allows("acme/planner", "2.0.0"));
}

#[test]
fn the_server_is_gone_mid_snapshot_and_the_old_copy_serves_until_its_lease() {
    let mut pair = Pair::in_step();
    pair.copy.closed();
    pair.open();
    pair.upstream.activate("acme/planner", "2.0.0");
    let messages = pair.upstream.snapshot(pair.boot);
    pair.take_all(messages.into_iter().take(2));
    pair.copy.closed();
    pair.boot = 14 * SECOND;
    assert!(pair.allows("acme/planner", "1.0.0"));
    assert!(!pair.allows("acme/planner", "2.0.0"));
    pair.boot = 15 * SECOND;
    assert_eq!(pair.reason("acme/planner", "1.0.0"), DecisionReason::ViewStale);
    pair.open();
    let rest = pair.upstream.snapshot(pair.boot).into_iter().skip(2);
    assert!(matches!(pair.take_all(rest), Some(Fault::Gap(_))), "the rest of another snapshot is no snapshot");
}

#[test]
fn a_head_of_a_later_revision_over_the_same_entries_raises_the_revision() {
    let mut pair = Pair::in_step();
    // Another scope's change, as a stream of one namespace sees it.
    pair.upstream.change([]);
    pair.heartbeat();
    assert_eq!(pair.last_applied(), Some(2));
    let third = pair.upstream.activate("acme/planner", "2.0.0");
    let step = pair.upstream.step(1, third, 0);
    assert!(pair.take(Message::Delta(step)).end.is_none(), "joins where the last step ended");
    assert!(pair.allows("acme/planner", "2.0.0"));
}

#[test]
fn an_enforcement_that_only_gets_stricter_needs_no_head() {
    let mut pair = Pair::in_step();
    let second = pair.upstream.observe("acme");
    let step = pair.upstream.step(1, second, 0);
    pair.take(Message::Delta(step));
    assert!(pair.allows("acme/planner", "9.9.9"), "unknown versions pass a namespace on trial");
    let third = pair.upstream.change([ostiary_admission::Change::Enforce("acme".into(), Enforcement::Enforce)]);
    let effects = pair.take(Message::Delta(pair.upstream.unsigned_step(second, third)));
    assert!(effects.end.is_none());
    assert_eq!(effects.touched, super::super::Touched::Everything);
    assert!(!pair.allows("acme/planner", "9.9.9"));
}
