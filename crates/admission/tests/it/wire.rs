//! What is sent is what is read, and nothing that is not understood is read as something weaker (L-04, L-05).

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{
    Change, Decision, DecisionReason, Enforcement, Freshness, Index, Observed, Outcome, Query, State, Subject,
    View as _, decide_dispatch,
    wire::{self, Sent, decision_from_wire, decision_to_wire, entry_bytes, query_of, read_entry},
};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{self as proto, entry::Entry as Kind};
use proptest::prelude::*;
use prost::Message as _;

use crate::{
    fixture::{self, AGENT, VERSION, now, query},
    generate,
};

fn entry_of(record: &ostiary_admission::AdmissionRecord) -> proto::Entry {
    proto::Entry::decode(entry_bytes(&Change::Upsert(record.clone()))).unwrap()
}

/// The entry of an ACTIVE version, changed on the wire.
fn sent(change: impl FnOnce(&mut proto::AdmissionRecord)) -> Bytes {
    let mut entry = entry_of(&fixture::record(State::Active));
    let Some(Kind::Record(record)) = &mut entry.entry else { panic!("a record") };
    change(record);
    entry.encode_to_vec().into()
}

fn evidence(record: &mut proto::AdmissionRecord) -> &mut proto::Evidence {
    record.evidence.as_mut().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn each_change_comes_back_as_it_went(change in generate::change()) {
        let bytes = entry_bytes(&change);
        prop_assert_eq!(read_entry(&bytes), Ok(change.clone()));
        prop_assert_eq!(entry_bytes(&change), bytes);
    }

    #[test]
    fn times_come_back_to_the_nanosecond(seconds in -9_000_000_000_i64..9_000_000_000, nanos in -999_999_999_i32..1_000_000_000) {
        if let Ok(time) = Timestamp::new(seconds, nanos) {
            prop_assert_eq!(wire::timestamp_from_wire(&wire::timestamp_to_wire(time)), Some(time));
        }
    }

    #[test]
    fn no_bytes_at_all_make_it_panic_or_read_as_something_else(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(change) = read_entry(&bytes) {
            prop_assert_eq!(&entry_bytes(&change)[..], &bytes[..]);
        }
    }

    #[test]
    fn one_changed_byte_is_another_entry_or_none(change in generate::change(), at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = entry_bytes(&change).to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert_ne!(read_entry(&bytes), Ok(change));
    }

    #[test]
    fn a_decision_comes_back_as_it_went(record in generate::record(), query in generate::query(), mode in generate::enforcement()) {
        let freshness = Freshness { revision: Revision(7), lease_until: now() + fixture::hours(1), at_least: None };
        let decision = decide_dispatch(&query, Some(&record), mode, &freshness, now());
        prop_assert_eq!(decision_from_wire(&decision_to_wire(&decision)), decision);
    }
}

type Distortion = fn(&mut proto::AdmissionRecord);

/// What a newer or a broken server might send.
const DISTORTIONS: &[(&str, Distortion)] = &[
    ("an unknown state", |record| record.state = 99),
    ("no state", |record| record.state = 0),
    ("a weight beyond its type", |record| record.canary_weight = 70_000),
    ("a short digest", |record| evidence(record).card_digest = Bytes::from_static(&[0; 31])),
    ("a long digest", |record| evidence(record).contract_digest = Bytes::from_static(&[0; 33])),
    ("no digest", |record| evidence(record).producer_digest = Bytes::new()),
    ("no evidence digest", |record| evidence(record).evidence_digest = Bytes::new()),
    ("no start", |record| evidence(record).verified_at = None),
    ("no end", |record| evidence(record).expires_at = None),
    ("a time that is none", |record| evidence(record).expires_at.as_mut().unwrap().nanos = 1_000_000_000),
    ("a time before all times", |record| evidence(record).verified_at.as_mut().unwrap().seconds = i64::MIN),
    ("an unknown class", |record| evidence(record).class = 7),
    ("an unknown signature status", |record| evidence(record).signature = 12),
    ("a profile that is none", |record| "not a profile".clone_into(&mut evidence(record).profiles[0].profile)),
    ("a profile in short", |record| "a2a-jsonrpc-1.0".clone_into(&mut evidence(record).profiles[0].profile)),
    ("a profile without an end", |record| evidence(record).profiles[0].expires_at = None),
    ("an unknown hold", |record| {
        let scope = Some(proto::hold::Scope::Everybody(proto::Everybody {}));
        record.holds.push(proto::Hold { kind: 44, by_person: false, scope });
    }),
    ("a hold for nobody that we know", |record| {
        record.holds.push(proto::Hold { kind: proto::HoldKind::RouteDisabled.into(), by_person: true, scope: None });
    }),
    ("a sunset without an end", |record| record.sunset.as_mut().unwrap().until = None),
];

fn check_denied(what: &str, bytes: &Bytes) {
    assert!(read_entry(bytes).is_err_and(|error| error.about.is_some()), "{what}");
    let sent = Sent::read(bytes, Revision(9)).unwrap();
    assert_eq!(sent.leaf, wire::leaf(bytes), "{what}");
    let index = Index::new();
    index.publish_sent([sent], Revision(9)).unwrap();
    index.extend_lease(now() + fixture::hours(1));
    let lenient = Enforcement::Observe { until: now() + fixture::hours(1) };
    index.publish([Change::Enforce("acme".into(), lenient)], Revision(9)).unwrap();
    let decision = index.check(&query(), None, now());
    assert_eq!(decision.outcome, Outcome::Deny, "{what}: denied even where the namespace only observes");
    let subject = Subject::Version(AGENT.parse().unwrap(), VERSION.parse().unwrap());
    assert_eq!(index.entry(&subject).as_ref(), Some(bytes), "{what}: passed on as it came");
    // What is understood later replaces it.
    index.publish([Change::Upsert(fixture::record(State::Active))], Revision(10)).unwrap();
    assert!(index.check(&query(), None, now()).allows(), "{what}");
    assert_ne!(index.entry(&subject).as_ref(), Some(bytes), "{what}");
}

#[test]
fn what_is_not_understood_denies_in_every_mode() {
    assert!(read_entry(&sent(|_| {})).is_ok(), "the honest twin");
    for (what, distort) in DISTORTIONS {
        check_denied(what, &sent(distort));
    }
}

#[test]
fn a_field_of_a_newer_version_is_never_skipped() {
    let honest = sent(|_| {});
    // Entry.record is field 1: a length, then the record; `embargo = 50` is put at the record's end.
    let mut record = entry_of(&fixture::record(State::Active)).encode_to_vec();
    let Some(Kind::Record(inner)) = proto::Entry::decode(&honest[..]).unwrap().entry else { panic!("a record") };
    let mut inner = inner.encode_to_vec();
    inner.extend_from_slice(&[0x90, 0x03, 0x01]);
    record.clear();
    record.push(0x0a);
    prost::encoding::encode_varint(inner.len() as u64, &mut record);
    record.extend_from_slice(&inner);
    check_denied("a field in the record", &record.into());
    // The same beside the record.
    let mut beside = honest.to_vec();
    beside.extend_from_slice(&[0x90, 0x03, 0x01]);
    check_denied("a field in the entry", &beside.into());
}

#[test]
fn an_entry_about_nothing_that_can_be_read_is_an_error() {
    let nobody = sent(|record| "no agent id".clone_into(&mut record.agent));
    for bytes in [Bytes::new(), Bytes::from_static(b"\xff\xff"), Bytes::from_static(&[0xa2, 0x06, 0]), nobody] {
        assert!(Sent::read(&bytes, Revision(1)).is_err_and(|error| error.about.is_none()), "{bytes:?}");
    }
}

#[test]
fn a_mode_that_is_not_understood_is_enforce() {
    let until = Some(prost_types::Timestamp { seconds: 4_000_000_000, nanos: 0 });
    for (mode, until) in [(9, until), (0, until), (1, None), (2, None), (3, until)] {
        let entry = Kind::Enforcement(proto::Enforcement { namespace: "acme".to_owned(), mode, until });
        let bytes = Bytes::from(proto::Entry { entry: Some(entry) }.encode_to_vec());
        let sent = Sent::read(&bytes, Revision(1)).unwrap();
        assert!(sent.strange.is_some(), "{mode}");
        assert_eq!(sent.change, Change::Enforce("acme".into(), Enforcement::Enforce), "{mode}");
    }
}

fn allowed() -> proto::CheckAdmissionResponse {
    let freshness = fixture::freshness();
    let record = fixture::record(State::Active);
    decision_to_wire(&decide_dispatch(&query(), Some(&record), Enforcement::Enforce, &freshness, now()))
}

#[test]
fn an_answer_that_is_not_understood_denies() {
    type Change = fn(&mut proto::CheckAdmissionResponse);
    assert!(decision_from_wire(&allowed()).allows(), "the honest twin");
    let answers: [(&str, Change); 7] = [
        ("nothing at all", |answer| *answer = proto::CheckAdmissionResponse::default()),
        ("an unknown outcome", |answer| answer.outcome = 3),
        ("no outcome", |answer| answer.outcome = 0),
        ("an unknown reason", |answer| answer.reason = 99),
        ("a reason that denies", |answer| answer.reason = proto::DecisionReason::Quarantined.into()),
        ("no end", |answer| answer.valid_until = None),
        ("an end that is no time", |answer| answer.valid_until.as_mut().unwrap().nanos = -1),
    ];
    for (what, change) in answers {
        let mut answer = allowed();
        change(&mut answer);
        let decision: Decision = decision_from_wire(&answer);
        assert!(!decision.allows(), "{what}");
        assert!(![DecisionReason::Allowed, DecisionReason::AllowedWouldDeny].contains(&decision.reason), "{what}");
    }
}

#[test]
fn a_question_is_borrowed_as_it_was_asked() {
    let asked = query();
    let text = |digest: Observed| match digest {
        Observed::Digest(digest) => digest.to_string(),
        Observed::Omitted | Observed::Unreadable => String::new(),
    };
    let request = proto::CheckAdmissionRequest {
        agent: asked.agent.to_owned(),
        version: asked.version.to_owned(),
        card_digest: text(asked.card_digest),
        profile: asked.profile.unwrap().to_owned(),
        contract_digest: text(asked.contract_digest),
        producer_digest: text(asked.producer_digest),
        consumer: asked.consumer.unwrap().to_owned(),
        interface: asked.interface.unwrap().to_owned(),
        cohort_key: asked.cohort_key.unwrap().to_owned(),
        consistency: None,
    };
    assert_eq!(query_of(&request), asked);
    assert_eq!(query_of(&proto::CheckAdmissionRequest::default()), Query::default());
}
