//! Servers over HTTP, honest and hostile, that a thread plays byte by byte: each ends bounded, and named.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::program::run;

/// What a server says to a request: an HTTP answer, or nothing at all.
type Play = dyn Fn(&Value) -> Option<String> + Send + Sync;

/// Serves until the test ends; gives the address.
fn serve(play: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let play: Arc<Play> = Arc::new(play);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let play = Arc::clone(&play);
            std::thread::spawn(move || talk(stream, play.as_ref()));
        }
    });
    format!("http://{address}/mcp")
}

fn talk(mut stream: TcpStream, play: &Play) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request = serde_json::from_slice(&body).unwrap_or_default();
    match play(&request) {
        Some(answer) => drop(stream.write_all(answer.as_bytes())),
        // held open until the other side gives up
        None => drop(reader.read(&mut [0])),
    }
}

fn http(status: &str, kind: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    ))
}

fn result(request: &Value, result: &Value) -> Option<String> {
    http("200 OK", "application/json", &json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string())
}

/// A server of 2026-07-28 alone, whose list is played.
fn modern(list: impl Fn(&Value) -> Option<String> + Send + Sync + 'static) -> String {
    serve(move |request| match request["method"].as_str() {
        Some("server/discover") => result(
            request,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private"}),
        ),
        Some("tools/list") => list(request),
        _ => http(
            "404 Not Found",
            "application/json",
            &json!({"jsonrpc": "2.0", "id": request["id"],
            "error": {"code": -32601, "message": "no such method"}})
            .to_string(),
        ),
    })
}

fn page(tools: &Value, cursor: Option<&str>) -> Value {
    let mut page = json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"});
    if let Some(cursor) = cursor {
        page["nextCursor"] = json!(cursor);
    }
    page
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn snapshot(url: &str) -> (i32, String) {
    snapshot_within("60", url)
}

fn snapshot_within(seconds: &str, url: &str) -> (i32, String) {
    let reach = ["--allow-private", "--allow-insecure-http"];
    let ended = run(&[&["mcp", "snapshot", "--timeout", seconds, "--url", url], &reach[..]].concat());
    (ended.code, format!("{}{}", ended.stdout, ended.stderr))
}

#[test]
fn an_honest_server_is_read_page_by_page_as_a_body_or_as_a_stream() {
    let url = modern(|request| match request["params"]["cursor"].as_str() {
        None => result(request, &page(&json!([tool("first")]), Some(""))),
        Some(_) => {
            let last = page(&json!([tool("second")]), None);
            let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": last});
            let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            http(
                "200 OK",
                "text/event-stream",
                &format!(": hello\n\ndata: {note}\n\nevent: message\ndata: {message}\n\n"),
            )
        }
    });
    let (code, said) = snapshot(&url);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\"first\"") && said.contains("\"second\""), "{said}");
    assert!(!said.contains("nextCursor"), "the list is whole: {said}");
}

#[test]
fn a_hostile_list_is_given_up_by_name() {
    let cases: [(&str, Box<Play>); 6] = [
        ("a cursor that an earlier page gave", Box::new(|r| result(r, &page(&json!([tool("a")]), Some("x"))))),
        (
            "more than 10000 tools",
            Box::new(|r| {
                let tools: Vec<Value> = (0..100_000).map(|n| json!({"name": format!("t{n}")})).collect();
                result(r, &page(&json!(tools), None))
            }),
        ),
        ("an answer with the id 99", Box::new(|r| result(&json!({"id": 99, "was": r["id"]}), &page(&json!([]), None)))),
        ("no JSON-RPC answer", Box::new(|_| http("200 OK", "application/json", "{\"jsonrpc\":\"2.0\","))),
        ("no JSON-RPC answer", Box::new(|_| http("502 Bad Gateway", "text/html", "<html>"))),
        ("frame_bytes", Box::new(|_| http("200 OK", "text/event-stream", &format!("data: {}", "x".repeat(5 << 20))))),
    ];
    for (expect, play) in cases {
        let (code, said) = snapshot(&modern(play));
        assert_eq!(code, 4, "{expect}: {said}");
        assert!(said.contains(expect), "{expect}: {said}");
    }
}

#[test]
fn what_is_no_server_for_us_is_told_apart() {
    let cases: [(&str, Box<Play>); 4] = [
        ("is no MCP server that we know", Box::new(|_| http("404 Not Found", "text/plain", ""))),
        ("is no MCP server that we know", Box::new(|_| http("200 OK", "text/html", "<html></html>"))),
        ("lets nobody in: HTTP 401", Box::new(|_| http("401 Unauthorized", "application/json", "{}"))),
        (
            "speaks 2024-11-05 only",
            Box::new(|r| {
                if r["method"] == "initialize" {
                    return result(r, &json!({"protocolVersion": "2024-11-05", "capabilities": {}}));
                }
                http("400 Bad Request", "application/json", "")
            }),
        ),
    ];
    for (expect, play) in cases {
        let (code, said) = snapshot(&serve(play));
        assert_eq!(code, 4, "{expect}: {said}");
        assert!(said.contains(expect), "{expect}: {said}");
    }
}

#[test]
fn a_server_that_never_answers_costs_the_time_it_was_given() {
    let (code, said) = snapshot_within("1", &modern(|_| None));
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("no answer"), "{said}");
}
