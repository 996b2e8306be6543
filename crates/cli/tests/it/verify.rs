//! Local verification of the sample agent as a process of its own.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Running, bundle, environment, json, run};

/// Verifies an agent that tells these lies.
fn verify(lies: &[&str], options: &[&str]) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let env = environment(folder.path(), "local");
    let env = env.to_str().unwrap();
    let bundle = bundle();
    let lies: Vec<&str> = lies.iter().flat_map(|lie| ["--lie", lie]).collect();
    let _agent = Running::start(&[&["sample", &bundle, "--env", env], &lies[..]].concat());
    json(&[&["verify", &bundle, "--env", env], options].concat())
}

fn failures(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap().iter();
    let counts = |f: &&Value| f["verdict"] == "FAIL" && f["severity"] == "error";
    findings.filter(counts).filter_map(|f| f["reason_code"].as_str()).collect()
}

#[test]
fn the_honest_agent_fails_nothing_and_shows_every_layer_that_is_asked_for() {
    let (_, report) = verify(&[], &["--gate", "conformance"]);
    assert_eq!(failures(&report), [""; 0], "{report}");
    assert_eq!(report["layers"]["declaration"], "PASS");
    assert_eq!(report["layers"]["schema"], "PASS");
    assert_eq!(report["layers"]["protocol"], "PASS");
    assert_eq!(report["profiles_passed"], json!(["a2a-jsonrpc-1.0/user/standard"]));
}

#[test]
fn each_lie_is_caught_with_exit_code_1() {
    for (lie, code) in [
        ("text_artifact", "CONTENT_MODE_MISMATCH"),
        ("reopen_terminal", "TERMINAL_STATE_REOPENED"),
        ("cut_stream", "STREAM_TRUNCATED"),
        ("drop_artifact", "ARTIFACT_MISSING"),
        ("accept_any_version", "VERSION_NOT_ENFORCED"),
    ] {
        let (exit, report) = verify(&[lie], &["--gate", "conformance"]);
        assert_eq!(exit, 1, "{lie}: {report}");
        assert!(failures(&report).contains(&code), "{lie}: {:?}", failures(&report));
    }
}

#[test]
fn a_stored_run_is_judged_again_without_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let stored = folder.path().join("run.json");
    let (code, report) = verify(&["text_artifact"], &["--gate", "conformance", "--record", stored.to_str().unwrap()]);
    let (again, judged) = json(&["judge", stored.to_str().unwrap()]);
    assert_eq!((again, &judged), (code, &report), "same run, same report");
    let text = fs::read_to_string(&stored).unwrap();
    assert!(text.contains("⟨credential:") && !text.contains("Bearer ey"), "credentials are not stored");
}

#[test]
fn lines_of_json_end_with_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let env = environment(folder.path(), "local");
    let bundle = bundle();
    let _agent = Running::start(&["sample", &bundle, "--env", env.to_str().unwrap()]);
    let ended = run(&["verify", &bundle, "--env", env.to_str().unwrap(), "--gate", "static", "--format", "jsonl"]);
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.first().unwrap()["event"], "planned");
    assert_eq!(lines.last().unwrap()["event"], "finished");
    assert_eq!((ended.code, &lines.last().unwrap()["report"]["verdict"]), (0, &json!("PASS")));
}

#[test]
fn an_agent_that_is_not_there_is_inconclusive_and_never_passes() {
    let folder = tempfile::tempdir().unwrap();
    let env = environment(folder.path(), "local");
    // an authority that some other agent once had
    let other = environment(folder.path(), "other");
    drop(Running::start(&["sample", &bundle(), "--env", other.to_str().unwrap()]));
    let (code, report) = json(&["verify", &bundle(), "--env", env.to_str().unwrap(), "--gate", "conformance"]);
    assert_eq!((code, &report["verdict"]), (4, &json!("INCONCLUSIVE")), "it could not be reached");
}

#[test]
fn a_running_agents_card_is_kept_as_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let env = environment(folder.path(), "local");
    let agent = Running::start(&["sample", &bundle(), "--env", env.to_str().unwrap()]);
    let address = agent.said["url"].as_str().unwrap().trim_start_matches("https://");
    let roots = folder.path().join("planning-agent.ca.pem");
    let out = folder.path().join("agent-card.snapshot.json");
    let url = "https://planning.example.test/.well-known/agent-card.json";
    let route = format!("planning.example.test:443={address}");
    let reach = ["--connect-to", &route, "--trust-roots", roots.to_str().unwrap()];
    let snapshot = json(&[&["card", "snapshot", url, "--out", out.to_str().unwrap()], &reach[..]].concat());
    assert_eq!((snapshot.0, &snapshot.1["protocol_versions"]), (0, &json!(["1.0"])), "{}", snapshot.1);
    let shipped = fs::read(format!("{}/agent-card.json", bundle())).unwrap();
    assert_eq!(fs::read(folder.path().join("agent-card.json")).unwrap(), shipped, "byte for byte");
    let digest = json(&["card", "digest", &format!("{}/agent-card.json", bundle())]).1;
    assert_eq!(
        (&snapshot.1["card_digest"], &snapshot.1["raw_digest"]),
        (&digest["card_digest"], &digest["raw_digest"])
    );
    assert_eq!(json(&[&["card", "lint", url], &reach[..]].concat()).0, 0);
    // without its authority nobody believes it
    assert_eq!(json(&["card", "lint", url, "--connect-to", &route]).0, 4);
}
