//! `ostiary mcp lint` on files.

use serde_json::{Value, json};

use crate::program::{json, run};

fn corpus(path: &str) -> String {
    format!("{}/../../tests/corpus/mcp/{path}", env!("CARGO_MANIFEST_DIR"))
}

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().filter_map(|f| f["reason_code"].as_str()).collect()
}

#[test]
fn a_published_server_passes_and_shows_what_its_hints_amount_to() {
    let (code, report) = json(&["mcp", "lint", &corpus("honest/published-server-filesystem.json")]);
    assert_eq!((code, &report["verdict"], &report["form"]), (0, &json!("PASS"), &json!("tools-list-result")));
    assert_eq!(report["protocol"], "2025-11-25");
    let tools = report["tools"].as_array().unwrap();
    let read = tools.iter().find(|t| t["name"] == "read_file").unwrap();
    assert_eq!(read["hints"]["readOnlyHint"], json!({"declared": true, "effective": true}));
    assert_eq!(read["hints"]["destructiveHint"]["effective"], Value::Null, "what only reads destroys nothing");
    assert!(report["annotations"].as_str().unwrap().contains("never grant permission"), "N-01");
    assert_eq!(report["layers"]["protocol"], Value::Null, "not asked for");
}

#[test]
fn each_liar_fails_with_its_code_and_place() {
    let table = [
        ("truncated", "TOOL_LIST_MALFORMED", ""),
        ("openai-functions", "TOOL_LIST_NOT_RECOGNIZED", ""),
        ("first-page", "TOOL_LIST_INCOMPLETE", "/nextCursor"),
        ("same-name", "TOOL_NAME_DUPLICATE", "/tools/2/name"),
        ("dangling", "TOOL_REFERENCE_DANGLING", "/tools/0/inputSchema/properties/x"),
        ("external", "TOOL_REFERENCE_EXTERNAL", "/tools/0/inputSchema/properties/x"),
        ("hints-contradict", "TOOL_HINT_CONTRADICTORY", "/tools/0/annotations/destructiveHint"),
        ("hidden-text", "TOOL_TEXT_HIDDEN", "/tools/0/name"),
    ];
    for (file, code, pointer) in table {
        let (exit, report) = json(&["mcp", "lint", &corpus(&format!("liar/{file}.json"))]);
        assert_eq!((exit, &report["verdict"]), (1, &json!("FAIL")), "{file}");
        let finding = report["findings"].as_array().unwrap().iter().find(|f| f["reason_code"] == code);
        let finding = finding.unwrap_or_else(|| panic!("{file}: {:?}", codes(&report)));
        assert_eq!((&finding["where"]["pointer"], &finding["gate"]), (&json!(pointer), &json!("static")), "{file}");
    }
}

#[test]
fn the_revision_may_be_named() {
    let file = corpus("liar/output-root.2025-11-25.json");
    let (_, old) = json(&["mcp", "lint", &file, "--protocol", "2025-11-25"]);
    let (_, new) = json(&["mcp", "lint", &file, "--protocol", "2026-07-28"]);
    let verdict = |report: &Value| report["tools"][0]["verdict"].clone();
    assert_eq!((verdict(&old), verdict(&new)), (json!("FAIL"), json!("PASS")));
    assert_eq!(run(&["mcp", "lint", &file, "--protocol", "2024-11-05"]).code, 2);
}

#[test]
fn several_files_give_the_worst_of_their_verdicts() {
    let (good, bad) = (corpus("honest/envelope.json"), corpus("liar/catalogue.json"));
    let (code, reports) = json(&["mcp", "lint", &good, &bad]);
    assert_eq!((code, reports.as_array().map(Vec::len)), (1, Some(2)));
    assert_eq!(json(&["mcp", "lint", &good, &corpus("liar/no-tools.json")]).0, 3, "nothing was judged");
    assert_eq!(run(&["mcp", "lint", "no-such-file.json"]).code, 4);
}

#[test]
fn people_see_each_tool_and_no_hidden_character_reaches_their_terminal() {
    let ended = run(&["mcp", "lint", &corpus("liar/hidden-text.json")]);
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("zero\\u{200b}width"), "{}", ended.stdout);
    let hidden = |c: char| matches!(c, '\u{200B}'..='\u{200D}' | '\u{202E}' | '\u{2060}' | '\u{E0000}'..='\u{E01EF}');
    assert!(!ended.stdout.chars().any(|c| hidden(c) || c == '\u{1B}'), "{}", ended.stdout);
    assert!(ended.stdout.contains("never grant permission"));
}
