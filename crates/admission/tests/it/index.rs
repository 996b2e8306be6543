//! The index: what is published is what is found, and nothing else.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use jiff::SignedDuration;
use ostiary_admission::{
    AdmissionRecord, Change, DecisionReason, Enforcement, Index, Mode, PublishError, Query, State, View,
};
use ostiary_canon::{AgentId, Revision};

use crate::fixture::{self, AGENT, VERSION, hours, now, query};

fn version(agent: &str, version: &str, state: State) -> AdmissionRecord {
    AdmissionRecord { agent: agent.parse().unwrap(), version: version.parse().unwrap(), ..fixture::record(state) }
}

fn live(changes: impl IntoIterator<Item = Change>) -> Index {
    let index = Index::new();
    index.publish(changes, Revision(1)).unwrap();
    index.extend_lease(now() + hours(1));
    index
}

#[test]
fn an_empty_index_denies_everything() {
    let index = Index::new();
    assert_eq!(index.check(&query(), None, now()).reason, DecisionReason::VersionUnknown);
    let index = Index::new();
    index.publish([Change::Upsert(fixture::record(State::Active))], Revision(1)).unwrap();
    assert_eq!(index.check(&query(), None, now()).reason, DecisionReason::ViewStale, "no lease yet");
}

#[test]
fn agent_and_version_are_both_the_key() {
    let index = live([
        Change::Upsert(version("a/b", "1", State::Active)),
        Change::Upsert(version("a/b", "11", State::Draft)),
        Change::Upsert(version("a/b1", "1", State::Rejected)),
    ]);
    let state = |agent: &str, version: &str| index.get(agent, version).map(|record| record.state);
    assert_eq!(state("a/b", "1"), Some(State::Active));
    assert_eq!(state("a/b", "11"), Some(State::Draft));
    assert_eq!(state("a/b1", "1"), Some(State::Rejected));
    assert_eq!(state("a/b1", "11"), None);
    assert_eq!(state("a", "b/1"), None);
    assert_eq!(state("", ""), None);
    assert_eq!(index.len(), 3);
    let mut labels: Vec<_> = index.versions_of("a/b").iter().map(|one| one.version.to_string()).collect();
    labels.sort();
    assert_eq!(labels, ["1", "11"]);
}

#[test]
fn a_quarantine_is_effective_on_the_very_next_check() {
    let index = live([Change::Upsert(fixture::record(State::Active))]);
    assert!(index.check(&query(), None, now()).allows());
    index.publish([Change::Upsert(fixture::record(State::Quarantined))], Revision(2)).unwrap();
    let decision = index.check(&query(), Some(Revision(2)), now());
    assert_eq!((decision.reason, decision.revision), (DecisionReason::Quarantined, Revision(2)));
    assert_eq!(index.len(), 1);
}

#[test]
fn a_caller_that_wants_a_newer_view_is_not_answered_from_an_older_one() {
    let index = live([Change::Upsert(fixture::record(State::Active))]);
    assert!(index.check(&query(), Some(Revision(1)), now()).allows());
    assert_eq!(index.check(&query(), Some(Revision(2)), now()).reason, DecisionReason::RevisionNotReached);
}

#[test]
fn the_view_never_goes_back() {
    let index = live([Change::Upsert(fixture::record(State::Quarantined))]);
    index.publish([], Revision(5)).unwrap();
    let older = PublishError::Older { offered: Revision(4), current: Revision(5) };
    assert_eq!(index.publish([Change::Upsert(fixture::record(State::Active))], Revision(4)), Err(older.clone()));
    assert_eq!(index.replace([Change::Upsert(fixture::record(State::Active))], Revision(4)), Err(older));
    assert_eq!(index.get(AGENT, VERSION).unwrap().state, State::Quarantined);
    // the same batch may come twice
    assert!(index.publish([Change::Upsert(fixture::record(State::Active))], Revision(5)).is_ok());
}

#[test]
fn a_lease_is_never_shortened_and_its_end_is_stale() {
    let index = live([Change::Upsert(fixture::record(State::Active))]);
    index.extend_lease(now());
    assert!(index.check(&query(), None, now() + hours(1) - SignedDuration::from_millis(1)).allows());
    assert_eq!(index.check(&query(), None, now() + hours(1)).reason, DecisionReason::ViewStale);
}

#[test]
fn a_removed_version_is_unknown() {
    let index = live([Change::Upsert(fixture::record(State::Active))]);
    let gone = || Change::Remove(AGENT.parse().unwrap(), VERSION.parse().unwrap());
    index.publish([gone()], Revision(2)).unwrap();
    assert_eq!(index.check(&query(), None, now()).reason, DecisionReason::VersionUnknown);
    index.publish([gone()], Revision(3)).unwrap();
    assert!(index.is_empty());
}

#[test]
fn a_snapshot_forgets_what_it_does_not_name() {
    let index = live([
        Change::Upsert(version("a/b", "1", State::Active)),
        Change::Enforce("a".into(), Enforcement::Observe { until: now() + hours(1) }),
    ]);
    index.replace([Change::Upsert(fixture::record(State::Active))], Revision(2)).unwrap();
    assert_eq!(index.len(), 1);
    assert!(index.get("a/b", "1").is_none());
    assert!(index.get(AGENT, VERSION).is_some());
    assert_eq!(index.enforcement("a"), Enforcement::Enforce);
}

#[test]
fn a_mode_belongs_to_its_namespace_alone() {
    let index = live([
        Change::Enforce("acme".into(), Enforcement::Observe { until: now() + hours(1) }),
        Change::Upsert(version("other/planner", VERSION, State::Draft)),
    ]);
    // an unknown version too: that is what a trial is for
    let tried = index.check(&query(), None, now());
    assert_eq!((tried.mode, tried.would_deny), (Mode::Observe, Some(DecisionReason::VersionUnknown)));
    let strict = index.check(&Query { agent: "other/planner", ..query() }, None, now());
    assert_eq!((strict.mode, strict.reason), (Mode::Enforce, DecisionReason::NotAdmitted));
    assert!(!index.check(&Query { agent: "acme2/planner", ..query() }, None, now()).allows());
}

#[test]
fn publishing_one_version_copies_one_shard() {
    let many = (0..20_000).map(|n| Change::Upsert(version(&format!("ns/agent-{n}"), "1", State::Active)));
    let index = live(many);
    assert_eq!(index.len(), 20_000);
    let published =
        index.publish([Change::Upsert(version("ns/agent-7", "1", State::Quarantined))], Revision(2)).unwrap();
    assert_eq!(published.shards, 1);
    assert!(published.records < 40, "{published:?}");
    let none = index.publish([Change::Enforce("ns".into(), Enforcement::Enforce)], Revision(3)).unwrap();
    assert_eq!(none.shards, 0);
}

#[test]
fn all_versions_of_an_agent_change_together() {
    // A promotion swaps two versions of one agent: no reader may see both on the road, or neither.
    let pair =
        |one: State, two: State| [Change::Upsert(version("a/b", "1", one)), Change::Upsert(version("a/b", "2", two))];
    let index = Arc::new(live(pair(State::Active, State::RegistryAdmitted)));
    let done = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (index, done) = (Arc::clone(&index), Arc::clone(&done));
        move || {
            let mut looks = 0_u64;
            while !done.load(Ordering::Relaxed) || looks == 0 {
                let active = index.versions_of("a/b").iter().filter(|record| record.state == State::Active).count();
                assert_eq!(active, 1);
                looks += 1;
            }
            looks
        }
    });
    for revision in 2..2_000 {
        let swapped = if revision % 2 == 0 {
            pair(State::RegistryAdmitted, State::Active)
        } else {
            pair(State::Active, State::RegistryAdmitted)
        };
        assert_eq!(index.publish(swapped, Revision(revision)).unwrap().shards, 1);
    }
    done.store(true, Ordering::Relaxed);
    assert!(reader.join().unwrap() > 0);
}

#[test]
fn who_reads_a_revision_sees_what_it_published() {
    let index = Arc::new(live([]));
    let writer = std::thread::spawn({
        let index = Arc::clone(&index);
        move || {
            for revision in 2..1_000 {
                let record = AdmissionRecord { revision: Revision(revision), ..fixture::record(State::Active) };
                index.publish([Change::Upsert(record)], Revision(revision)).unwrap();
            }
        }
    });
    loop {
        let seen = index.revision();
        let record = index.get(AGENT, VERSION).map_or(Revision(1), |record| record.revision);
        assert!(record >= seen, "{record} after {seen}");
        if seen == Revision(999) {
            break;
        }
    }
    writer.join().unwrap();
}

#[test]
fn each_record_is_visited_once() {
    let index = live((0..500).map(|n| Change::Upsert(version(&format!("ns/agent-{n}"), "1", State::Active))));
    let mut seen: Vec<AgentId> = Vec::new();
    index.for_each(|record| seen.push(record.agent.clone()));
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 500);
}

#[test]
fn equal_profiles_are_kept_once() {
    let index =
        live([Change::Upsert(version("a/b", "1", State::Active)), Change::Upsert(version("a/c", "1", State::Active))]);
    let granted =
        |agent: &str| Arc::clone(&index.get(agent, "1").unwrap().evidence.as_ref().unwrap().profiles[0].profile);
    assert!(Arc::ptr_eq(&granted("a/b"), &granted("a/c")));
}

#[test]
fn a_record_survives_json() {
    let mut record = fixture::record(State::Active);
    record.holds = [fixture::hold(
        ostiary_admission::HoldKind::RouteDisabled,
        ostiary_admission::Scope::Consumer("billing".into()),
    )]
    .into();
    let text = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<AdmissionRecord>(&text).unwrap(), record);
}
