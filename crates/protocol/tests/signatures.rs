//! Signed cards as a corpus (C-07): those that official SDKs signed, liars of every kind, and cards with input that
//! nobody signed. `signed/expected.tsv` says what each comes to; `BLESS=1` writes it anew, for a person to read.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::PathBuf};

use ostiary_canon::{
    dsse::SigningKey,
    jwk::{Algorithm, PublicKey},
};
use ostiary_protocol::a2a::signature::{
    Anchors, Conclusion, Draft, Expectation, Form, SignatureReport, SignatureStatus, sign, verify, verify_value,
};
use ostiary_record::ReasonCode;
use proptest::prelude::*;
use serde_json::{Value, json};

const FOLDERS: [&str; 3] = ["honest", "liars", "unsigned"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/signed")
}

fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn card(name: &str) -> Value {
    serde_json::from_slice(&read(name)).expect("a card is JSON")
}

fn anchors() -> Anchors {
    Anchors::parse(&read("keys.jwks.json")).expect("a key set")
}

fn names() -> BTreeSet<String> {
    let of = |folder_name: &str| {
        let entries = fs::read_dir(folder().join(folder_name)).expect("a folder of the corpus");
        let stem = |e: fs::DirEntry| e.path().file_stem().expect("a file has a name").to_string_lossy().into_owned();
        entries.map(|e| format!("{folder_name}/{}", stem(e.expect("a readable entry")))).collect::<Vec<_>>()
    };
    FOLDERS.into_iter().flat_map(of).collect()
}

/// What a report comes to, in a line: the form that fits or the reason, and the unsigned members.
fn outcome(report: &SignatureReport) -> String {
    let unsigned: Vec<&str> = report.unsigned().iter().map(|u| u.pointer.as_str()).collect();
    let unsigned = if unsigned.is_empty() { "-".to_owned() } else { unsigned.join(",") };
    let what = match (report.conclude(Expectation::Nothing), report.best().map(|line| &line.status)) {
        (Conclusion::Intact, Some(SignatureStatus::Valid { form, .. })) => form.to_string(),
        (Conclusion::Broken(reason), None) => reason.to_string(),
        other => format!("{other:?}"),
    };
    format!("{what}\t{unsigned}")
}

#[test]
fn each_card_of_the_corpus_comes_to_what_is_expected() {
    let keys = anchors();
    let mut found = String::new();
    for name in names() {
        let report = verify(&read(&format!("{name}.json")), &keys);
        writeln!(found, "{name}\t{}", outcome(&report)).unwrap();
    }
    let path = folder().join("expected.tsv");
    #[expect(clippy::disallowed_methods, reason = "a person asks for the expectations to be written anew")]
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn no_liar_is_intact_and_every_honest_card_is() {
    let keys = anchors();
    for name in names() {
        let conclusion = verify(&read(&format!("{name}.json")), &keys).conclude(Expectation::Nothing);
        assert_eq!(conclusion == Conclusion::Intact, !name.starts_with("liars/"), "{name}: {conclusion:?}");
    }
}

#[test]
fn a_changed_name_breaks_every_signature() {
    let keys = anchors();
    for name in names().iter().filter(|name| !name.starts_with("liars/")) {
        let mut changed = card(&format!("{name}.json"));
        changed["name"] = json!("Mallory");
        let report = verify_value(&changed, &keys);
        assert_eq!(
            report.conclude(Expectation::Nothing),
            Conclusion::Broken(ReasonCode::CardSignatureInvalid),
            "{name}"
        );
    }
}

#[test]
fn without_the_operators_keys_nothing_is_valid() {
    let nobody = Anchors::default();
    let stranger = Anchors::from(PublicKey::ed25519("stranger", SigningKey::from_seed([9; 32]).verifying_key()));
    for name in names() {
        let bytes = read(&format!("{name}.json"));
        let unchecked = verify(&bytes, &nobody);
        assert_ne!(unchecked.conclude(Expectation::Nothing), Conclusion::Intact, "{name}");
        assert_ne!(verify(&bytes, &stranger).conclude(Expectation::Nothing), Conclusion::Intact, "{name}");
        if !name.starts_with("liars/") {
            assert_eq!(unchecked.conclude(Expectation::Signature), Conclusion::NotChecked, "{name}");
        }
    }
}

#[test]
fn absent_stripped_and_missing_signatures_are_told_apart() {
    let keys = anchors();
    let mut stripped = card("honest/python-plain-ec.json");
    stripped.as_object_mut().unwrap().remove("signatures");
    let mut emptied = stripped.clone();
    emptied["signatures"] = json!([]);
    let mut unset = stripped.clone();
    unset["signatures"] = Value::Null;
    for card in [stripped, emptied, unset] {
        let report = verify_value(&card, &keys);
        assert_eq!(report.conclude(Expectation::Nothing), Conclusion::NotSigned);
        let broken = |expected| report.conclude(expected);
        assert_eq!(broken(Expectation::Signature), Conclusion::Broken(ReasonCode::CardSignatureMissing));
        assert_eq!(broken(Expectation::AsBefore), Conclusion::Broken(ReasonCode::CardSignatureStripped));
    }
}

#[test]
fn each_signature_is_reported_with_what_it_claims() {
    let report = verify(&read("honest/two-keys.json"), &anchors());
    let [unknown, valid] = report.signatures.as_slice() else { panic!("two signatures") };
    assert_eq!((unknown.pointer.as_str(), unknown.kid.as_deref()), ("/signatures/0", Some("key-next")));
    assert_eq!(unknown.status, SignatureStatus::KeyUnknown);
    assert_eq!(valid.alg.as_deref(), Some("ES256"));
    assert_eq!(valid.status.reason(), None);

    let report = verify(&read("liars/jku-of-the-signer.json"), &anchors());
    assert_eq!(report.signatures[0].jku.as_deref(), Some("https://mallory.example.test/jwks.json"));
}

#[test]
fn what_a_form_cannot_show_is_told() {
    let gap_of = |name: &str| {
        let report = verify(&read(name), &anchors());
        let gap = match &report.best().unwrap().status {
            SignatureStatus::Valid { gap, .. } => *gap,
            _ => None,
        };
        gap.unwrap_or_default().to_owned()
    };
    // the same bytes in every form: the signer may have used a lossy one
    assert!(gap_of("honest/python-plain-ec.json").contains("security scheme"));
    assert!(gap_of("honest/python-full-ec.json").contains("without scopes"));
    assert!(gap_of("honest/specification-schema-vendor-member.json").contains("security scheme"));
    assert_eq!(gap_of("honest/specification-vendor-member.json"), "");
    // two forms lead to these bytes, and one of them is blind to members outside the schema
    assert_eq!(gap_of("honest/specification-sparse.json"), "members outside the A2A schema are not covered");
}

#[test]
fn what_we_sign_verifies_in_the_form_we_signed() {
    let key = SigningKey::from_seed([5; 32]);
    let keys = Anchors::from(PublicKey::ed25519("ours", key.verifying_key()));
    for name in ["full.json", "sparse.json", "plain.json"] {
        for form in Form::ALL {
            let mut signed = card(name);
            sign(&mut signed, form, &key, "ours").unwrap();
            let report = verify_value(&signed, &keys);
            assert_eq!(report.conclude(Expectation::Signature), Conclusion::Intact, "{name} {form}");
            let SignatureStatus::Valid { form: first, same_bytes, .. } = &report.best().unwrap().status else {
                panic!("{name} {form}: {report:?}")
            };
            assert!(*first == form || same_bytes.contains(&form), "{name}: signed {form}, found {first}");
        }
    }
}

#[test]
fn unreadable_cards_give_one_report() {
    for bytes in [&b""[..], b"[]", b"{\"a\":1,\"a\":2}", b"\xff", b"{\"name\":123456789012345678901}"] {
        let report = verify(bytes, &anchors());
        assert!(report.refused.is_some() && report.signatures.is_empty());
        let broken = Conclusion::Broken(ReasonCode::CardSignatureMalformed);
        assert_eq!(report.conclude(Expectation::Nothing), broken);
    }
}

#[test]
fn a_signature_cannot_be_put_where_no_list_is() {
    let draft = Draft::new(&json!({}), Form::Raw, Algorithm::Es256, "k").unwrap();
    for mut card in [json!([]), json!({"signatures": 1})] {
        assert!(draft.clone().put(&mut card, &[0; 64]).is_err());
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\u{fc}\u{1F600}]{0,3}".prop_map(Value::from)
    ];
    let name = prop_oneof![
        Just("name"),
        Just("skills"),
        Just("signatures"),
        Just("capabilities"),
        Just("securitySchemes"),
        Just("securityRequirements"),
        Just("extensions"),
        Just("params"),
        Just("schemes"),
        Just("protected"),
        Just("signature"),
        Just("header"),
        Just("x~/y")
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    /// Whatever the card, there is a report, and nothing is valid that nobody signed.
    #[test]
    fn no_card_is_valid_by_chance(card in anything()) {
        let report = verify_value(&card, &anchors());
        prop_assert!(report.best().is_none());
        prop_assert_ne!(report.conclude(Expectation::Signature), Conclusion::Intact);
    }

    /// Every unsigned pointer points at something in the card.
    #[test]
    fn what_is_left_out_exists(card in anything()) {
        for form in Form::ALL {
            for unsigned in form.of(&card).unwrap().unsigned {
                prop_assert!(card.pointer(&unsigned.pointer).is_some(), "{form}: {}", unsigned.pointer);
            }
        }
    }

    /// The order of members changes no form.
    #[test]
    fn order_does_not_count(card in anything()) {
        let Value::Object(members) = &card else { return Ok(()) };
        let turned = Value::Object(members.iter().rev().map(|(n, v)| (n.clone(), v.clone())).collect());
        for form in Form::ALL {
            prop_assert_eq!(form.of(&card).unwrap().bytes, form.of(&turned).unwrap().bytes);
        }
    }
}
