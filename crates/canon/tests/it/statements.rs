//! Statements and predicates: signed, read back, and refused when they are not what was wanted.

use jiff::Timestamp;
use ostiary_canon::{
    Digest, Profile, Revision,
    dsse::{Keyring, SigningKey},
    intoto::{
        AUTHORIZATION, AdmissionClass, Authorization, AuthorizationError, AuthorizationFacts, Conditions,
        ConditionsError, EvidenceDocument, GateEvidence, PAYLOAD_TYPE, Statement, StatementError, Subject, TEST_RESULT,
        TestResult, TestVerdict,
    },
};
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn profile(text: &str) -> Profile {
    text.parse().unwrap()
}

fn subject() -> Subject {
    Subject::new(&"acme/planner".parse().unwrap(), &"3.4.1".parse().unwrap(), Digest::of(b"manifest"))
}

fn conditions() -> Conditions {
    Conditions {
        gate: "conformance".to_owned(),
        verified_at: at("2026-08-11T06:00:00Z"),
        harness_version: "0.1.0".to_owned(),
        policy_digest: Digest::of(b"policy"),
        run_digest: Digest::of(b"run"),
        environment: "staging".to_owned(),
        endpoint: Some("https://agent.example/a2a".to_owned()),
        spki_sha256: None,
        connect_to: [("agent.example:443".to_owned(), "127.0.0.1:9100".to_owned())].into(),
        trust_roots: Some(Digest::of(b"roots")),
        producer_digest_source: None,
        profiles_passed: vec![profile("a2a-jsonrpc-1.0")],
        profiles_failed: vec![profile("a2a-grpc-1.0/user/standard")],
    }
}

fn test_result() -> TestResult {
    TestResult {
        result: TestVerdict::Passed,
        configuration: conditions().configuration(),
        url: None,
        passed: vec!["a2a.task.terminal_reopened".to_owned()],
        warned: vec![],
        failed: vec![],
    }
}

fn facts() -> AuthorizationFacts {
    let gate = |name: &str, ends: &str| GateEvidence {
        gate: name.to_owned(),
        evidence_digest: Digest::of(name.as_bytes()),
        profiles: vec![profile("a2a-jsonrpc-1.0"), profile("mcp-2026-07-28")],
        verified_at: at("2026-08-11T05:00:00Z"),
        expires_at: at(ends),
    };
    AuthorizationFacts {
        not_before: at("2026-08-11T06:00:00Z"),
        window_ends: at("2026-08-18T06:00:00Z"),
        agent_version: "3.4.1".parse().unwrap(),
        card_digest: Digest::of(b"card"),
        contract_digest: Digest::of(b"contract"),
        producer_digest: Digest::of(b"producer"),
        profiles_passed: vec![profile("a2a-jsonrpc-1.0"), profile("mcp-2026-07-28")],
        verified_at: at("2026-08-11T06:00:00Z"),
        expires_at: at("2026-08-18T06:00:00Z"),
        gates: vec![gate("conformance", "2026-08-18T06:00:00Z"), gate("security", "2026-08-19T06:00:00Z")],
        policy: Digest::of(b"policy"),
        environment: "staging".to_owned(),
        revision: Revision(42),
        class: AdmissionClass::Full,
        waived: vec![],
    }
}

/// The statement's JSON after `change`.
fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let bytes = Statement::new(subject(), test_result()).to_bytes().unwrap();
    let mut value: Value = serde_json::from_slice(&bytes).unwrap();
    change(&mut value);
    value.to_string().into_bytes()
}

#[test]
fn a_signed_statement_is_read_back() {
    let key = SigningKey::from_seed([5; 32]);
    let ring = Keyring::trusting([key.verifying_key()]);
    let result = Statement::new(subject(), test_result());
    let verified = ring.verify(&result.sign(&key).unwrap()).unwrap();
    assert_eq!(Statement::<TestResult>::from_verified(&verified).unwrap(), result);
    assert_eq!(result.predicate.conditions().unwrap(), conditions());

    let allowed = Statement::new(subject(), Authorization::issue(facts()).unwrap());
    let verified = ring.verify(&allowed.sign(&key).unwrap()).unwrap();
    assert_eq!(Statement::<Authorization>::from_verified(&verified).unwrap(), allowed);
}

#[test]
fn the_spelling_is_that_of_the_standards() {
    let bytes = Statement::new(subject(), test_result()).to_bytes().unwrap();
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(value["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(value["predicateType"], TEST_RESULT);
    assert_eq!(
        value["subject"],
        json!([{"name": "acme/planner@3.4.1", "digest": {"sha256": Digest::of(b"manifest").hex()}}])
    );
    assert_eq!(value["predicate"]["result"], "PASSED");
    assert_eq!(value["predicate"]["passedTests"], json!(["a2a.task.terminal_reopened"]));
    assert_eq!(value["predicate"]["configuration"][0]["digest"]["sha256"], Digest::of(b"run").hex());

    let allowed = Statement::new(subject(), Authorization::issue(facts()).unwrap()).to_bytes().unwrap();
    let value: Value = serde_json::from_slice(&allowed).unwrap();
    assert_eq!(value["predicateType"], AUTHORIZATION);
    assert_eq!(value["predicate"]["notBefore"], "2026-08-11T06:00:00Z");
    assert_eq!(value["predicate"]["expiresAt"], "2026-08-18T06:00:00Z");
    assert_eq!(value["predicate"]["expires_at"], "2026-08-18T06:00:00Z");
    assert_eq!(value["predicate"]["revision"], 42);
}

#[test]
fn only_one_subject_is_accepted() {
    let parse = |bytes: Vec<u8>| Statement::<TestResult>::parse(&bytes);
    assert!(parse(changed(|_| {})).is_ok());
    let two = changed(|value| {
        let first = value["subject"][0].clone();
        value["subject"].as_array_mut().unwrap().push(first);
    });
    assert!(matches!(parse(two), Err(StatementError::Subjects(2))));
    assert!(matches!(parse(changed(|value| value["subject"] = json!([]))), Err(StatementError::Subjects(0))));
    let second_algorithm = changed(|value| value["subject"][0]["digest"]["sha1"] = json!("00"));
    assert!(matches!(parse(second_algorithm), Err(StatementError::SubjectDigest)));
    let upper = changed(|value| {
        let digest = &mut value["subject"][0]["digest"]["sha256"];
        *digest = json!(digest.as_str().unwrap().to_uppercase());
    });
    assert!(matches!(parse(upper), Err(StatementError::SubjectDigest)));
    let no_digest = changed(|value| value["subject"][0]["digest"] = json!({}));
    assert!(matches!(parse(no_digest), Err(StatementError::SubjectDigest)));
}

#[test]
fn one_predicate_is_never_read_as_another() {
    let bytes = Statement::new(subject(), test_result()).to_bytes().unwrap();
    let refused = Statement::<Authorization>::parse(&bytes);
    assert!(matches!(refused, Err(StatementError::PredicateType { .. })), "{refused:?}");
    let relabelled = changed(|value| value["predicateType"] = json!(AUTHORIZATION));
    assert!(matches!(Statement::<Authorization>::parse(&relabelled), Err(StatementError::Predicate { .. })));
    let other_type = changed(|value| value["_type"] = json!("https://in-toto.io/Statement/v0.1"));
    assert!(matches!(Statement::<TestResult>::parse(&other_type), Err(StatementError::Type(_))));
}

#[test]
fn a_payload_of_another_type_is_no_statement() {
    let key = SigningKey::from_seed([5; 32]);
    let ring = Keyring::trusting([key.verifying_key()]);
    let bytes = Statement::new(subject(), test_result()).to_bytes().unwrap();
    let verified = ring.verify(&key.sign("application/json", bytes.clone())).unwrap();
    assert!(matches!(Statement::<TestResult>::from_verified(&verified), Err(StatementError::PayloadType(_))));
    let verified = ring.verify(&key.sign(PAYLOAD_TYPE, bytes)).unwrap();
    assert!(Statement::<TestResult>::from_verified(&verified).is_ok());
}

#[test]
fn an_authorization_never_outlives_or_outgrows_its_evidence() {
    let issue = |change: fn(&mut AuthorizationFacts)| {
        let mut facts = facts();
        change(&mut facts);
        Authorization::issue(facts).map(|_| ())
    };
    assert_eq!(issue(|_| {}), Ok(()));
    let refused = issue(|facts| facts.gates[0].expires_at = at("2026-08-18T05:59:59Z"));
    assert!(matches!(refused, Err(AuthorizationError::OutlivesGate { gate, .. }) if gate == "conformance"));
    let refused = issue(|facts| _ = facts.gates[1].profiles.pop());
    assert!(matches!(refused, Err(AuthorizationError::ProfileNotPassed { gate, .. }) if gate == "security"));
    assert_eq!(issue(|facts| facts.gates.clear()), Err(AuthorizationError::NoGates));
    assert_eq!(issue(|facts| facts.profiles_passed.clear()), Err(AuthorizationError::NoProfiles));
    let refused = issue(|facts| facts.expires_at = at("2026-08-17T06:00:00Z"));
    assert_eq!(refused, Err(AuthorizationError::TwoExpiries));
    let refused = issue(|facts| facts.not_before = facts.window_ends);
    assert!(matches!(refused, Err(AuthorizationError::EmptyWindow { .. })));
}

#[test]
fn the_window_is_required_and_half_open() {
    let allowed = Authorization::issue(facts()).unwrap();
    for (when, holds) in [
        ("2026-08-11T05:59:59.999Z", false),
        ("2026-08-11T06:00:00Z", true),
        ("2026-08-18T05:59:59.999Z", true),
        ("2026-08-18T06:00:00Z", false),
    ] {
        assert_eq!(allowed.holds_at(at(when)), holds, "{when}");
    }
    for field in ["notBefore", "expiresAt", "expires_at", "gates", "policy", "producer_digest", "revision"] {
        let mut value = serde_json::to_value(&allowed).unwrap();
        value.as_object_mut().unwrap().remove(field).unwrap();
        assert!(serde_json::from_value::<Authorization>(value).is_err(), "without {field}");
    }
}

#[test]
fn conditions_that_are_missing_or_doubled_are_named() {
    let without = |name: &str| {
        let mut result = test_result();
        result.configuration.retain(|one| one.name.as_deref() != Some(name));
        result.conditions()
    };
    assert_eq!(without("policy"), Err(ConditionsError::Descriptor("policy")));
    assert_eq!(without("run"), Err(ConditionsError::Descriptor("run")));
    let mut doubled = test_result();
    doubled.configuration.extend(conditions().configuration());
    assert_eq!(doubled.conditions(), Err(ConditionsError::Descriptor("run")));
    let mut no_time = test_result();
    no_time.configuration[0].annotations.remove("verified_at");
    assert!(matches!(no_time.conditions(), Err(ConditionsError::Shape { name: "run", .. })));
}

#[test]
fn the_published_short_form_loads_with_its_placeholders() {
    let text = include_str!("../data/evidence.json");
    let document: EvidenceDocument = serde_json::from_str(text).unwrap();
    assert_eq!(document.placeholders(), ["card_digest", "contract_digest", "producer_digest"]);
    assert_eq!(document.profiles_passed, [profile("a2a-jsonrpc-1.0"), profile("mcp-2026-07-28")]);
    assert_eq!(document.expires_at, at("2026-08-18T06:00:00Z"));
    assert_eq!(serde_json::to_string(&document).unwrap(), text.trim_end(), "written as it was read");

    let ours = Authorization::issue(facts()).unwrap().document();
    assert_eq!(ours.placeholders(), <[&str; 0]>::default());
    let names = |document: &EvidenceDocument| -> Vec<String> {
        serde_json::to_value(document).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&ours), names(&document));
    // In the signed predicate the same fields stand beside the window.
    let predicate = serde_json::to_value(Authorization::issue(facts()).unwrap()).unwrap();
    for name in names(&document) {
        assert!(predicate.get(&name).is_some(), "{name}");
    }
}
