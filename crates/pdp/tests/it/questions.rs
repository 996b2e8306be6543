//! Questions: one, a batch at one revision, and which version to call (L-04, L-06).

use std::collections::BTreeSet;

use ostiary_admission::{AdmissionRecord, Change, Hold, HoldKind, Scope, State};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{self as proto, Outcome, consistency::Requirement};
use tonic::Code;

use crate::{
    host::{Client, Host, as_caller},
    world::{PROFILE, card, put, question, record},
};

async fn ask(client: &mut Client, request: proto::CheckAdmissionRequest) -> proto::CheckAdmissionResponse {
    client.check_admission(as_caller("*", request)).await.unwrap().into_inner()
}

fn at_least(revision: u64) -> Option<proto::Consistency> {
    let token = proto::RevisionToken { revision };
    Some(proto::Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) })
}

#[tokio::test]
async fn a_view_that_has_not_got_that_far_says_so() {
    let host = Host::with([put("acme/a", "1", State::Active)]).await;
    let mut client = host.client().await;
    assert_eq!(ask(&mut client, question("acme/a", "1")).await.outcome(), Outcome::Allow);
    let newer = proto::CheckAdmissionRequest { consistency: at_least(2), ..question("acme/a", "1") };
    let answer = ask(&mut client, newer.clone()).await;
    assert_eq!(answer.reason(), proto::DecisionReason::RevisionNotReached);
    host.publish([]);
    assert_eq!(ask(&mut client, newer).await.outcome(), Outcome::Allow);
    let requirement = Some(Requirement::FullyConsistent(proto::FullyConsistent {}));
    let consistency = Some(proto::Consistency { requirement });
    let fully = proto::CheckAdmissionRequest { consistency, ..question("acme/a", "1") };
    let status = client.check_admission(as_caller("*", fully)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "this host has no database to compare with");
}

fn batch(items: impl IntoIterator<Item = (String, proto::CheckAdmissionRequest)>) -> proto::BatchCheckAdmissionRequest {
    let item = |(correlation_id, check)| proto::BatchItem { correlation_id, check: Some(check) };
    proto::BatchCheckAdmissionRequest { items: items.into_iter().map(item).collect(), consistency: None }
}

#[tokio::test]
async fn a_batch_is_answered_in_the_order_asked_and_is_bounded() {
    let versions = (0..60)
        .map(|n| put(&format!("acme/agent-{n}"), "1", if n % 3 == 0 { State::Quarantined } else { State::Active }));
    let host = Host::with(versions).await;
    let mut client = host.client().await;
    // The same id twice, and none, are the caller's own affair.
    let asked = (0..100).map(|n| (format!("id-{}", n % 50), question(&format!("acme/agent-{}", (n * 7) % 60), "1")));
    let answers = client.batch_check_admission(as_caller("acme", batch(asked))).await.unwrap().into_inner();
    assert_eq!(answers.revision, Some(proto::RevisionToken { revision: 1 }));
    assert_eq!(answers.answers.len(), 100);
    for (n, answer) in answers.answers.into_iter().enumerate() {
        let decision = answer.decision.unwrap();
        assert_eq!(answer.correlation_id, format!("id-{}", n % 50));
        let expected = if (n * 7) % 60 % 3 == 0 { Outcome::Deny } else { Outcome::Allow };
        assert_eq!((decision.outcome(), decision.revision), (expected, answers.revision), "{n}");
    }
    let many = (0..101).map(|n| (n.to_string(), question("acme/agent-1", "1")));
    let status = client.batch_check_admission(as_caller("acme", batch(many))).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let none = client.batch_check_admission(as_caller("acme", batch([]))).await.unwrap().into_inner();
    assert!(none.answers.is_empty() && none.revision.is_some());
}

#[tokio::test]
async fn a_batch_is_held_to_its_own_freshness_and_each_item_to_its_namespace() {
    let host = Host::with([put("acme/a", "1", State::Active), put("other/a", "1", State::Active)]).await;
    let mut client = host.client().await;
    let item_wants = proto::CheckAdmissionRequest { consistency: at_least(99), ..question("acme/a", "1") };
    let mut request = batch([("own".to_owned(), item_wants), ("other".to_owned(), question("other/a", "1"))]);
    request.items.push(proto::BatchItem { correlation_id: "empty".to_owned(), check: None });
    let answers = client.batch_check_admission(as_caller("acme", request.clone())).await.unwrap().into_inner().answers;
    let reasons: Vec<_> = answers.iter().map(|answer| answer.decision.as_ref().unwrap().reason()).collect();
    let forbidden = proto::DecisionReason::NamespaceForbidden;
    assert_eq!(reasons, [proto::DecisionReason::Allowed, forbidden, forbidden]);
    request.consistency = at_least(99);
    let answers = client.batch_check_admission(as_caller("acme", request)).await.unwrap().into_inner().answers;
    assert_eq!(answers[0].decision.as_ref().unwrap().reason(), proto::DecisionReason::RevisionNotReached);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_sees_one_revision_while_the_world_changes() {
    // Exactly one of two agents is on the road, at every revision.
    let pair = |n: u64| {
        let (one, two) =
            if n.is_multiple_of(2) { (State::Active, State::Quarantined) } else { (State::Quarantined, State::Active) };
        [put("acme/one", "1", one), put("acme/two", "1", two)]
    };
    let host = Host::with(pair(0)).await;
    let mut client = host.client().await;
    let hub = std::sync::Arc::clone(&host.hub);
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let publisher = std::thread::spawn({
        let stop = std::sync::Arc::clone(&stop);
        move || {
            let mut revision = 1;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                revision += 1;
                hub.publish(pair(revision), Revision(revision)).unwrap();
                std::thread::yield_now();
            }
            revision
        }
    });
    let mut revisions = BTreeSet::new();
    for _ in 0..200 {
        let asked =
            batch((0..10).map(|n| (String::new(), question(if n % 2 == 0 { "acme/one" } else { "acme/two" }, "1"))));
        let answers = match client.batch_check_admission(as_caller("*", asked)).await {
            Ok(answers) => answers.into_inner(),
            // The publisher of this test never pauses; it is an answer, too.
            Err(status) => {
                assert_eq!(status.code(), Code::Aborted);
                continue;
            }
        };
        let allowed =
            answers.answers.iter().filter(|answer| answer.decision.as_ref().unwrap().outcome() == Outcome::Allow);
        assert_eq!(allowed.count(), 5);
        assert!(answers.answers.iter().all(|answer| answer.decision.as_ref().unwrap().revision == answers.revision));
        revisions.insert(answers.revision.unwrap().revision);
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(publisher.join().unwrap() > 2);
    assert!(revisions.len() > 1, "the world did change");
}

fn canary(weight: u16) -> Change {
    Change::Upsert(AdmissionRecord { canary_weight: weight, ..record("acme/a", "2", State::Canary) })
}

async fn resolve(client: &mut Client, key: &str) -> proto::ResolveVersionResponse {
    let request = proto::ResolveVersionRequest {
        agent: "acme/a".to_owned(),
        cohort_key: key.to_owned(),
        profile: PROFILE.to_owned(),
        ..Default::default()
    };
    client.resolve_version(as_caller("acme", request)).await.unwrap().into_inner()
}

#[tokio::test]
async fn who_was_sent_to_the_canary_stays_there_as_its_weight_rises() {
    let host = Host::with([put("acme/a", "1", State::Active), canary(1_000)]).await;
    let mut client = host.client().await;
    let mut there: BTreeSet<String> = BTreeSet::new();
    for weight in [1_000, 3_000, 6_000, 10_000] {
        host.publish([canary(weight)]);
        let mut now = BTreeSet::new();
        for key in (0..60).map(|n| format!("conversation-{n}")) {
            let resolved = resolve(&mut client, &key).await;
            assert_eq!(resolve(&mut client, &key).await.version, resolved.version, "the same key, the same version");
            assert_eq!(resolved.card_digest, card("acme/a", &resolved.version).to_string());
            assert_eq!(resolved.decision.unwrap().outcome(), Outcome::Allow, "{key}: what is resolved may be called");
            assert_eq!(resolved.canary, resolved.version == "2");
            if resolved.canary {
                now.insert(key);
            }
        }
        assert!(now.is_superset(&there), "{weight}");
        there = now;
    }
    assert_eq!(there.len(), 60);
    assert_eq!(resolve(&mut client, "").await.version, "1", "without a key a canary is never chosen");
}

#[tokio::test]
async fn what_takes_no_traffic_is_not_resolved() {
    let host = Host::with([put("acme/a", "1", State::Quarantined), canary(10_000)]).await;
    let mut client = host.client().await;
    let none = resolve(&mut client, "").await;
    assert_eq!((none.version.as_str(), none.canary), ("", false));
    assert_eq!(none.decision.unwrap().reason(), proto::DecisionReason::VersionUnknown);
    assert_eq!(resolve(&mut client, "k").await.version, "2");
    let stop = Hold { kind: HoldKind::CanaryStopped, scope: Scope::All, by_person: false };
    let stopped =
        AdmissionRecord { canary_weight: 10_000, holds: [stop].into(), ..record("acme/a", "2", State::Canary) };
    host.publish([put("acme/a", "1", State::Active), Change::Upsert(stopped)]);
    let resolved = resolve(&mut client, "k").await;
    assert_eq!((resolved.version.as_str(), resolved.canary), ("1", false));
}
