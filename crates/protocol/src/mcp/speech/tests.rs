use serde_json::{Map, Value, json};

use super::*;

fn speech(revision: Revision, wire: Wire) -> Speech {
    Speech::new(revision, wire, ClientProfile::harness("1"))
}

fn body(out: &Outbound) -> Value {
    serde_json::from_slice(&out.body).expect("a request of ours is JSON")
}

fn names(out: &Outbound) -> Vec<&str> {
    out.headers.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_stateless_request_says_everything_itself() {
    let schema = json!({"properties": {"region": {"x-mcp-header": "Region"}}});
    let speech = speech(Revision::V2026_07_28, Wire::Http);
    let out = speech.call(1, "add", &json!({"region": "eu"}), Some(&schema));
    let expect = ["Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region"];
    assert_eq!(names(&out), expect);
    let meta = &body(&out)["params"]["_meta"];
    assert_eq!(meta[META_VERSION], "2026-07-28");
    assert_eq!(meta[META_CAPABILITIES], json!({}));
    assert_eq!(meta[META_CLIENT]["name"], "ostiary");
    assert_eq!(speech.listen(None), None);
    assert_eq!(speech.cancel(1), None, "closing the stream is the sign");
}

#[test]
fn an_older_request_needs_its_session() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let mut speech = speech(revision, Wire::Http);
        assert_eq!(names(&speech.initialize(0)), ["Content-Type", "Accept"]);
        assert_eq!(speech.end_session(), None, "there is no session yet");
        speech.session = Some("s".to_owned());
        let out = speech.list_tools(1, None);
        assert_eq!(names(&out), ["Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Session-Id"]);
        assert_eq!(body(&out)["params"], json!({}));
        let listen = speech.listen(Some("7")).expect("a stream of its own");
        assert_eq!(names(&listen), ["MCP-Protocol-Version", "Mcp-Session-Id", "Accept", "Last-Event-ID"]);
        assert_eq!(speech.end_session().expect("a session").body.len(), 0);
    }
}

#[test]
fn a_line_is_one_line_without_header_fields() {
    for revision in Revision::ALL {
        let speech = speech(revision, Wire::Stdio);
        let out = speech.call("a\nb", "t", &json!({"x": "two\nlines"}), None);
        assert_eq!(out.body.iter().filter(|b| **b == b'\n').count(), 1);
        assert_eq!((out.headers.len(), &out.route), (0, &Route::Stdio));
        assert_eq!(speech.listen(None), None);
        assert!(speech.cancel(1).is_some());
    }
}

#[test]
fn what_the_caller_gives_is_left_alone() {
    let speech = speech(Revision::V2026_07_28, Wire::Http);
    let params: Map<String, Value> = [("_meta".to_owned(), Value::Null)].into_iter().collect();
    assert_eq!(body(&speech.request(1, "tools/list", params))["params"]["_meta"], Value::Null);
    let raw = speech.raw("tools/list", "{");
    assert_eq!((&raw.body[..], &raw.intent), (&b"{"[..], &None));
}

#[test]
fn profiles_are_named_by_wire_and_revision() {
    assert_eq!(Wire::Http.protocol(Revision::V2025_11_25), "mcp-http-2025-11-25");
    assert_eq!(Wire::Stdio.protocol(Revision::V2026_07_28), "mcp-stdio-2026-07-28");
}
