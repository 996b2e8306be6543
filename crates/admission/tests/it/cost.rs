//! What a check and a record cost: no allocation, at most 500 bytes.

use allocation_counter::measure;
use ostiary_admission::{AdmissionRecord, Change, Index, ProfileGrant, State, View};
use ostiary_canon::Revision;

use crate::{
    fixture::{self, hours, now, profile, query},
    table::cells,
};

/// The budget of one version, heap and table included.
const BUDGET: u64 = 500;

#[test]
fn a_check_allocates_nothing() {
    let index = Index::new();
    index.publish([Change::Upsert(fixture::record(State::Active))], Revision(1)).unwrap();
    index.extend_lease(now() + hours(1));
    let (asked, when) = (query(), now());
    // The first look registers the thread with the swap.
    assert!(index.check(&asked, None, when).allows());
    let mut allowed = false;
    let counted = measure(|| allowed = index.check(&asked, None, when).allows());
    assert!(allowed);
    assert_eq!(counted.count_total, 0);
}

#[test]
fn no_answer_allocates() {
    for (state, fault, world, _) in cells() {
        let counted = measure(|| _ = world.decide(ostiary_admission::Enforcement::Enforce));
        assert_eq!(counted.count_total, 0, "{state}, {fault}");
    }
    // The counter does count.
    assert!(measure(|| drop(String::from("counted"))).count_total > 0);
}

#[test]
fn a_version_costs_at_most_500_bytes() {
    const MANY: u64 = 50_000;
    let grants = |_| {
        ["a2a-jsonrpc-1.0/user/standard", "mcp-2026-07-28/agent/standard"]
            .map(|text| ProfileGrant { profile: profile(text), expires_at: now() + hours(24) })
    };
    let index = Index::new();
    let counted = measure(|| {
        let records = (0..MANY).map(|n| {
            let mut record = AdmissionRecord {
                agent: format!("namespace-{}/planning-agent-{n}", n % 100).parse().unwrap(),
                version: "12.34.56".parse().unwrap(),
                sunset: None,
                ..fixture::record(State::Active)
            };
            record.evidence.as_mut().unwrap().profiles = grants(n).into();
            Change::Upsert(record)
        });
        index.publish(records, Revision(1)).unwrap();
    });
    let kept = u64::try_from(counted.bytes_current).unwrap() / MANY;
    assert!((200..=BUDGET).contains(&kept), "{kept} bytes a version");
}
