//! Channels: overlap, reuse, breaking off, credentials, and what the tape says of it.

use std::sync::Arc;

use ostiary_drivers::{AddressGuard, Settings};
use ostiary_record::{
    Blob, End, Kind, MonoNanos, Route,
    ports::{Abort, CouldNotRun, Deadline, Next, Outbound},
};
use tokio::{
    io::AsyncReadExt,
    sync::{Notify, mpsc},
};

use crate::{
    server::RawServer,
    setup::{
        actor, finish, hasty_tape, limits, next, nobody, open, open_on, open_with, post, settings, soon, still_tape,
        until,
    },
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

#[tokio::test]
async fn a_request_leaves_byte_for_byte() {
    let server = RawServer::fixed(OK).await;
    let (tape, mut channel) = open(&server).await;
    let mut out = post("{\"x\": 1}");
    out.route = Route::Http { method: "POST".into(), path: "/tasks/1:cancel?x=%20".into() };
    let x = channel.start(out);
    finish(&tape, channel.as_mut(), x).await;
    let expect = format!(
        "POST /a2a/tasks/1:cancel?x=%20 HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\nContent-Length: 8\r\n\r\n{{\"x\": 1}}",
        server.addr
    );
    assert_eq!(server.requests(), [expect]);
}

#[tokio::test]
async fn an_event_is_reported_before_the_next_is_sent() {
    let go_on = Arc::new(Notify::new());
    let gate = Arc::clone(&go_on);
    let server = RawServer::start(move |mut peer| {
        let gate = Arc::clone(&gate);
        async move {
            peer.request().await;
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            for _ in 0..3 {
                peer.send("9\r\ndata: x\n\n\r\n").await;
                gate.notified().await;
            }
            peer.send("0\r\n\r\n").await;
        }
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    channel.start(post("{}"));
    assert!(matches!(next(&tape, channel.as_mut()).await, Kind::Head { status: 200, .. }));
    for n in 0..3 {
        let Kind::Frame { n: at, bytes, .. } = next(&tape, channel.as_mut()).await else { panic!("no frame {n}") };
        assert_eq!((at, bytes), (n, Blob::from("data: x\n\n")));
        go_on.notify_one();
    }
    assert!(matches!(next(&tape, channel.as_mut()).await, Kind::Ended { how: End::Complete, .. }));
}

#[tokio::test]
async fn exchanges_overlap() {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let server = RawServer::start(move |mut peer| {
        let gate = Arc::clone(&gate);
        async move {
            if peer.request().await.is_some_and(|r| r.ends_with("slow")) {
                gate.notified().await;
            }
            peer.send(OK).await;
            peer.close().await;
        }
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    let slow = channel.start(post("slow"));
    let fast = channel.start(post("fast"));
    assert_eq!(finish(&tape, channel.as_mut(), fast).await.end, End::Complete);
    assert!(!tape.events().iter().any(|e| matches!(&e.kind, Kind::Head { x, .. } if *x == slow)));
    release.notify_one();
    assert_eq!(finish(&tape, channel.as_mut(), slow).await.status, Some(200));
    assert_eq!(channel.next(soon(&tape)).await, Next::Closed, "nothing runs any more");
}

#[tokio::test]
async fn connections_are_reused_and_requests_never_repeated() {
    let server = RawServer::start(|mut peer| async move {
        while let Some(request) = peer.request().await {
            if request.ends_with("drop") {
                return;
            }
            peer.send(OK).await;
        }
    })
    .await;
    let tape = hasty_tape();
    let mut channel = open_on(&tape, settings(&server), server.url("/"), (&nobody(), limits())).await.unwrap();
    for _ in 0..3 {
        let x = channel.start(post("{}"));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
    }
    assert_eq!(server.connections(), 1);
    let x = channel.start(post("drop"));
    let seen = finish(&tape, channel.as_mut(), x).await;
    assert!(seen.broken().contains("used before"), "{:?}", seen.end);
    assert_eq!(server.requests().iter().filter(|r| r.ends_with("drop")).count(), 1);
}

#[tokio::test]
async fn a_connection_rests_before_it_is_used_again() {
    let server = RawServer::start(|mut peer| async move {
        while peer.request().await.is_some() {
            peer.send(OK).await;
        }
    })
    .await;
    let tape = still_tape();
    let mut channel = open_on(&tape, settings(&server), server.url("/"), (&nobody(), limits())).await.unwrap();
    for _ in 0..3 {
        let x = channel.start(post("{}"));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
    }
    assert_eq!(server.connections(), 3, "no time passed, so none has rested");
}

#[tokio::test]
async fn a_connection_that_the_peer_closed_is_not_used() {
    let server = RawServer::fixed(OK).await;
    let tape = hasty_tape();
    let mut channel = open_on(&tape, settings(&server), server.url("/"), (&nobody(), limits())).await.unwrap();
    for n in 1..=3 {
        let x = channel.start(post("{}"));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
        until(|| server.closed() == n).await;
        // The runtime looks at its sockets every 61 turns.
        for _ in 0..128 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_credential_is_sent_and_never_recorded() {
    let echo = "HTTP/1.1 401 Unauthorized\r\nX-Echo: s3cret-token\r\nContent-Length: 21\r\n\r\nbad s3cret-token here";
    let server = RawServer::fixed(echo).await;
    let (tape, mut channel) = open_with(settings(&server), server.url("/"), &actor(), limits()).await.unwrap();
    let x = channel.start(post("{}"));
    finish(&tape, channel.as_mut(), x).await;
    assert!(server.requests()[0].contains("\r\nAuthorization: Bearer s3cret-token\r\n"));
    let recorded = format!("{:?}", tape.events());
    assert!(!recorded.contains("s3cret-token"), "{recorded}");
    assert!(recorded.contains("Bearer ⟨credential:allowed-user-a⟩"));
    assert!(recorded.contains("bad ⟨credential:allowed-user-a⟩ here"));
}

#[tokio::test]
async fn an_answer_before_the_request_is_read_is_taken() {
    let server = RawServer::start(|mut peer| async move {
        let _ = peer.tcp.read(&mut [0; 16]).await;
        peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n").await;
        std::future::pending::<()>().await;
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    let x = channel.start(post(&"x".repeat(32 << 20)));
    let seen = finish(&tape, channel.as_mut(), x).await;
    assert_eq!((seen.status, seen.end), (Some(413), End::Complete));
}

/// A server that reports how its first served connection went away.
async fn watched() -> (RawServer, mpsc::Receiver<Result<usize, std::io::ErrorKind>>) {
    let (tell, told) = mpsc::channel(1);
    let server = RawServer::start(move |mut peer| {
        let tell = tell.clone();
        async move {
            if peer.request().await.is_some() {
                let how = peer.hang().await.map_err(|e| e.kind());
                tell.send(how).await.unwrap();
            }
        }
    })
    .await;
    (server, told)
}

#[tokio::test]
async fn breaking_off_is_real_and_ends_the_exchange_once() {
    let gone = [(Abort::Reset, Err(std::io::ErrorKind::ConnectionReset)), (Abort::Drop, Ok(0))];
    for (how, expect) in gone {
        let (server, mut told) = watched().await;
        let (tape, mut channel) = open(&server).await;
        let x = channel.start(post("{}"));
        until(|| !server.requests().is_empty()).await;
        channel.abort(x, how);
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::LocalAbort);
        assert_eq!(told.recv().await, Some(expect), "{how:?}");
        channel.abort(x, how);
        assert_eq!(channel.next(soon(&tape)).await, Next::Closed);
        let ends = tape.events().iter().filter(|e| matches!(e.kind, Kind::Ended { .. })).count();
        assert_eq!(ends, 1);
    }
}

#[tokio::test]
async fn after_a_half_close_the_answer_is_still_read() {
    let server = RawServer::start(|mut peer| async move {
        if peer.request().await.is_some() {
            let mut rest = Vec::new();
            peer.tcp.read_to_end(&mut rest).await.unwrap();
            peer.send(OK).await;
        }
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    let x = channel.start(post("{}"));
    channel.abort(x, Abort::HalfClose);
    let seen = finish(&tape, channel.as_mut(), x).await;
    assert_eq!((seen.status, seen.end), (Some(200), End::Complete));
}

#[tokio::test]
async fn a_dropped_channel_says_so_on_the_tape() {
    let (server, mut told) = watched().await;
    let (tape, mut channel) = open(&server).await;
    let x = channel.start(post("{}"));
    until(|| !server.requests().is_empty()).await;
    drop(channel);
    assert_eq!(told.recv().await, Some(Ok(0)));
    let last = tape.events().pop().unwrap().kind;
    assert_eq!(last, Kind::Ended { x, how: End::LocalAbort });
}

#[tokio::test]
async fn waiting_ends_at_the_deadline_and_the_exchange_goes_on() {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let server = RawServer::start(move |mut peer| {
        let gate = Arc::clone(&gate);
        async move {
            peer.request().await;
            gate.notified().await;
            peer.send(OK).await;
        }
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    let x = channel.start(post("{}"));
    let at = Deadline(MonoNanos(tape.now().0 + 20_000_000));
    assert_eq!(channel.next(at).await, Next::Idle);
    assert!(tape.now() >= at.0);
    release.notify_one();
    assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
}

#[tokio::test]
async fn what_cannot_be_sent_ends_without_a_connection() {
    let server = RawServer::fixed(OK).await;
    let (tape, mut channel) = open(&server).await;
    let bad = [
        Outbound { route: Route::Grpc { path: "/a.B/C".into() }, ..post("{}") },
        Outbound { route: Route::Http { method: "POST".into(), path: "/a b".into() }, ..post("{}") },
        Outbound { headers: vec![("X".into(), "a\r\nEvil: 1".into())], ..post("{}") },
    ];
    for out in bad {
        let x = channel.start(out);
        let seen = finish(&tape, channel.as_mut(), x).await;
        assert!(matches!(&seen.end, End::NoConnection { why } if why.starts_with("not sent: ")), "{:?}", seen.end);
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn opening_is_refused_or_fails_with_the_reason() {
    let server = RawServer::fixed(OK).await;
    let plain = || Settings { allow_insecure_http: true, ..Settings::default() };
    let attempt = async |settings, url: String| match open_with(settings, url, &nobody(), limits()).await {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    };
    for (settings, url, why) in [
        (plain(), server.url("/"), "loopback"),
        (plain(), format!("http://localhost:{}/", server.addr.port()), "loopback"),
        (plain(), "http://0x7f.1/".to_owned(), "loopback"),
        (plain(), "http://[::ffff:7f00:1]/".to_owned(), "IPv4 in IPv6"),
        (plain(), "http://169.254.169.254/latest/meta-data".to_owned(), "link-local"),
        (Settings::default(), server.url("/"), "plain http"),
        (plain(), "ftp://agent.example/".to_owned(), "scheme"),
        (plain(), "http://user:pw@agent.example/".to_owned(), "credentials"),
        (plain(), "not a url".to_owned(), "URL"),
    ] {
        let error = attempt(settings, url.clone()).await;
        assert!(matches!(&error, CouldNotRun::AddressRefused { why: w, .. } if w.contains(why)), "{url}: {error}");
    }
    assert_eq!(server.connections(), 0, "nothing was dialled");
    let nowhere = Settings { guard: AddressGuard::off(), ..plain() };
    let error = attempt(nowhere, "http://127.0.0.1:1/".to_owned()).await;
    assert!(matches!(error, CouldNotRun::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn connect_to_leads_elsewhere_and_keeps_the_name() {
    let server = RawServer::fixed(OK).await;
    let connect_to = [("agents.example.com:80".to_owned(), server.addr.to_string())].into();
    let routed = Settings { connect_to, allow_insecure_http: true, ..Settings::default() };
    let url = "http://agents.example.com/a2a".to_owned();
    let (tape, mut channel) = open_with(routed, url, &nobody(), limits()).await.unwrap();
    let x = channel.start(post("{}"));
    assert_eq!(finish(&tape, channel.as_mut(), x).await.status, Some(200));
    assert!(server.requests()[0].contains("\r\nHost: agents.example.com\r\n"));
}

#[tokio::test]
async fn a_target_that_goes_away_gives_no_connection() {
    let server = RawServer::start(|peer| async move { drop(peer) }).await;
    let (tape, mut channel) = open(&server).await;
    let addr = server.addr;
    drop(server);
    while tokio::net::TcpStream::connect(addr).await.is_ok() {}
    let x = channel.start(post("{}"));
    let end = finish(&tape, channel.as_mut(), x).await.end;
    assert!(matches!(end, End::NoConnection { .. }), "{end:?}");
}

#[test]
fn settings_that_do_not_parse_are_all_named() {
    let connect_to = [("a".to_owned(), "b".to_owned())].into();
    let bad = Settings { connect_to, trust_roots: Some(b"no pem".to_vec()), ..Settings::default() };
    let Err(error) = ostiary_drivers::HttpTransport::new(bad) else { panic!("accepted") };
    assert_eq!(error.0.len(), 3, "{error}");
}
