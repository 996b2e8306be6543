use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use futures::executor::block_on;
use ostiary_record::{ActorId, MonoNanos, Monotonic, Outcome as Verdict, ReasonCode, TargetId};
use serde_json::json;

use super::*;
use crate::{
    check::Check,
    testing::{Driven, World, caught, is, passes, warnings},
};

mod server;

use server::{Answers, Server};

/// A clock that steps a millisecond a look.
struct Step(AtomicU64);

impl Monotonic for Step {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.0.fetch_add(1_000_000, Ordering::Relaxed))
    }
}

const CONTRACT: &str = "\
contract_bundle:
  contract_id: tools
  contract_version: 1.0.0
  producer: { agent_id: tools }
  declarations: { mcp_tools: [{ server: store, path: tools.snapshot.json }] }
";

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Looks.", "inputSchema": {"type": "object"},
           "annotations": {"readOnlyHint": true, "openWorldHint": false}})
}

fn tools() -> Vec<Value> {
    vec![tool("a"), tool("b"), tool("c")]
}

fn endpoint(carrier: Carrier) -> Endpoint {
    let target = Target { id: TargetId::from("mcp:store"), url: "https://store.example.test/mcp".to_owned(), carrier };
    Endpoint { server: "store".to_owned(), target }
}

fn caller() -> Caller {
    let actor = Actor { id: ActorId::from("anonymous"), credentials: Vec::new() };
    let part = || "default".to_owned();
    Caller { client: ClientProfile::harness("1"), actor, authorization: part(), tenant_class: part() }
}

fn look(server: &Server, carrier: Carrier) -> (Seen, Tape) {
    let tape = Tape::new(Arc::new(Step(AtomicU64::new(0))));
    let silent = |_: &str| {};
    let seen = block_on(Look::new(server, &tape, &silent).at(&endpoint(carrier), &caller()));
    (seen, tape)
}

/// A run whose discovery saw this server, and whose bundle has the honest tools.
fn seen(contract: &str, server: &Server) -> Driven {
    let mut world = World::honest();
    world.files.clear();
    world.put("contract.yaml", contract);
    world.put("tools.snapshot.json", &json!({"tools": tools()}).to_string());
    let mut driven = world.drive();
    let events = &mut driven.run.recordings[0].events;
    for mut event in look(server, Carrier::Http).1.events() {
        if let Kind::Document { .. } = event.kind {
            event.seq = ostiary_record::Seq(events.len() as u64);
            events.push(event);
        }
    }
    driven
}

fn pinned(revision: &str) -> String {
    CONTRACT.replace("  producer", &format!("  protocol: {{ mcp: \"{revision}\" }}\n  producer"))
}

fn check(id: &str) -> Box<dyn Check> {
    crate::mcp::checks().into_iter().find(|c| c.spec().id == id).unwrap()
}

fn outcomes(view: &View) -> [Outcome; 2] {
    view.eras().map(|era| era.outcome)
}

#[test]
fn a_server_of_both_eras_is_read_in_each() {
    for (carrier, protocols) in [
        (Carrier::Http, ["mcp-http-2026-07-28", "mcp-http-2025-11-25"]),
        (Carrier::Stdio, ["mcp-stdio-2026-07-28", "mcp-stdio-2025-11-25"]),
    ] {
        let server = Server::new(tools());
        let (seen, tape) = look(&server, carrier);
        assert_eq!(outcomes(&seen.view), [Outcome::Speaks; 2]);
        let lists: Vec<_> =
            seen.lists.iter().map(|(protocol, list)| (protocol.as_str(), list["tools"].clone())).collect();
        assert_eq!(lists, protocols.map(|protocol| (protocol, json!(tools()))));
        let pages = seen.view.eras().map(|era| era.list.as_ref().map(|list| (list.pages, list.tools, &list.problem)));
        assert_eq!(pages, [Some((2, 3, &None)); 2]);
        let recording = ostiary_record::Recording {
            scenario: "discover".into(),
            axes: ostiary_record::Axes::default(),
            seed: 0,
            events: tape.events(),
        };
        assert_eq!(View::all(&recording).into_iter().map(|(view, _)| view).collect::<Vec<_>>(), [seen.view]);
    }
}

#[test]
fn eras_are_asked_for_before_any_list_and_on_channels_of_their_own() {
    let server = Server::new(tools());
    look(&server, Carrier::Http);
    let said = server.said();
    let first = |channel: usize| said.iter().filter(move |(of, _)| *of == channel).map(|(_, method)| method.as_str());
    assert_eq!(first(0).collect::<Vec<_>>(), ["server/discover", "tools/list", "tools/list"]);
    let old = ["initialize", "notifications/initialized", "tools/list", "tools/list", "DELETE"];
    assert_eq!(first(1).collect::<Vec<_>>(), old);
}

#[test]
fn what_a_server_does_not_speak_is_named() {
    let cases = [
        (Server { stateless: Answers::NoMethod, ..Server::new(tools()) }, [Outcome::Refuses, Outcome::Speaks]),
        (Server { sessions: Answers::NoMethod, ..Server::new(tools()) }, [Outcome::Speaks, Outcome::Refuses]),
        (Server { stateless: Answers::Silence, ..Server::new(tools()) }, [Outcome::Silent, Outcome::Speaks]),
        (
            Server { sessions: Answers::Version("2024-11-05"), ..Server::new(tools()) },
            [Outcome::Speaks, Outcome::Unknown],
        ),
        (Server { denies: true, ..Server::new(tools()) }, [Outcome::Denied; 2]),
    ];
    for (server, expect) in cases {
        assert_eq!(outcomes(&look(&server, Carrier::Http).0.view), expect);
    }
}

#[test]
fn a_server_without_tools_is_not_asked_for_them() {
    let server = Server { declares: json!({}), ..Server::new(Vec::new()) };
    let (seen, _) = look(&server, Carrier::Http);
    assert_eq!((seen.lists.len(), seen.view.sessions.list), (0, None));
    assert!(!server.said().iter().any(|(_, method)| method == "tools/list"));
}

#[test]
fn a_server_of_the_older_era_gets_answers_to_its_own_requests() {
    let server = Server { asks: true, stateless: Answers::NoMethod, ..Server::new(tools()) };
    let (seen, _) = look(&server, Carrier::Stdio);
    assert_eq!(outcomes(&seen.view), [Outcome::Refuses, Outcome::Speaks]);
    let answered = server.answers();
    assert!(answered.iter().any(|a| a["id"] == "s1" && a["result"] == json!({})), "{answered:?}");
    assert!(answered.iter().any(|a| a["id"] == "s2" && a["error"]["code"] == -32601), "{answered:?}");
}

#[test]
fn an_honest_server_passes() {
    for contract in [CONTRACT.to_owned(), pinned("2025-11-25"), pinned("2026-07-28")] {
        let driven = seen(&contract, &Server::new(tools()));
        for id in ["mcp.revision.spoken", "mcp.tools.whole", "mcp.tools.unchanged"] {
            passes(check(id).as_ref(), &driven);
        }
        for check in crate::mcp::checks() {
            let findings = driven.judge(check.as_ref());
            assert!(findings.iter().all(|f| f.verdict.outcome() == Verdict::Pass), "{findings:#?}");
        }
    }
}

#[test]
fn a_server_of_another_revision_is_caught() {
    let check = check("mcp.revision.spoken");
    let old = Server { stateless: Answers::NoMethod, ..Server::new(tools()) };
    caught(check.as_ref(), &seen(&pinned("2026-07-28"), &old), ReasonCode::McpRevisionNotSpoken);
    passes(check.as_ref(), &seen(CONTRACT, &old));
    let ancient =
        Server { sessions: Answers::Version("2024-11-05"), stateless: Answers::NoMethod, ..Server::new(tools()) };
    caught(check.as_ref(), &seen(CONTRACT, &ancient), ReasonCode::McpRevisionNotSpoken);
    let silent = Server { stateless: Answers::Silence, sessions: Answers::Silence, ..Server::new(tools()) };
    is(check.as_ref(), &seen(CONTRACT, &silent), Verdict::Inconclusive);
    is(check.as_ref(), &seen(CONTRACT, &Server { denies: true, ..Server::new(tools()) }), Verdict::Inconclusive);
}

#[test]
fn a_list_that_leads_in_a_circle_is_caught() {
    let check = check("mcp.tools.whole");
    let circle = Server { circle: true, ..Server::new(tools()) };
    caught(check.as_ref(), &seen(CONTRACT, &circle), ReasonCode::ToolListIncomplete);
    let huge = Server::new((0..100_000).map(|n| json!({"name": format!("t{n}")})).collect());
    caught(check.as_ref(), &seen(CONTRACT, &Server { page: 100_000, ..huge }), ReasonCode::ToolListIncomplete);
    let scopes = Server { scopes: true, ..Server::new(tools()) };
    caught(check.as_ref(), &seen(CONTRACT, &scopes), ReasonCode::ToolFieldInvalid);
}

#[test]
fn a_tool_that_came_went_or_changed_is_caught() {
    let check = check("mcp.tools.unchanged");
    let mut changed = tools();
    changed[0]["inputSchema"]["required"] = json!(["x"]);
    let lies = [vec![tool("a"), tool("b")], [tools(), vec![tool("d")]].concat(), changed];
    for lie in lies {
        caught(check.as_ref(), &seen(CONTRACT, &Server::new(lie)), ReasonCode::ToolListChanged);
    }
    let mut text = tools();
    text.reverse();
    text[0]["title"] = json!("A title");
    let driven = seen(CONTRACT, &Server::new(text));
    passes(check.as_ref(), &driven);
    assert_eq!(warnings(check.as_ref(), &driven), [ReasonCode::ToolListChanged]);
    let circle = Server { circle: true, ..Server::new(tools()) };
    is(check.as_ref(), &seen(CONTRACT, &circle), Verdict::Inconclusive);
}

#[test]
fn what_was_not_looked_at_passes_nothing() {
    let mut world = World::honest();
    world.files.clear();
    world.put("contract.yaml", CONTRACT);
    world.put("tools.snapshot.json", &json!({"tools": tools()}).to_string());
    let driven = world.drive();
    for id in ["mcp.revision.spoken", "mcp.tools.whole", "mcp.tools.unchanged"] {
        is(check(id).as_ref(), &driven, Verdict::NotApplicable);
    }
}

#[test]
fn a_live_list_is_linted_by_the_revision_that_was_spoken() {
    let mut bad = tools();
    bad[1]["inputSchema"] = Value::Null;
    let driven = seen(CONTRACT, &Server::new(bad));
    let findings = driven.judge(check("mcp.tools.members").as_ref());
    let failed: Vec<&str> = findings
        .iter()
        .filter(|f| f.verdict.outcome() == Verdict::Fail)
        .filter_map(|f| f.place.file.as_deref())
        .collect();
    let at = |protocol: &str| format!("mcp/store/harness.default.default/{protocol}.tools.json");
    assert_eq!(failed, [at("mcp-http-2026-07-28"), at("mcp-http-2025-11-25")]);
}
