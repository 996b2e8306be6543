//! Each fault as a caller sees it on the wire, and what the ledger says of it (X-01, part of G-01: dependency down,
//! partial response; W-01, W-07 stand on it). The honest twin is the same exchange without the fault.

use std::{io::ErrorKind, time::Duration};

use ostiary_lab::{FaultHandle, LyingProxy, Options, Policy, Upstream};
use ostiary_record::{
    Disturbed, Down, Fault, FaultPlan, Kind, Point, When,
    ports::{Faults, Observer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::{
    behind::{BODY, Behind, Saw, ask},
    story::tape,
};

const AFTER_4: Point = Point::AfterBytes(4);
/// Long on the paused clock, where it costs nothing.
const LONG: Duration = Duration::from_secs(600);

async fn under(fault: Fault) -> (Behind, LyingProxy) {
    let behind = Behind::http().await;
    let proxy = behind.proxy().await;
    proxy.faults().apply(Some(FaultPlan::always(fault))).await.unwrap();
    (behind, proxy)
}

fn whole() -> Saw {
    Saw { head: true, body: BODY.to_owned(), end: Ok(()) }
}

fn only_entry(faults: &FaultHandle) -> Disturbed {
    let ledger = faults.ledger();
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    ledger[0].clone()
}

#[expect(clippy::disallowed_methods, reason = "a test measures the runtime's own, paused time")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test]
async fn without_a_fault_everything_passes_and_the_ledger_is_empty() {
    let behind = Behind::http().await;
    let proxy = behind.proxy().await;
    assert_eq!(ask(proxy.addr(), "/").await, whole());
    assert_eq!((behind.served(), proxy.faults().ledger()), (1, vec![]));
}

#[tokio::test]
async fn a_reset_comes_after_its_byte() {
    let fault = Fault::Reset { at: AFTER_4 };
    let (behind, proxy) = under(fault).await;
    let saw = ask(proxy.addr(), "/").await;
    assert_eq!(saw, Saw { head: true, body: "0123".into(), end: Err(ErrorKind::ConnectionReset) });
    let entry = only_entry(&proxy.faults());
    assert_eq!((entry.fault, entry.reached, entry.passed_bytes, behind.served()), (fault, true, 4, 1));
    assert_eq!((entry.exchange, entry.what.as_str()), (1, "GET /"));
}

#[tokio::test]
async fn a_partial_body_ends_in_good_order_and_short() {
    let fault = Fault::Partial { at: AFTER_4 };
    let (_behind, proxy) = under(fault).await;
    assert_eq!(ask(proxy.addr(), "/").await, Saw { head: true, body: "0123".into(), end: Ok(()) });
    assert_eq!(only_entry(&proxy.faults()).fault, fault);
}

#[tokio::test]
async fn an_answer_that_is_no_longer_than_the_break_passes_whole() {
    let (_behind, proxy) = under(Fault::Partial { at: Point::AfterBytes(10) }).await;
    assert_eq!(ask(proxy.addr(), "/").await, whole());
    assert_eq!(proxy.faults().ledger(), []);
}

#[tokio::test]
async fn a_half_close_ends_our_side_alone() {
    let (_behind, proxy) = under(Fault::HalfClose { at: AFTER_4 }).await;
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: agent\r\n\r\n").await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.ends_with(b"\r\n\r\n0123"), "{}", String::from_utf8_lossy(&bytes));
    // A connection that was closed whole would answer the first of these with a reset, and refuse the second.
    for _ in 0..2 {
        stream.write_all(b"still here").await.unwrap();
        assert!(stream.read(&mut [0]).await.is_ok_and(|n| n == 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_says_nothing_and_stays() {
    let (_behind, proxy) = under(Fault::Stall { at: AFTER_4 }).await;
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: agent\r\n\r\n").await.unwrap();
    let mut bytes = Vec::new();
    assert!(timeout(LONG, stream.read_to_end(&mut bytes)).await.is_err(), "it ended");
    assert!(bytes.ends_with(b"\r\n\r\n0123"), "{}", String::from_utf8_lossy(&bytes));
}

#[tokio::test]
async fn what_breaks_before_the_request_keeps_it_from_the_agent() {
    let at = Point::BeforeRequest;
    for (fault, end) in [
        (Fault::Reset { at }, Err(ErrorKind::ConnectionReset)),
        (Fault::Partial { at }, Ok(())),
        (Fault::HalfClose { at }, Ok(())),
    ] {
        let (behind, proxy) = under(fault).await;
        assert_eq!(ask(proxy.addr(), "/").await, Saw { head: false, body: String::new(), end }, "{fault:?}");
        let entry = only_entry(&proxy.faults());
        assert_eq!((behind.served(), entry.reached, entry.fault), (0, false, fault));
    }
}

#[tokio::test(start_paused = true)]
async fn latency_comes_before_the_head_and_is_counted() {
    let (_behind, proxy) = under(Fault::Latency { millis: 5_000 }).await;
    let start = now();
    assert_eq!(ask(proxy.addr(), "/").await, whole());
    let took = start.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_millis(5_100)).contains(&took), "{took:?}");
    assert_eq!(only_entry(&proxy.faults()).waited_millis, 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_narrow_line_takes_its_time() {
    let (_behind, proxy) = under(Fault::Bandwidth { bytes_per_second: 2 }).await;
    let start = now();
    assert_eq!(ask(proxy.addr(), "/").await, whole());
    let took = start.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_millis(5_200)).contains(&took), "{took:?}");
    let entry = only_entry(&proxy.faults());
    assert_eq!((entry.waited_millis, entry.passed_bytes), (5_000, 9), "the last wait comes before the last byte");
}

#[tokio::test(start_paused = true)]
async fn jitter_follows_from_its_seed() {
    async fn waits(seed: u64) -> Vec<u64> {
        let behind = Behind::http().await;
        let proxy = behind.proxy().await;
        let plan = FaultPlan::always(Fault::Jitter { up_to_millis: 1_000 }).seeded(seed);
        proxy.faults().apply(Some(plan)).await.unwrap();
        for _ in 0..8 {
            assert_eq!(ask(proxy.addr(), "/").await, whole());
        }
        proxy.faults().ledger().iter().map(|entry| entry.waited_millis).collect()
    }
    let first = waits(1).await;
    assert_eq!(first, waits(1).await);
    assert_ne!(first, waits(2).await);
    assert!(first.len() == 8 && first.iter().all(|wait| *wait <= 1_000), "{first:?}");
}

#[tokio::test]
async fn only_the_exchanges_meant_are_disturbed() {
    let behind = Behind::http().await;
    let proxy = behind.proxy().await;
    let plan = FaultPlan::when(When::Only(2), Fault::Partial { at: AFTER_4 }).on("/b");
    proxy.faults().apply(Some(plan)).await.unwrap();
    let mut bodies = Vec::new();
    for path in ["/a", "/b", "/a", "/b", "/b"] {
        bodies.push(ask(proxy.addr(), path).await.body.len());
    }
    assert_eq!(bodies, [10, 10, 10, 4, 10]);
    assert_eq!(only_entry(&proxy.faults()).exchange, 4);
}

#[tokio::test]
async fn an_event_stream_stops_in_the_middle_of_an_event() {
    let (_behind, proxy) = under(Fault::Partial { at: Point::AfterBytes(20) }).await;
    let saw = ask(proxy.addr(), "/events").await;
    // In chunks; the one that ends a body in good order never comes.
    assert!(saw.body.contains("data: {\"n\":1}\n\n") && saw.body.ends_with("5\r\ndata:\r\n"), "{saw:?}");
}

#[tokio::test]
async fn who_is_down_refuses_connections_and_cuts_those_that_were_open() {
    let behind = Behind::http().await;
    let proxy = behind.proxy().await;
    let mut open = TcpStream::connect(proxy.addr()).await.unwrap();
    open.write_all(b"GET / HTTP/1.1\r\nhost: agent\r\n\r\n").await.unwrap();
    open.read_exact(&mut [0; 80]).await.unwrap();
    let tape = tape();
    let plan = FaultPlan::always(Fault::Down { how: Down::Refuse });
    proxy.faults().switch(&tape, Some(&plan)).await.unwrap();
    let cut = open.read_to_end(&mut Vec::new()).await;
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(ask(proxy.addr(), "/").await.end, Err(ErrorKind::ConnectionRefused));
    proxy.faults().switch(&tape, None).await.unwrap();
    assert_eq!(ask(proxy.addr(), "/").await, whole());
    let switched: Vec<_> = tape.events().into_iter().map(|event| event.kind).collect();
    assert!(matches!(&switched[..], [Kind::Fault { on: true, .. }, Kind::Fault { on: false, .. }]), "{switched:?}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_not_shared() {
    let behind = Behind::http().await;
    let proxy = behind.proxy().await;
    let options = Options { listen: Some(proxy.addr()), ..Options::default() };
    let second = LyingProxy::start(Upstream::plain(behind.addr.to_string()), Policy::Record, options).await;
    assert_eq!(second.err().map(|error| error.kind()), Some(ErrorKind::AddrInUse));
}

#[tokio::test]
async fn a_judge_reads_the_ledger_of_its_window() {
    let (_behind, proxy) = under(Fault::Partial { at: AFTER_4 }).await;
    let (tape, faults) = (tape(), proxy.faults());
    ask(proxy.addr(), "/before").await;
    let mark = faults.begin(&tape).await.unwrap();
    ask(proxy.addr(), "/within").await;
    let seen = faults.since(&tape, mark).await.unwrap().kind;
    let Kind::Observed { effects, complete: true, .. } = seen else { panic!("{seen:?}") };
    let entries = effects["faults"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["what"]), (1, &"GET /within".into()));
    assert_eq!(entries[0]["fault"]["kind"], "partial");
}
