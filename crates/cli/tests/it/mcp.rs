//! `ostiary mcp lint` on files, and `ostiary mcp snapshot` of servers that a shell plays.

use serde_json::{Value, json};

use crate::program::{json, run};

mod hostile;

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

/// `ostiary mcp snapshot` of a server that a shell plays: exit code, and all that was said.
fn snapshot_of(script: &str) -> (i32, String) {
    let ended = run(&["mcp", "snapshot", "--timeout", "2", "--command", "sh", "-c", script]);
    (ended.code, format!("{}{}", ended.stdout, ended.stderr))
}

/// Answers `initialize`, and each further request with what `list` prints; `$id` is the request's id.
fn older_server(list: &str) -> String {
    let open = r#"{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}"#;
    format!(
        r#"while read -r line; do id=${{line#*'"id":'}}; id=${{id%%,*}}
case $line in
*server/discover*) echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}";;
*'"initialize"'*) echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{open}}}";;
*tools/list*) {list};;
esac; done"#
    )
}

fn page(result: &str) -> String {
    let result = result.replace('"', "\\\"");
    format!(r#"echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{result}}}""#)
}

const TOOL: &str = r#"{"name":"a","inputSchema":{"type":"object"}}"#;

#[test]
fn a_snapshot_of_a_noisy_server_is_whole() {
    let list = format!("echo banner; echo noise >&2; {}", page(&format!(r#"{{"tools":[{TOOL}]}}"#)));
    let (code, said) = snapshot_of(&format!("echo 'Server started'; {}", older_server(&list)));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\"name\": \"a\""), "{said}");
}

#[test]
fn a_hostile_server_ends_the_command_with_its_name() {
    let circle = page(&format!(r#"{{"tools":[{TOOL}],"nextCursor":"again"}}"#));
    let cases = [
        (older_server(&circle), "a cursor that an earlier page gave"),
        (older_server(&page("{}")), "page 1 has no list of tools"),
        (older_server("exit 1"), "the process ended"),
        (older_server("head -c 9000000 /dev/zero | tr '\\0' x"), "frame_bytes"),
        (older_server("yes"), "frames"),
        (older_server("sleep 60"), "no answer"),
        (older_server("echo '{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{\"tools\":[]}}'"), "no answer"),
        ("exec cat >/dev/null".to_owned(), "gave no answer"),
        ("exit 7".to_owned(), "the process ended"),
        ("exec cat".to_owned(), "is no MCP server that we know"),
    ];
    for (script, expect) in cases {
        let (code, said) = snapshot_of(&script);
        assert_eq!(code, 4, "{script}: {said}");
        assert!(said.contains(expect), "{script}: {said}");
        assert!(said.contains("to do:"), "{script}: {said}");
    }
}

#[test]
fn a_snapshot_needs_a_server() {
    assert_eq!(run(&["mcp", "snapshot"]).code, 2);
    let ended = run(&["mcp", "snapshot", "--command", "no-such-program"]);
    assert_eq!(ended.code, 4);
    assert!(ended.stderr.contains("`no-such-program` cannot be started"), "{}", ended.stderr);
    let local = run(&["mcp", "snapshot", "--url", "http://127.0.0.1:1/mcp"]);
    assert_eq!(local.code, 4);
    assert!(local.stderr.contains("--allow-private"), "{}", local.stderr);
    assert_eq!(run(&["mcp", "snapshot", "--url", "http://x/", "--token-env", "OSTIARY_NO_SUCH"]).code, 2);
}
