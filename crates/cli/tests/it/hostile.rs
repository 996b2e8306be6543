//! What a stranger wrote reaches a person, and obeys nobody: the built binary, its real outputs.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::program::{Ended, bundle, environment, json, run};

/// Text that retitles a window, rings, forges a line and a CI command, and turns the rest around.
const EVIL: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\n::error::forged\r\u{9b}31m\u{202e}\u{200b}";

/// Asserts that nothing of it is obeyed and all of it is shown.
fn harmless(ended: &Ended) {
    for text in [&ended.stdout, &ended.stderr] {
        let obeyed = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!text.contains(obeyed), "{text:?}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text:?}");
    }
}

#[test]
fn a_card_with_terminal_codes_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.json");
    let mut card: Value = serde_json::from_slice(&fs::read(format!("{}/agent-card.json", bundle())).unwrap()).unwrap();
    card["skills"][0]["id"] = json!(EVIL);
    card["skills"] = json!([card["skills"][0], card["skills"][0]]);
    card["supportedInterfaces"][0]["url"] = json!(EVIL);
    fs::write(&path, card.to_string()).unwrap();
    for format in ["human", "json", "jsonl", "junit", "sarif", "markdown"] {
        let ended = run(&["card", "lint", path.to_str().unwrap(), "--format", format]);
        assert_eq!(ended.code, 1, "{ended:?}");
        harmless(&ended);
    }
    let ended = run(&["card", "lint", path.to_str().unwrap()]);
    assert!(ended.stdout.contains("\\u{1b}]0;owned\\u{7}"), "what is there is told: {}", ended.stdout);
}

#[test]
fn a_bundle_with_terminal_codes_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let key = serde_json::to_string(EVIL).unwrap();
    fs::write(folder.path().join("contract.yaml"), format!("contract_bundle:\n  {key}: 1\n")).unwrap();
    let path = folder.path().to_str().unwrap();
    let checked = run(&["bundle", "check", path]);
    assert!(checked.code == 1 && checked.stdout.contains("owned"), "{checked:?}");
    harmless(&checked);
    let refused = run(&["bundle", "manifest", path]);
    assert!(refused.code == 4 && refused.stderr.contains("owned"), "{refused:?}");
    harmless(&refused);
}

#[test]
fn pipes_devices_and_directories_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.to_str().unwrap(), "/dev/zero", folder.path().to_str().unwrap()] {
        let (code, said) = json(&["card", "lint", path]);
        assert_eq!(code, 4, "{path}: {said}");
        assert!(said["error"]["message"].as_str().unwrap().contains("not a regular file"), "{path}: {said}");
    }
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        let (code, said) = json(&["bundle", "check", path]);
        assert_eq!((code, &said["problems"][0]["code"]), (1, &json!("NOT_REGULAR_FILE")), "{path}: {said}");
        assert_eq!(json(&["verify", &bundle(), "--env", path]).0, 4, "{path}");
    }
}

#[test]
fn a_selection_of_nothing_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let env = environment(folder.path(), "local");
    let (code, said) = json(&["verify", &bundle(), "--env", env.to_str().unwrap(), "--only", "nonexist"]);
    assert_eq!(code, 2, "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("`nonexist`"), "{said}");
    let check = ostiary_verify::Harness::standard().checks().next().unwrap().spec().id;
    let slip = format!("{check}s");
    let (code, said) = json(&["verify", &bundle(), "--env", env.to_str().unwrap(), "--only", &slip]);
    assert_eq!((code, said["error"]["hint"].as_str()), (2, Some(&*format!("did you mean `{check}`?"))), "{said}");
}

#[test]
fn one_problem_is_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(&["bundle", "check", folder.path().to_str().unwrap()]);
    assert!(ended.stdout.contains("\n1 problem\n") && !ended.stdout.contains("1 problems"), "{}", ended.stdout);
}

#[test]
fn a_configuration_that_would_not_start_ends_with_4() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ostiary.yaml");
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for token in ["file: /nowhere/token".to_owned(), format!("digest: '{empty}'")] {
        fs::write(&path, format!("tokens:\n  - {{ name: ci, roles: [router], {token} }}\n")).unwrap();
        let (code, said) = json(&["config", "check", "--config", path.to_str().unwrap()]);
        assert_eq!((code, &said["ok"]), (4, &json!(false)), "{token}: {said}");
    }
}

#[test]
fn a_log_in_a_file_has_no_colours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ostiary.yaml");
    let listen = "{ listen: '127.0.0.1:0' }";
    let data = folder.path().join("data");
    fs::write(&path, format!("data_dir: {}\nhttp: {listen}\ngrpc: {listen}\n", data.display())).unwrap();
    let log = folder.path().join("log");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ostiary"))
        .args(["serve", "--log", "info", "--config", path.to_str().unwrap()])
        .stdout(std::process::Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    // waits on the condition, with a deadline
    for _ in 0..600 {
        if fs::read_to_string(&log).unwrap().contains("ready") {
            break;
        }
        std::sync::mpsc::channel::<()>().1.recv_timeout(Duration::from_millis(50)).unwrap_err();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("ready") && !text.contains('\u{1b}'), "{text:?}");
}
