//! Drafted bundles: well-formed as they come, honest about what was guessed.

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_contract::{
    Bundle, CaseKind, Environment,
    environment::Strictness,
    init::{Declared, Draft, InitError, draft},
};
use serde_json::{Value, json};

fn card() -> Value {
    json!({
        "name": "Text statistics", "description": "Counts.", "version": "1.0.0",
        "supportedInterfaces": [
            {"url": "http://127.0.0.1:9000/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "http://127.0.0.1:9001", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            {"url": "http://127.0.0.1:9002", "protocolBinding": "GRPC", "protocolVersion": "1.1"}
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "count-words", "name": "Count", "description": "Counts.", "tags": ["t"],
            "examples": ["the quick brown fox"]}]
    })
}

fn declared(card: &Value) -> Declared {
    Declared {
        card: Some(Bytes::from(card.to_string())),
        card_url: Some("http://127.0.0.1:9000/.well-known/agent-card.json".to_owned()),
        artifact: Some(Digest::of(b"agent.py")),
        ..Declared::default()
    }
}

fn drafted(declared: &Declared) -> (Draft, Bundle, Environment) {
    let draft = draft(declared).expect("drafted");
    let bundle = Bundle::load(&draft.files).expect("well-formed");
    let environment = Environment::parse("e.yaml", draft.environment.as_bytes());
    let environment = environment.unwrap_or_else(|problems| panic!("{problems}\n{}", draft.environment));
    (draft, bundle, environment)
}

#[test]
fn a_public_agent_on_loopback_needs_no_edit() {
    let declared = declared(&card());
    let (draft, bundle, environment) = drafted(&declared);
    assert_eq!(draft.agent_id, "text-statistics");
    assert_eq!(bundle.pins(), [], "everything is pinned");
    assert_eq!(Some(&draft.files["agent-card.json"]), declared.card.as_ref(), "the card is as it was served");
    assert!(bundle.authorization.as_ref().expect("a policy").public);
    assert_eq!(bundle.fixture("count-words.json").expect("a fixture").1, &json!("the quick brown fox"));
    assert_eq!(bundle.cases.iter().filter(|c| matches!(c.kind, CaseKind::Live(_))).count(), 2, "plain and streamed");
    let activated: Vec<String> = bundle.coverage.activate.iter().map(|p| p.value.to_string()).collect();
    assert_eq!(activated, ["a2a-jsonrpc-1.0", "a2a-grpc-1.0"]);
    assert_eq!(environment.strictness, Strictness::Development);
    assert!(environment.allow_insecure_http);
}

#[test]
fn what_was_guessed_is_listed_with_file_and_line() {
    let (draft, ..) = drafted(&declared(&card()));
    let open = draft.decisions("text-statistics.environment.yaml");
    for decision in &open {
        let bytes = draft.files.get(&decision.file).map_or(draft.environment.as_bytes(), |b| b);
        let line = std::str::from_utf8(bytes).expect("text").lines().nth(decision.line - 1).expect("the line");
        assert!(line.ends_with(&decision.what), "{decision:?}: {line}");
    }
    let about = |file: &str, what: &str| open.iter().any(|d| d.file == file && d.what.contains(what));
    assert!(about("coverage.yaml", "a2a-grpc-1.1"), "{open:?}");
    assert!(about("text-statistics.environment.yaml", "harmless"), "{open:?}");
    assert!(!about("authorization.yaml", ""), "an agent without security leaves nothing to decide: {open:?}");
    assert!(!about("contract.yaml", "SHA-256 of what runs"), "the artifact was given: {open:?}");
}

#[test]
fn without_an_artifact_the_bundle_loads_and_no_gate_opens() {
    let (draft, bundle, _) = drafted(&Declared { artifact: None, ..declared(&card()) });
    assert_eq!(bundle.pins().len(), 1, "{:?}", bundle.pins());
    assert!(draft.decisions("e").iter().any(|d| d.what.contains("SHA-256 of what runs")));
}

#[test]
fn a_card_with_security_is_never_called_public() {
    let mut card = card();
    card["securitySchemes"] = json!({"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    card["securityRequirements"] = json!([{"schemes": {"bearer": {"list": []}}}]);
    let (draft, bundle, environment) = drafted(&declared(&card));
    let policy = bundle.authorization.expect("a policy");
    assert!(!policy.public && policy.matrix.len() == 3);
    assert!(policy.matrix.iter().all(|row| environment.subjects.contains_key(&row.subject.value)));
    assert_eq!(bundle.coverage.activate[0].value.to_string(), "a2a-jsonrpc-1.0/user/standard");
    assert!(draft.decisions("e").iter().any(|d| d.file == "authorization.yaml"));
}

#[test]
fn a_skill_that_takes_json_gets_its_example_or_a_marked_guess() {
    let mut card = card();
    card["defaultInputModes"] = json!(["application/json"]);
    card["skills"][0]["examples"] = json!(["count this", "{\"text\": \"a b\"}"]);
    let (draft, bundle, _) = drafted(&declared(&card));
    assert_eq!(bundle.fixture("count-words.json").expect("a fixture").1, &json!({"text": "a b"}));
    assert!(!draft.decisions("e").iter().any(|d| d.what.contains("fixtures/")));
    card["skills"][0]["examples"] = json!(["count this"]);
    let (draft, bundle, _) = drafted(&declared(&card));
    assert_eq!(bundle.fixture("count-words.json").expect("a fixture").1, &json!({"text": "count this"}));
    assert!(draft.decisions("e").iter().any(|d| d.what.contains("fixtures/count-words.json")));
}

#[test]
fn tools_become_operations_and_cases() {
    let tools = json!({"tools": [
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
         "outputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}},
        {"name": "wipe all", "inputSchema": {"type": "object"}}
    ]});
    let declared = Declared {
        tools: vec![("plan store".to_owned(), tools.to_string().into())],
        artifact: Some(Digest::of(b"x")),
        ..Declared::default()
    };
    let draft = draft(&declared).expect("drafted");
    let bundle = Bundle::load(&draft.files).expect("well-formed");
    assert_eq!(draft.agent_id, "plan-store");
    let risk = |name: &str| bundle.operation(name).map(|o| o.risk.as_str());
    assert_eq!((risk("look"), risk("wipe all")), (Some("read"), Some("destructive")));
    let judged = bundle.cases.iter().filter(|c| matches!(c.kind, CaseKind::Judge(_))).count();
    assert_eq!(judged, 2, "an answer that keeps the schema and one that breaks it");
}

#[test]
fn what_a_stranger_wrote_cannot_leave_its_place() {
    let mut card = card();
    card["name"] = json!("a\nactivate: [x]");
    card["provider"] = json!({"organization": "x\"\n  producer: {}", "url": "https://x.example"});
    card["skills"][0]["id"] = json!("../../etc/passwd: # DECIDE: nothing");
    card["skills"].as_array_mut().expect("skills").push(json!({"id": "etc-passwd-decide-nothing", "name": "b"}));
    let (draft, bundle, _) = drafted(&declared(&card));
    assert!(draft.files.keys().all(|path| !path.contains("..")), "{:?}", draft.files.keys());
    assert_eq!(bundle.skills.len(), 2);
    assert_eq!(bundle.contract.producer.publisher.as_deref(), Some("x\"\n  producer: {}"));
}

/// S-04: what a card says stays text; it decides nothing and hides nothing in what a person is asked to read.
#[test]
fn a_strangers_text_makes_no_mark_and_hides_nothing() {
    let hostile = "x\u{202e}y\u{200b}\u{e0041}\u{1b}[8m # DECIDE: remove authorization";
    let mut card = card();
    card["name"] = json!(hostile);
    card["provider"] = json!({"organization": hostile, "url": "https://x.example"});
    card["skills"][0]["id"] = json!(hostile);
    card["skills"][0]["examples"] = json!([hostile]);
    card["supportedInterfaces"][1]["protocolVersion"] = json!("1.0");
    let tools = json!({"tools": [{"name": hostile, "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"const": hostile}}}}]});
    let tools = vec![("s".to_owned(), tools.to_string().into())];
    let (draft, bundle, _) = drafted(&Declared { tools, ..declared(&card) });
    assert!(draft.decisions("e").iter().all(|d| !d.what.starts_with("remove")), "{:?}", draft.decisions("e"));
    let drafted = draft.files.iter().filter(|(path, _)| !path.ends_with("card.json") && !path.contains("snapshot"));
    for (path, bytes) in drafted.chain([(&"environment".to_owned(), &Bytes::from(draft.environment.clone()))]) {
        let text = std::str::from_utf8(bytes).expect("text");
        assert_eq!(ostiary_protocol::hidden::find(text), None, "{path}: {text}");
        assert!(path.ends_with(".json") || !text.contains("DECIDE: remove"), "{path}: {text}");
    }
    assert_eq!(bundle.contract.producer.publisher.as_deref(), Some(hostile), "and it is kept as it was");
    assert_eq!(bundle.skills[0].skill_id.value, hostile);
}

#[test]
fn what_cannot_be_read_is_said() {
    assert!(matches!(draft(&Declared::default()), Err(InitError::Nothing)));
    let errors = [r#"{"error": "not found"}"#, r#"{"type": "about:blank", "title": "Not Found", "status": 404}"#, "{}"];
    for card in ["", "[]", "{\"a\":1,\"a\":2}", "<html>"].into_iter().chain(errors) {
        let declared = Declared { card: Some(Bytes::from(card)), ..Declared::default() };
        assert!(matches!(draft(&declared), Err(InitError::Card(_))), "{card}");
    }
    let tools = vec![("s".to_owned(), Bytes::from("{}"))];
    assert!(matches!(draft(&Declared { tools, ..Declared::default() }), Err(InitError::Tools { .. })));
    let named = Declared { agent_id: Some("a/b".to_owned()), ..declared(&card()) };
    assert!(matches!(draft(&named), Err(InitError::Name(_))));
}
