//! Commands that need no server.

use std::fs;

use serde_json::{Value, json};

use crate::program::{bundle, json, run};

fn card() -> Value {
    serde_json::from_slice(&fs::read(format!("{}/agent-card.json", bundle())).unwrap()).unwrap()
}

/// Lints a card text: exit code and report.
fn lint(text: &str, options: &[&str]) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    fs::write(&path, text).unwrap();
    json(&[&["card", "lint", path.to_str().unwrap()], options].concat())
}

#[test]
fn the_shipped_bundle_is_good_and_has_one_digest_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let tar = folder.path().join("bundle.tar");
    let (code, checked) = json(&["bundle", "check", &bundle()]);
    assert_eq!((code, &checked["ok"], &checked["problems"]), (0, &json!(true), &json!([])));
    assert_eq!(run(&["bundle", "pack", &bundle(), "--out", tar.to_str().unwrap()]).code, 0);
    for form in [bundle().as_str(), tar.to_str().unwrap()] {
        assert_eq!(json(&["bundle", "digest", form]).1["digest"], checked["digest"], "{form}");
    }
}

#[test]
fn a_broken_bundle_fails_with_everything_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("contract.yaml"), "contract_bundle:\n  contract_id: 7\n  surprise: yes\n").unwrap();
    let (code, checked) = json(&["bundle", "check", folder.path().to_str().unwrap()]);
    assert_eq!((code, &checked["ok"]), (1, &json!(false)));
    let problems = checked["problems"].as_array().unwrap();
    assert!(problems.len() >= 3, "{problems:?}");
    assert!(problems.iter().all(|p| p["file"] == "contract.yaml" && p["code"].is_string()), "{problems:?}");
    assert!(problems.iter().any(|p| p["line"] == 3 && p["code"] == "UNKNOWN_KEY"), "{problems:?}");
}

#[test]
fn schemas_are_listed_and_printed() {
    let (code, kinds) = json(&["bundle", "schema"]);
    assert_eq!(code, 0);
    assert!(kinds["kinds"].as_array().unwrap().contains(&json!("contract")));
    let (code, schema) = json(&["bundle", "schema", "contract"]);
    assert_eq!((code, &schema["type"]), (0, &json!("object")));
    assert_eq!(json(&["bundle", "schema", "nonsense"]).0, 2);
}

#[test]
fn a_manifest_takes_environment_and_result_from_the_run() {
    let environment = format!("{}.environment.yaml", bundle());
    let (code, manifest) = json(&["bundle", "manifest", &bundle(), "--env", &environment, "--result", "here"]);
    assert_eq!((code, &manifest["result_locator"]), (0, &json!("here")));
    assert_eq!(json(&["bundle", "manifest", &bundle()]).1["result_locator"], "unknown");
}

#[test]
fn a_good_card_passes() {
    let (code, report) = lint(&card().to_string(), &[]);
    assert_eq!((code, &report["verdict"], &report["format"]), (0, &json!("PASS"), &json!("a2a-1.0")));
    assert_eq!(report["layers"]["protocol"], Value::Null, "not asked for");
}

#[test]
fn each_broken_card_fails_with_its_code() {
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut card = card();
        change(&mut card);
        card.to_string()
    };
    let extension = json!([{"uri": "urn:example:test:approval-context", "required": true}]);
    let table = [
        (
            "REQUIRED_EXTENSION_UNSUPPORTED",
            changed(&|c| c["capabilities"]["extensions"] = extension.clone()),
            "a2a-1.0",
        ),
        ("SKILL_ID_DUPLICATE", changed(&|c| c["skills"] = json!([c["skills"][0], c["skills"][0]])), "a2a-1.0"),
        ("CARD_FIELD_MISSING", changed(&|c| drop(c.as_object_mut().unwrap().remove("description"))), "a2a-1.0"),
        (
            "INTERFACE_URL_INSECURE",
            changed(&|c| c["supportedInterfaces"][0]["url"] = json!("http://a.example.test/")),
            "a2a-1.0",
        ),
        ("CARD_MALFORMED", "{".to_owned(), "malformed"),
        ("CARD_MALFORMED", r#"{"name":"a","name":"b"}"#.to_owned(), "malformed"),
        ("CARD_NOT_RECOGNIZED", r#"{"hello":"world"}"#.to_owned(), "not-a-card"),
    ];
    for (code, text, format) in table {
        let (exit, report) = lint(&text, &[]);
        let codes: Vec<&str> =
            report["findings"].as_array().unwrap().iter().filter_map(|f| f["reason_code"].as_str()).collect();
        assert_eq!((exit, report["format"].as_str()), (1, Some(format)), "{code}: {report}");
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}

#[test]
fn a_consumer_may_support_what_a_card_requires() {
    let mut card = card();
    card["capabilities"]["extensions"] = json!([{"uri": "urn:example:test:approval-context", "required": true}]);
    assert_eq!(lint(&card.to_string(), &["--consumer-extension", "urn:example:test:approval-context"]).0, 0);
}

#[test]
fn development_turns_plain_http_into_a_warning() {
    let mut card = card();
    card["supportedInterfaces"][0]["url"] = json!("http://planning.example.test/a2a");
    assert_eq!(lint(&card.to_string(), &[]).0, 1);
    let (code, report) = lint(&card.to_string(), &["--dev"]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["counts"]["warnings"], 1);
}

#[test]
fn what_cannot_be_read_ends_with_4_and_says_so_in_both_formats() {
    let (code, said) = json(&["card", "lint", "no-such-card.json"]);
    assert_eq!((code, &said["error"]["exit"]), (4, &json!(4)));
    let ended = run(&["card", "lint", "no-such-card.json"]);
    assert!(ended.code == 4 && ended.stdout.is_empty() && ended.stderr.contains("no-such-card.json"), "{ended:?}");
}

#[test]
fn a_private_address_is_not_fetched_unless_allowed() {
    let (code, said) = json(&["card", "snapshot", "https://127.0.0.1:1/card.json", "--out", "never.json"]);
    assert_eq!(code, 4);
    assert!(said["error"]["hint"].as_str().unwrap().contains("--allow-private"), "{said}");
}

#[test]
fn wrong_usage_ends_with_2() {
    for arguments in [&["bundle"][..], &["verify"], &["check", "--agent", "no-slash"], &["nonsense"]] {
        assert_eq!(run(arguments).code, 2, "{arguments:?}");
    }
    assert_eq!(run(&["bundle", "digest", &bundle(), "--format", "jsonl"]).code, 2);
}

#[test]
fn what_is_piped_has_no_colours() {
    let ended = run(&["bundle", "check", &bundle()]);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
}
