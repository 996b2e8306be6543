//! Agents that mean harm, verified by the real binary: whatever one operation says, the run ends in bounded time and
//! memory, names the bound or the fault in the right layer, and what other operations say is judged as ever.
//! Before an honest SDK agent stands a double for the faults.

use std::{
    fs,
    io::{self, Write as _},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use ostiary_tests::{
    hostile::{
        Front, Measured, Request, Says, drip, for_ever,
        grpc::{self, Habit},
        measured,
    },
    world::World,
};
use serde_json::{Value, json};

/// What `verify` may take of memory, whatever the agent does: 150 MB. A debug build begins with some 30 MiB more.
const MOST_MIB: u64 = if cfg!(debug_assertions) { 173 } else { 143 };
/// Longest run of a few checks: a debug build on two busy cores, answers that are waited for two seconds each.
const MOST_TIME: Duration = Duration::from_secs(240);
/// Bounds of a run that meets silence: the usual ones are for agents that think.
const HASTY: &str = "{ calls: 2000, rate_per_s: 0, answer_s: 2, time_s: 100 }";

const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// One habit: its name, what it says, and the verdict and the code of the check that meets it.
type Row = (&'static str, Says, (&'static str, &'static str));

/// `verify` of some checks with the agent's address leading to `front`.
fn verify(world: &World, front: &Front, grpc: Option<std::net::SocketAddr>, only: &[&str]) -> Result<Measured> {
    let environment = world.environment_at(front.address(), grpc)?;
    let text = fs::read_to_string(&environment)?;
    fs::write(&environment, format!("{text}  budget: {HASTY}\n"))?;
    let path = |path: &std::path::Path| path.to_str().map(str::to_owned).context("a path is not UTF-8");
    let (bundle, environment) = (path(world.bundle())?, path(&environment)?);
    let mut arguments = vec!["verify", &bundle, "--env", &environment];
    only.iter().for_each(|id| arguments.extend(["--only", id]));
    measured(&arguments, MOST_TIME)
}

/// What a check says: verdict and code of each of its findings that count, each once.
fn says<'r>(report: &'r Value, check: &str) -> Vec<(&'r str, &'r str, &'r str)> {
    let findings = report["findings"].as_array().into_iter().flatten();
    let own = findings.filter(|f| f["check"] == check && f["severity"] == "error");
    let text = |f: &'r Value, key: &str| f[key].as_str().unwrap_or_default();
    let mut all: Vec<_> = own.map(|f| (text(f, "layer"), text(f, "verdict"), text(f, "reason_code"))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Each habit of one operation, met by one check.
fn check(operation: &'static str, (check, layer): (&str, &str), rows: &[Row]) -> Result<()> {
    let world = World::open()?;
    let mut wrong = Vec::new();
    for (habit, habit_says, (verdict, code)) in rows {
        let front = Front::before(world.address(), operation, *habit_says)?;
        let Measured { report, seconds, peak_mib, .. } = verify(&world, &front, None, &[check])?;
        eprintln!("{habit}: {seconds:.1} s, {peak_mib} MiB");
        let found = says(&report, check);
        if found != [(layer, *verdict, *code)] {
            wrong.push(format!("{habit}: wanted {verdict} {code}, found {found:?}: {}", report["statement"]));
        }
        ensure!(peak_mib < MOST_MIB, "{habit}: {peak_mib} MiB");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// An envelope around a result given as text.
fn result(request: &Request, peer: &mut TcpStream, result: &str) -> io::Result<()> {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request.id());
    write!(peer, "{JSON}content-length: {}\r\n\r\n{body}", body.len())
}

/// A task with an id of so many bytes.
fn task_of(request: &Request, peer: &mut TcpStream, id_bytes: usize) -> io::Result<()> {
    let status = json!({"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00Z"});
    // written by hand: a debug build takes seconds to escape so much
    let task = format!(r#"{{"task":{{"id":"{}","contextId":"c","status":{status}}}}}"#, "x".repeat(id_bytes));
    result(request, peer, &task)
}

/// One event of a stream.
fn event(request: &Request, result: &Value) -> String {
    format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": request.id(), "result": result}))
}

fn working(request: &Request) -> String {
    event(
        request,
        &json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}),
    )
}

fn done(request: &Request) -> String {
    event(request, &json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}))
}

#[test]
fn answers_that_mean_harm() -> Result<()> {
    let rows: [Row; 18] = [
        (
            "nested 1,000 deep",
            |r, p| result(r, p, &("[".repeat(1_000) + &"]".repeat(1_000))),
            ("FAIL", "RESPONSE_MALFORMED"),
        ),
        (
            "nested 1,000,000 deep",
            |r, p| result(r, p, &("[".repeat(1_000_000) + &"]".repeat(1_000_000))),
            ("INCONCLUSIVE", "BUDGET_EXCEEDED"),
        ),
        ("a number of 400 digits", |r, p| result(r, p, &"9".repeat(400)), ("FAIL", "RESPONSE_MALFORMED")),
        ("a key twice", |r, p| result(r, p, r#"{"task":{"id":"a","id":"b"}}"#), ("FAIL", "RESPONSE_MALFORMED")),
        ("an id of 3 MB", |r, p| task_of(r, p, 3 << 20), ("PASS", "")),
        ("an id of 10 MB", |r, p| task_of(r, p, 10 << 20), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        (
            "a million values",
            |r, p| result(r, p, &format!("[{}0]", "0,".repeat(1_000_000))),
            ("INCONCLUSIVE", "BUDGET_EXCEEDED"),
        ),
        (
            "bytes that are no UTF-8",
            |_, p| p.write_all(&[JSON.as_bytes(), b"content-length: 4\r\n\r\n{\"\xff\""].concat()),
            ("FAIL", "RESPONSE_MALFORMED"),
        ),
        (
            "compressed, unasked",
            |_, p| p.write_all(&[JSON.as_bytes(), b"content-encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0"].concat()),
            ("FAIL", "RESPONSE_MALFORMED"),
        ),
        ("an endless body", |_, p| for_ever(p, &format!("{JSON}\r\n"), b"["), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        ("endless fields", |_, p| for_ever(p, JSON, b"x: y\r\n"), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        (
            "endless interim answers",
            |_, p| for_ever(p, "", b"HTTP/1.1 100 Continue\r\n\r\n"),
            ("INCONCLUSIVE", "TARGET_UNREACHABLE"),
        ),
        (
            "a length that is too long",
            |_, p| write!(p, "{JSON}content-length: 99\r\n\r\n{{}}"),
            ("FAIL", "RESPONSE_MALFORMED"),
        ),
        (
            "a negative length",
            |_, p| write!(p, "{JSON}content-length: -2\r\n\r\n{{}}"),
            ("INCONCLUSIVE", "TARGET_UNREACHABLE"),
        ),
        (
            "chunks that are none",
            |_, p| write!(p, "{JSON}transfer-encoding: chunked\r\n\r\nxyz\r\n{{}}"),
            ("INCONCLUSIVE", "TARGET_UNREACHABLE"),
        ),
        (
            "a head, byte by byte",
            |_, p| drip(p, "HTTP/1.1 200 OK\r\nx: ", b"y"),
            ("INCONCLUSIVE", "TARGET_UNRESPONSIVE"),
        ),
        ("a body, byte by byte", |_, p| drip(p, &format!("{JSON}\r\n"), b" "), ("INCONCLUSIVE", "TARGET_UNRESPONSIVE")),
        ("nothing at all", |_, _| Ok(()), ("INCONCLUSIVE", "TARGET_UNREACHABLE")),
    ];
    check("SendMessage", ("a2a.message.response", "protocol"), &rows)
}

#[test]
fn streams_that_mean_harm() -> Result<()> {
    let rows: [Row; 12] = [
        ("for ever", |r, p| for_ever(p, STREAM, working(r).as_bytes()), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        ("tiny events", |_, p| for_ever(p, STREAM, b"data:\n\n"), ("FAIL", "RESPONSE_MALFORMED")),
        ("one event of a gibibyte", |_, p| for_ever(p, STREAM, b"data: x"), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        ("blank lines", |_, p| for_ever(p, STREAM, b"\n"), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        ("NULs", |_, p| for_ever(p, STREAM, b"\0"), ("INCONCLUSIVE", "BUDGET_EXCEEDED")),
        (
            "bytes that are no UTF-8",
            |_, p| p.write_all(&[STREAM.as_bytes(), b"data: \xff\n\n"].concat()),
            ("FAIL", "RESPONSE_MALFORMED"),
        ),
        ("no blank line", |r, p| write!(p, "{STREAM}{}", done(r).trim_end()), ("FAIL", "STREAM_TRUNCATED")),
        ("no colon", |_, p| write!(p, "{STREAM}data\n\nevent\n\n"), ("FAIL", "RESPONSE_MALFORMED")),
        (
            "a byte-order mark, CR alone ends lines",
            |r, p| write!(p, "{STREAM}\u{feff}{}", done(r).replace('\n', "\r")),
            ("PASS", ""),
        ),
        (
            "an event, byte by byte",
            |_, p| drip(p, &format!("{STREAM}data: "), b"x"),
            ("INCONCLUSIVE", "TARGET_UNRESPONSIVE"),
        ),
        ("comments for ever", |_, p| drip(p, STREAM, b":\n\n"), ("INCONCLUSIVE", "TARGET_UNRESPONSIVE")),
        (
            "chunks that break in the middle",
            |r, p| {
                let (head, first) = (STREAM.trim_end(), working(r));
                write!(p, "{head}\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\nxyz\r\n", first.len())
            },
            ("FAIL", "STREAM_TRUNCATED"),
        ),
    ];
    check("SendStreamingMessage", ("a2a.stream.works", "protocol"), &rows)
}

#[test]
fn cards_that_mean_harm() -> Result<()> {
    let card = "/.well-known/agent-card.json";
    let rows: [Row; 7] = [
        ("a gibibyte", |_, p| for_ever(p, &format!("{JSON}\r\n"), b" "), ("INCONCLUSIVE", "CARD_UNAVAILABLE")),
        ("nested 100,000 deep", |_, p| write!(p, "{JSON}\r\n{}", "[".repeat(100_000)), ("FAIL", "CARD_MALFORMED")),
        ("a key twice", |_, p| write!(p, "{JSON}\r\n{{\"name\":\"a\",\"name\":\"b\"}}"), ("FAIL", "CARD_MALFORMED")),
        ("no UTF-8", |_, p| p.write_all(&[JSON.as_bytes(), b"\r\n{\"\xff\"}"].concat()), ("FAIL", "CARD_MALFORMED")),
        (
            "redirects in a circle",
            |_, p| {
                write!(p, "HTTP/1.1 302 Found\r\nlocation: /.well-known/agent-card.json\r\ncontent-length: 0\r\n\r\n")
            },
            ("INCONCLUSIVE", "CARD_UNAVAILABLE"),
        ),
        ("cut off", |_, p| write!(p, "{JSON}content-length: 99\r\n\r\n{{}}"), ("INCONCLUSIVE", "CARD_UNAVAILABLE")),
        ("no HTTP", |_, p| write!(p, "SSH-2.0-OpenSSH_9.6\r\n"), ("INCONCLUSIVE", "CARD_UNAVAILABLE")),
    ];
    check(card, ("a2a.card.required", "declaration"), &rows)
}

/// Two bindings are honest and must pass; over the third something is wrong with every answer.
#[test]
fn grpc_that_means_harm() -> Result<()> {
    let world = World::bindings(&[])?;
    let mut wrong = Vec::new();
    for (habit, verdict, code) in [
        (Habit::OnlyTrailers, "FAIL", "RESPONSE_MALFORMED"),
        (Habit::NoTrailers, "FAIL", "RESPONSE_MALFORMED"),
        (Habit::EndsInside, "FAIL", "RESPONSE_MALFORMED"),
        (Habit::ResetsInside, "INCONCLUSIVE", "TARGET_UNREACHABLE"),
        (Habit::GoesAway, "INCONCLUSIVE", "TARGET_UNREACHABLE"),
        (Habit::FourGibibytes, "INCONCLUSIVE", "BUDGET_EXCEEDED"),
        (Habit::Compressed, "FAIL", "RESPONSE_MALFORMED"),
        (Habit::Garbage, "FAIL", "RESPONSE_MALFORMED"),
        (Habit::Deep, "FAIL", "RESPONSE_MALFORMED"),
        // for ever, and more than there is room for, which breaks HTTP/2
        (Habit::ForEver, "INCONCLUSIVE", "TARGET_UNREACHABLE"),
        (Habit::ManyValues, "INCONCLUSIVE", "BUDGET_EXCEEDED"),
        (Habit::EndlessFields, "INCONCLUSIVE", "TARGET_UNREACHABLE"),
        (Habit::Pings, "INCONCLUSIVE", "TARGET_UNRESPONSIVE"),
        (Habit::Silent, "INCONCLUSIVE", "TARGET_UNRESPONSIVE"),
    ] {
        let check = "a2a.message.response";
        let front = Front::before(world.address(), "/nothing", |_, _| Ok(()))?;
        let Measured { mut report, seconds, peak_mib, .. } =
            verify(&world, &front, Some(grpc::serve(habit)?), &[check])?;
        eprintln!("{habit:?}: {seconds:.1} s, {peak_mib} MiB");
        ensure!(peak_mib < MOST_MIB, "{habit:?}: {peak_mib} MiB");
        let findings = report["findings"].take();
        let (over_grpc, others): (Vec<Value>, Vec<Value>) = findings
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .partition(|f| f["profile"].as_str().is_some_and(|profile| profile.contains("grpc")));
        let (over_grpc, others) = (json!({"findings": over_grpc}), json!({"findings": others}));
        let (found, rest) = (says(&over_grpc, check), says(&others, check));
        if found != [("protocol", verdict, code)] || rest != [("protocol", "PASS", "")] {
            wrong.push(format!("{habit:?}: wanted {verdict} {code}, found {found:?}, elsewhere {rest:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Everything at once: whatever is asked is answered with a flood, or a byte at a time. The whole run is bounded.
#[test]
fn a_whole_run_against_nothing_but_harm_is_bounded() -> Result<()> {
    let world = World::open()?;
    let habits: [(&str, Says); 3] = [
        ("large answers, well-formed", |r, p| task_of(r, p, 3 << 20)),
        ("events for ever", |r, p| for_ever(p, STREAM, working(r).as_bytes())),
        ("a byte at a time", |_, p| drip(p, &format!("{JSON}\r\n"), b" ")),
    ];
    for (habit, habit_says) in habits {
        let front = Front::before(world.address(), "", habit_says)?;
        let Measured { code, report, seconds, peak_mib } = verify(&world, &front, None, &[])?;
        eprintln!("{habit}: {seconds:.1} s, {peak_mib} MiB, {}", report["verdict"]);
        assert_ne!(report["verdict"], "PASS", "{habit}");
        assert_ne!(code, 0, "{habit}");
        ensure!(peak_mib < MOST_MIB, "{habit}: {peak_mib} MiB");
        assert_eq!(report["layers"]["declaration"], "PASS", "{habit}: {:#}", report["layers"]);
    }
    Ok(())
}
