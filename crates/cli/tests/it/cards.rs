//! Cards: compared with the last known one, judged by their own version, signed, and negotiated by version (C-07, P-02).

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    thread,
};

use serde_json::{Value, json};

use crate::program::{bundle, json, run};

fn card() -> Value {
    serde_json::from_slice(&fs::read(format!("{}/agent-card.json", bundle())).unwrap()).unwrap()
}

fn write(folder: &Path, name: &str, card: &Value) -> String {
    let path = folder.join(name);
    fs::write(&path, card.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().filter_map(|f| f["reason_code"].as_str()).collect()
}

fn signed(name: &str) -> String {
    format!("{}/../protocol/tests/signed/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_card_is_compared_with_its_last_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "known.json", &card());
    let same = json(&["card", "lint", &known, "--against", &known]);
    assert_eq!((same.0, &same.1["verdict"]), (0, &json!("PASS")), "{}", same.1);
    let mut moved = card();
    moved["supportedInterfaces"][0]["url"] = json!("https://planning.elsewhere.test/a2a");
    let moved = write(folder.path(), "moved.json", &moved);
    let (code, report) = json(&["card", "lint", &moved, "--against", &known]);
    let codes = codes(&report);
    assert!(code == 1 && codes.contains(&"ENDPOINT_MOVED") && codes.contains(&"CARD_VERSION_NOT_RAISED"), "{report}");
    assert_eq!(json(&["card", "lint", &moved]).0, 0, "by itself nothing is wrong with it");
}

#[test]
fn a_snapshot_that_is_not_of_its_card_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let known = write(folder.path(), "agent-card.json", &card());
    let digest = json(&["card", "digest", &known]).1;
    let snapshot = json!({"url": "https://a.test/", "raw_digest": digest["raw_digest"]});
    let snapshot = write(folder.path(), "agent-card.snapshot.json", &snapshot);
    assert_eq!(json(&["card", "lint", &known, "--against", &snapshot]).0, 0);
    let mut other = card();
    other["description"] = json!("Else.");
    write(folder.path(), "agent-card.json", &other);
    let (code, said) = json(&["card", "lint", &known, "--against", &snapshot]);
    assert!(code == 4 && said["error"]["message"].as_str().is_some_and(|m| m.contains("not the card")), "{said}");
}

#[test]
fn an_older_card_is_told_what_a_1_0_card_would_hold_and_judged_by_its_own_version_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let old = json!({
        "protocolVersion": "0.3.0", "name": "Planner", "description": "Plans.", "version": "1",
        "url": "https://planning.acme.dev/rpc", "capabilities": {"stateTransitionHistory": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "plan", "name": "Plan", "description": "Plans.", "tags": ["plan"]}]
    });
    let path = write(folder.path(), "old.json", &old);
    let (code, report) = json(&["card", "lint", &path]);
    assert_eq!((code, &report["format"], codes(&report)), (1, &json!("a2a-0.3"), vec!["CARD_VERSION_UNSUPPORTED"]));
    assert_eq!(report["projection"]["card"]["supportedInterfaces"][0]["protocolVersion"], "0.3");
    assert_eq!(report["projection"]["lost"][0]["pointer"], "/capabilities/stateTransitionHistory");
    assert_eq!(json(&["card", "lint", &path, "--legacy"]).0, 0);
}

#[test]
fn signatures_are_checked_with_the_operators_keys_alone() {
    let keys = signed("keys.jwks.json");
    let honest = signed("honest/javascript-full-ec.json");
    let (code, said) = json(&["card", "verify", &honest, "--trust", &keys]);
    assert_eq!((code, &said["conclusion"]), (0, &json!("intact")), "{said}");
    let mut changed: Value = serde_json::from_slice(&fs::read(&honest).unwrap()).unwrap();
    changed["name"] = json!("Somebody else");
    let folder = tempfile::tempdir().unwrap();
    let changed = write(folder.path(), "changed.json", &changed);
    let (code, said) = json(&["card", "verify", &changed, "--trust", &keys]);
    assert_eq!((code, &said["conclusion"]), (1, &json!("CARD_SIGNATURE_INVALID")), "{said}");
    assert!(codes(&json(&["card", "lint", &changed, "--trust", &keys]).1).contains(&"CARD_SIGNATURE_INVALID"));
    let unsigned = write(folder.path(), "unsigned.json", &card());
    assert_eq!(json(&["card", "verify", &unsigned, "--trust", &keys]).1["conclusion"], "CARD_SIGNATURE_MISSING");
    assert_eq!(json(&["card", "lint", &unsigned, "--trust", &keys]).0, 0);
    assert_eq!(json(&["card", "lint", &unsigned, "--trust", &keys, "--require-signature"]).0, 1);
}

/// One card that cannot be read takes no other's report away: 1 for what is broken, else 4.
#[test]
fn a_card_that_cannot_be_read_leaves_the_others_their_reports() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", &card());
    let mut broken = card();
    broken["skills"] = Value::Null;
    let bad = write(folder.path(), "bad.json", &broken);
    let missing = folder.path().join("missing.json").display().to_string();
    let (code, all) = json(&["card", "lint", &good, &missing, &bad]);
    assert_eq!(code, 1, "{all}");
    let of = |n: usize| (all[n]["card"].as_str().unwrap(), all[n]["verdict"].as_str());
    assert_eq!((of(0), of(2)), ((good.as_str(), Some("PASS")), (bad.as_str(), Some("FAIL"))));
    assert_eq!((of(1), &all[1]["error"]["exit"]), ((missing.as_str(), None), &json!(4)), "{all}");
    assert_eq!(json(&["card", "lint", &missing, &good]).0, 4);
    let (code, one) = json(&["card", "lint", &missing]);
    assert_eq!((code, &one["error"]["exit"]), (4, &json!(4)));
    for format in ["human", "junit", "markdown", "sarif", "jsonl"] {
        let ended = run(&["card", "lint", &good, &missing, &bad, "--format", format]);
        let name = |path: &str| ended.stdout.contains(Path::new(path).file_name().unwrap().to_str().unwrap());
        assert!(ended.code == 1 && name(&good) && name(&missing) && name(&bad), "{format}: {}", ended.stdout);
    }
    let junit = run(&["card", "lint", &missing, &good, "--format", "junit"]);
    assert!(junit.stdout.contains("errors=\"1\"") && junit.stdout.contains("COULD_NOT_RUN"), "{}", junit.stdout);
}

/// A reader must find the file: what checks call `agent-card.json` has another name on disk.
#[test]
fn a_finding_names_the_file_that_was_linted() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = card();
    broken["name"] = Value::Null;
    let bad = write(folder.path(), "planner.json", &broken);
    let (_, report) = json(&["card", "lint", &bad]);
    let finding = report["findings"].as_array().unwrap().iter().find(|f| f["reason_code"] == "CARD_FIELD_MISSING");
    assert_eq!(finding.unwrap()["where"]["file"], json!(bad), "{report}");
    for format in ["human", "markdown"] {
        let said = run(&["card", "lint", &bad, "--format", format]).stdout;
        assert!(said.contains("planner.json") && !said.contains("agent-card.json /name"), "{format}: {said}");
    }
    let log: Value = serde_json::from_str(&run(&["card", "lint", &bad, "--format", "sarif"]).stdout).unwrap();
    let location = &log["runs"][0]["results"][0]["locations"][0];
    assert!(location["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap().ends_with("/planner.json"));
    let member = location["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
    assert!(member.ends_with("planner.json#/name"), "{member}");
}

/// A server without a card is no reason to open up one's network.
#[test]
fn an_address_without_a_card_gets_its_own_hint() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let _ = write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let url = format!("http://{address}/card.json");
    let hint = |arguments: &[&str]| json(arguments).1["error"]["hint"].as_str().unwrap_or_default().to_owned();
    let found = hint(&["card", "lint", &url, "--allow-private", "--allow-insecure-http"]);
    assert!(found.contains(".well-known/agent-card.json"), "{found}");
    assert!(hint(&["card", "lint", &url]).contains("--allow-private"));
    assert!(hint(&["mcp", "lint", &url]).contains("ostiary mcp snapshot --url"));
}

/// An error message that came in a card's place makes no bundle.
#[test]
fn no_bundle_is_drafted_from_an_error_message() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("bundle").display().to_string();
    for answer in [json!({"error": "x"}), json!({"type": "about:blank", "title": "Not Found", "status": 404})] {
        let path = write(folder.path(), "answer.json", &answer);
        let (code, said) = json(&["bundle", "init", "--card", &path, "--out", &out]);
        let message = said["error"]["message"].as_str().unwrap();
        assert!(code == 4 && message.contains("an error message"), "{said}");
        assert!(!Path::new(&out).exists());
    }
}

/// A server that gives callers without `A2A-Version` another card; its address.
fn negotiating(current: Value, plain: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            answer(stream, &current, &plain);
        }
    });
    format!("http://{address}/.well-known/agent-card.json")
}

fn answer(mut stream: TcpStream, current: &Value, plain: &Value) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let versioned = head.iter().any(|line| line.to_ascii_lowercase().starts_with("a2a-version:"));
    let body = if versioned { current } else { plain }.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\netag: \"7\"\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n{body}",
        body.len()
    );
}

#[test]
fn a_card_that_leads_older_callers_elsewhere_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("agent-card.snapshot.json");
    let reach = ["--allow-private", "--allow-insecure-http"];
    let snapshot = |plain: &str| {
        let plain = json!({"name": "x", "url": plain, "protocolVersion": "0.3.0", "skills": []});
        let url = negotiating(card(), plain);
        let snapshot = json(&[&["card", "snapshot", &url, "--out", out.to_str().unwrap()], &reach[..]].concat());
        (snapshot, json(&[&["card", "lint", &url], &reach[..]].concat()))
    };
    let endpoint = card()["supportedInterfaces"][0]["url"].as_str().unwrap().to_owned();
    let ((code, said), (lint, _)) = snapshot(&endpoint);
    assert_eq!((code, lint, &said["etag"]), (0, 0, &json!("\"7\"")), "{said}");
    assert!(said["plain_card_digest"].is_string(), "{said}");
    let ((code, _), (lint, report)) = snapshot("https://elsewhere.test/rpc");
    assert_eq!((code, lint), (1, 1));
    assert!(codes(&report).contains(&"CARD_ENDPOINTS_DISAGREE"), "{report}");
}
