//! The demo, as a stranger runs it.

use std::fs;

use serde_json::{Value, json};

use crate::program::json;

#[test]
fn every_story_ends_as_it_must_and_every_answer_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = folder.path().join("evidence");
    let (code, shown) = json(&["demo", "--evidence", evidence.to_str().unwrap()]);
    assert_eq!((code, &shown["ok"]), (0, &json!(true)), "{shown}");
    let story = |id: &str| -> Value {
        let mut stories = shown["scenarios"].as_array().unwrap().iter();
        stories.find(|story| story["id"] == id).unwrap().clone()
    };
    let good = story("Q-01");
    assert_eq!((&good["verdict"], &good["state"]), (&json!("PASS"), &json!("ACTIVE")));
    let all = [
        "DRAFT",
        "STATIC_VALIDATED",
        "CONFORMANCE_VERIFIED",
        "SECURITY_VERIFIED",
        "REGISTRY_ADMITTED",
        "CANARY",
        "ACTIVE",
    ];
    assert_eq!(good["states"], json!(all));
    let text = story("Q-02");
    assert_eq!((&text["reason_code"], &text["state"]), (&json!("CONTENT_MODE_MISMATCH"), &json!("REJECTED")));
    let reopened = story("Q-03");
    assert_eq!(
        (&reopened["reason_code"], &reopened["state"]),
        (&json!("TERMINAL_STATE_REOPENED"), &json!("QUARANTINED"))
    );
    assert_eq!(reopened["holds"], json!(["canary_stopped"]));
    let reasons: Vec<&str> = shown["checks"].as_array().unwrap().iter().filter_map(|c| c["reason"].as_str()).collect();
    for reason in ["ALLOWED", "CARD_DIGEST_MISMATCH", "PROFILE_NOT_VERIFIED", "EVIDENCE_EXPIRED", "QUARANTINED"] {
        assert!(reasons.contains(&reason), "{reason}: {reasons:?}");
    }
    let good = evidence.join("3.4.1");
    let keys = good.join("keys.json");
    let envelopes = fs::read_dir(&good).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let envelopes: Vec<String> = envelopes.filter(|path| path.ends_with(".dsse.json")).collect();
    let files: Vec<&str> = envelopes.iter().map(String::as_str).collect();
    let verify = [&["evidence", "verify", "--keys", keys.to_str().unwrap()], &files[..]].concat();
    let (code, verified) = json(&verify);
    assert_eq!((code, verified["files"].as_array().unwrap().len()), (0, envelopes.len()), "{verified}");
    let predicates: Vec<&str> =
        verified["files"].as_array().unwrap().iter().filter_map(|f| f["statement"]["predicateType"].as_str()).collect();
    assert!(predicates.contains(&"https://in-toto.io/attestation/test-result/v0.1"), "{predicates:?}");
    assert!(predicates.iter().any(|predicate| predicate.contains("admission")), "{predicates:?}");
}
