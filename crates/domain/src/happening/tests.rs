//! What is told of, when it is told, and how long it is tried.

use jiff::SignedDuration;
use ostiary_canon::Revision;
use serde_json::{Value, json};

use super::{Attempted, Happening, Kind, NewWebhook, expiring, mode_expired};
use crate::{
    audit::{AuditAction, Record},
    names::WebhookId,
    registry::Namespace,
    sample::{self, hour, moment, operator},
};

fn kind(action: AuditAction, detail: Value) -> Option<Kind> {
    let (subject, actor) = (sample::key("1.0.0").to_string(), operator());
    let record = Record { revision: Revision(9), at: hour(0), actor, action, subject, reason: None, detail };
    let happening = Happening::of(record)?;
    assert_eq!((happening.namespace.as_str(), happening.revision), ("acme", Revision(9)));
    Some(happening.kind)
}

#[test]
fn a_gate_is_told_by_the_worst_that_it_brought_about() {
    let gate = |from: &str, to: &str, gate: &str, outcome: &str, holds: &[&str]| {
        let detail = json!({"from": from, "to": to, "gate": gate, "outcome": outcome, "holds": holds});
        kind(AuditAction::Gate, detail)
    };
    assert_eq!(gate("DRAFT", "REJECTED", "static", "FAIL", &[]), Some(Kind::Moved));
    assert_eq!(gate("ACTIVE", "QUARANTINED", "security", "FAIL", &[]), Some(Kind::Quarantined));
    assert_eq!(gate("ACTIVE", "ACTIVE", "security", "FAIL", &["route_disabled"]), Some(Kind::HoldSet));
    assert_eq!(gate("ACTIVE", "ACTIVE", "admission", "INCONCLUSIVE", &[]), Some(Kind::RenewalFailed));
    assert_eq!(gate("ACTIVE", "ACTIVE", "admission", "PASS", &[]), None);
    assert_eq!(gate("DRAFT", "DRAFT", "static", "INCONCLUSIVE", &[]), None);
}

#[test]
fn acts_are_told_and_housekeeping_is_not() {
    assert_eq!(kind(AuditAction::Quarantine, json!({})), Some(Kind::Quarantined));
    assert_eq!(kind(AuditAction::LiftHold, json!({})), Some(Kind::HoldLifted));
    assert_eq!(kind(AuditAction::PutPolicy, json!({})), None);
    assert_eq!(kind(AuditAction::Notice, json!({"kind": "evidence.expiring"})), Some(Kind::EvidenceExpiring));
}

#[test]
fn expiry_is_told_ahead_once_for_each_word() {
    let active = sample::version("1.0.0", sample::states("1.0.0").swap_remove(6));
    let ahead = SignedDuration::from_hours(24);
    assert_eq!(expiring(&active, ahead, hour(6 * 24 - 1)), None);
    let notice = expiring(&active, ahead, hour(6 * 24)).expect("a day ahead");
    assert_eq!(expiring(&active, ahead, hour(7 * 24 - 1)).map(|n| n.id), Some(notice.id));
    let draft = sample::version("1.0.0", sample::states("1.0.0").swap_remove(0));
    assert_eq!(expiring(&draft, ahead, hour(6 * 24)), None);
}

#[test]
fn a_mode_is_told_of_when_it_has_ended() {
    let enforcement = crate::Enforcement::Observe { until: hour(2) };
    let namespace = Namespace { name: "acme".into(), enforcement, reason: Some("a trial".into()) };
    assert_eq!(mode_expired(&namespace, hour(1)), None);
    assert!(mode_expired(&namespace, hour(2)).is_some());
    let enforced = Namespace { enforcement: crate::Enforcement::Enforce, ..namespace };
    assert_eq!(mode_expired(&enforced, hour(9)), None);
}

#[test]
fn a_delivery_waits_longer_each_time_and_is_given_up_at_last() {
    let id = WebhookId("hook".into());
    let new = NewWebhook {
        id,
        url: "https://x.example/".into(),
        allow_private: false,
        namespace: None,
        by: operator(),
        most: 1,
        idempotency: None,
    };
    let mut hook = new.registered(moment(0, 5));
    let (mut waits, mut now) = (Vec::new(), hour(0));
    loop {
        let attempted = hook.failed(Revision(6), "no".into(), now);
        hook = hook.after(&attempted, now);
        match attempted {
            Attempted::Again { at, .. } => {
                waits.push(at.duration_since(now).as_secs());
                now = at;
            }
            Attempted::GivenUp { .. } => break,
            Attempted::Delivered(_) => panic!("a failure delivers nothing"),
        }
    }
    assert_eq!(waits, [5, 15, 45, 135, 405, 1215, 3600]);
    assert_eq!((hook.reached, hook.tries), (Revision(6), 0), "what comes after it is not held up");
}
