//! gRPC over HTTP/2: what is on the wire is what is reported, and nothing that a server does goes unbounded or unnamed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use ostiary_drivers::Settings;
use ostiary_record::{
    End, ExchangeId, Kind, Route, Tape,
    event::RawHeaders,
    ports::{Abort, Carrier, Channel, CouldNotRun, Limits, Outbound},
};

use crate::{
    grpc_server::{DATA, END_STREAM, GOAWAY, H2Peer, HEADERS, RST_STREAM, serve},
    server::RawServer,
    setup::{actor, limits, next, nobody, open_to, settings, soon, until},
};

const HELLO: &[u8] = b"\0\0\0\0\x02hi";

fn call(body: &[u8]) -> Outbound {
    let headers = [("content-type", "application/grpc"), ("te", "trailers"), ("A2A-Version", "1.0")];
    Outbound {
        route: Route::Grpc { path: "/a.B/C".into() },
        headers: headers.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec(),
        body: Bytes::copy_from_slice(body),
        intent: Some("C".into()),
    }
}

#[derive(Debug)]
struct Got {
    status: Option<u16>,
    frames: Vec<Bytes>,
    trailers: Option<RawHeaders>,
    head: RawHeaders,
    end: End,
}

impl Got {
    fn broken(&self) -> &str {
        match &self.end {
            End::PeerReset { why } => why,
            other => panic!("expected PeerReset, got {other:?}"),
        }
    }

    fn limit(&self) -> &str {
        match &self.end {
            End::Limit { which } => which,
            other => panic!("expected Limit, got {other:?}"),
        }
    }
}

async fn open(server: &RawServer, limits: Limits) -> (Tape, Box<dyn Channel>) {
    open_to(settings(server), server.url(""), (&nobody(), limits), Carrier::Grpc).await.unwrap()
}

async fn finish(tape: &Tape, channel: &mut dyn Channel, x: ExchangeId) -> Got {
    let mut got = Got { status: None, frames: vec![], trailers: None, head: vec![], end: End::Complete };
    loop {
        match next(tape, channel).await {
            Kind::Head { x: at, status, headers } if at == x => (got.status, got.head) = (Some(status), headers),
            Kind::Frame { x: at, bytes, .. } if at == x => got.frames.push(bytes.0),
            Kind::Trailers { x: at, headers } if at == x => got.trailers = Some(headers),
            Kind::Ended { x: at, how } if at == x => return Got { end: how, ..got },
            _ => {}
        }
    }
}

async fn ask_with(server: &RawServer, limits: Limits) -> Got {
    let (tape, mut channel) = open(server, limits).await;
    let x = channel.start(call(HELLO));
    finish(&tape, channel.as_mut(), x).await
}

async fn ask(server: &RawServer) -> Got {
    ask_with(server, limits()).await
}

fn value<'a>(fields: &'a RawHeaders, name: &str) -> Option<&'a str> {
    fields.iter().find(|(n, _)| n == name).and_then(|(_, v)| v.as_str())
}

/// Serves each request with the same script.
async fn each<F, S>(script: S) -> RawServer
where
    S: Fn(H2Peer, u32) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    serve(move |mut peer| {
        let script = script.clone();
        async move {
            if let Some((stream, _)) = peer.request().await {
                script(peer, stream).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn messages_and_trailers_come_as_they_were_sent() {
    let server = each(|mut peer, stream| async move {
        peer.head(stream, &[("x-one", "1")], 0).await;
        // two messages, cut where no message ends
        peer.data(stream, b"\0\0\0\0\x03on").await;
        peer.data(stream, b"e\0\0\0\0\x03two").await;
        peer.trailers(stream, &[("grpc-status", "0"), ("x-two", "2")]).await;
        peer.linger().await;
    })
    .await;
    let got = ask(&server).await;
    assert_eq!((got.status, &got.end), (Some(200), &End::Complete));
    assert_eq!(got.frames, [&b"\0\0\0\0\x03one"[..], b"\0\0\0\0\x03two"]);
    assert_eq!(value(&got.head, "x-one"), Some("1"));
    assert_eq!(value(got.trailers.as_ref().unwrap(), "x-two"), Some("2"));
}

#[tokio::test]
async fn the_body_is_sent_as_given_and_credentials_do_not_reach_the_tape() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&bodies);
    let server = serve(move |mut peer| {
        let seen = Arc::clone(&seen);
        async move {
            while let Some((stream, body)) = peer.request().await {
                seen.lock().unwrap().push(body);
                peer.head(stream, &[("grpc-status", "0")], END_STREAM).await;
            }
        }
    })
    .await;
    let (tape, mut channel) =
        open_to(settings(&server), server.url("/ignored"), (&actor(), limits()), Carrier::Grpc).await.unwrap();
    // lengths that lie, a flag that no message has, no message at all, and more than one window
    let large = vec![7; 200 << 10];
    let wrong: [&[u8]; 5] = [b"\0\0\0\0\x09x", b"\xff\0\0\0\0", b"", b"\0", &large];
    for body in wrong {
        let x = channel.start(call(body));
        let got = finish(&tape, channel.as_mut(), x).await;
        assert_eq!(got.end, End::Complete);
        assert_eq!((value(&got.head, "grpc-status"), got.trailers), (Some("0"), None), "nothing but the head came");
    }
    assert_eq!(*bodies.lock().unwrap(), wrong.map(<[u8]>::to_vec));
    assert_eq!(server.connections(), 1, "exchanges share a connection");
    let sent = tape.events().into_iter().find_map(|e| match e.kind {
        Kind::Sent { headers, .. } => Some(headers),
        _ => None,
    });
    let sent = sent.unwrap();
    assert_eq!(value(&sent, "authorization"), Some("Bearer ⟨credential:allowed-user-a⟩"));
    assert_eq!(value(&sent, "a2a-version"), Some("1.0"), "names are in lower case, as HTTP/2 wants them");
}

#[tokio::test]
async fn streams_on_one_connection_overlap() {
    let server = serve(|mut peer| async move {
        let (first, second) = (peer.request().await.unwrap().0, peer.request().await.unwrap().0);
        for stream in [second, first] {
            peer.head(stream, &[], 0).await;
            peer.data(stream, HELLO).await;
            peer.trailers(stream, &[("grpc-status", "0")]).await;
        }
        peer.linger().await;
    })
    .await;
    let (tape, mut channel) = open(&server, limits()).await;
    let (one, two) = (channel.start(call(HELLO)), channel.start(call(HELLO)));
    let mut ends = Vec::new();
    while ends.len() < 2 {
        if let Kind::Ended { x, how } = next(&tape, channel.as_mut()).await {
            assert_eq!(how, End::Complete);
            ends.push(x);
        }
    }
    ends.sort();
    assert_eq!(ends, [one, two]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_message_larger_than_the_bound_is_refused_by_its_length() {
    let server = each(|mut peer, stream| async move {
        peer.head(stream, &[], 0).await;
        peer.data(stream, b"\0\x40\0\0\0only a few bytes of a gibibyte").await;
        peer.linger().await;
    })
    .await;
    let got = ask(&server).await;
    assert_eq!(got.limit(), "frame_bytes");
    assert!(got.frames[0].starts_with(b"\0\x40\0\0\0only"), "the beginning is kept as evidence");
}

#[tokio::test]
async fn endless_streams_end_at_a_bound() {
    let endless = |message: &'static [u8]| {
        each(move |mut peer, stream| async move {
            peer.head(stream, &[], 0).await;
            for _ in 0..200 {
                peer.data(stream, message).await;
            }
            peer.linger().await;
        })
    };
    let got = ask(&endless(HELLO).await).await;
    assert_eq!((got.limit(), got.frames.len()), ("frames", 50));
    let got = ask(&endless(b"\0\0\0\0\0").await).await;
    assert_eq!((got.limit(), got.frames.len()), ("frames", 50), "messages without content count, too");
    static LARGE: [u8; 16_005] = {
        let mut message = [0; 16_005];
        (message[3], message[4]) = (0x3e, 0x80);
        message
    };
    // below the window of a stream, so that the server need not wait for room
    let server = each(|mut peer, stream| async move {
        peer.head(stream, &[], 0).await;
        for _ in 0..10 {
            peer.data(stream, &LARGE).await;
        }
        peer.linger().await;
    });
    let got = ask_with(&server.await, Limits { body_bytes: 100_000, ..limits() }).await;
    assert_eq!((got.limit(), got.frames.len()), ("body_bytes", 7));
}

#[tokio::test]
async fn too_many_fields_are_refused() {
    let with = |bytes: usize| {
        each(move |mut peer, stream| async move {
            let value = "v".repeat(bytes);
            peer.head(stream, &[("x-large", &value), ("grpc-status", "0")], END_STREAM).await;
            peer.linger().await;
        })
    };
    assert_eq!(ask(&with(1 << 10).await).await.end, End::Complete);
    assert_eq!(ask(&with(10 << 10).await).await.limit(), "header_bytes");
    let much = ask(&with(16_000).await).await;
    assert!(matches!(&much.end, End::PeerReset { .. } | End::Limit { .. }), "{much:?}");
}

#[tokio::test]
async fn a_slow_server_meets_our_deadline() {
    let server = each(|mut peer, stream| async move {
        peer.head(stream, &[], 0).await;
        peer.data(stream, HELLO).await;
        peer.linger().await;
    })
    .await;
    let short = Limits { exchange: Duration::from_millis(300), ..limits() };
    let got = ask_with(&server, short).await;
    assert_eq!((got.end, got.frames.len()), (End::Deadline, 1), "what came before it is on the tape");
    let silent = RawServer::start(|mut peer| async move { while peer.request().await.is_some() {} }).await;
    assert_eq!(ask_with(&silent, short).await.end, End::Deadline, "no greeting, and no answer");
}

#[tokio::test]
async fn what_breaks_a_stream_is_named() {
    let reset = each(|mut peer, stream| async move {
        peer.head(stream, &[], 0).await;
        peer.data(stream, HELLO).await;
        peer.frame(RST_STREAM, 0, stream, &2_u32.to_be_bytes()).await;
        peer.linger().await;
    })
    .await;
    let got = ask(&reset).await;
    assert_eq!(got.broken(), "RST_STREAM by the peer: INTERNAL_ERROR");

    let goaway = each(|mut peer, _| async move {
        peer.frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 11]).await;
        peer.linger().await;
    })
    .await;
    assert_eq!(ask(&goaway).await.broken(), "GOAWAY by the peer: ENHANCE_YOUR_CALM");

    let lost = each(|mut peer, stream| async move {
        peer.head(stream, &[], 0).await;
        peer.data(stream, b"\0\0\0\0\x09half").await;
        peer.peer.close().await;
    })
    .await;
    let got = ask(&lost).await;
    assert!(got.broken().starts_with("connection lost"), "{got:?}");
    assert_eq!(got.frames, [&b"\0\0\0\0\x09half"[..]], "the message that was cut off is shown");

    let broken = each(|mut peer, stream| async move {
        peer.frame(DATA, 0, stream, b"data before any head").await;
        peer.linger().await;
    })
    .await;
    assert!(ask(&broken).await.broken().starts_with("the peer broke HTTP/2"));

    let no_status = each(|mut peer, stream| async move {
        peer.frame(HEADERS, 4 | END_STREAM, stream, b"\x80").await;
        peer.linger().await;
    })
    .await;
    assert!(ask(&no_status).await.broken().starts_with("the peer broke HTTP/2"));
}

#[tokio::test]
async fn a_server_of_another_protocol_is_named() {
    let http1 = RawServer::start(|mut peer| async move {
        peer.send("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        peer.close().await;
    })
    .await;
    assert!(ask(&http1).await.broken().starts_with("the peer broke HTTP/2"));
}

#[tokio::test]
async fn after_goaway_the_next_exchange_has_a_new_connection() {
    let server = serve(|mut peer| async move {
        let (stream, _) = peer.request().await.unwrap();
        peer.frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]).await;
        peer.head(stream, &[("grpc-status", "0")], END_STREAM).await;
        peer.linger().await;
    })
    .await;
    let (tape, mut channel) = open(&server, limits()).await;
    for _ in 0..2 {
        let x = channel.start(call(HELLO));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn breaking_off_resets_the_stream_or_drops_the_connection() {
    let resets = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&resets);
    let server = serve(move |mut peer| {
        let seen = Arc::clone(&seen);
        async move {
            let (stream, _) = peer.request().await.unwrap();
            peer.head(stream, &[], 0).await;
            while let Some(frame) = peer.next().await {
                if frame.kind == RST_STREAM {
                    seen.lock().unwrap().push(Some(frame.payload));
                }
            }
            seen.lock().unwrap().push(None);
        }
    })
    .await;
    let (tape, mut channel) = open(&server, limits()).await;
    let x = channel.start(call(HELLO));
    while !matches!(next(&tape, channel.as_mut()).await, Kind::Head { .. }) {}
    channel.abort(x, Abort::Reset);
    assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::LocalAbort);
    until(|| resets.lock().unwrap().first() == Some(&Some(vec![0, 0, 0, 8]))).await;

    let (tape, mut channel) = open(&server, limits()).await;
    let x = channel.start(call(HELLO));
    while !matches!(next(&tape, channel.as_mut()).await, Kind::Head { .. }) {}
    channel.abort(x, Abort::Drop);
    assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::LocalAbort);
    until(|| resets.lock().unwrap().contains(&None)).await;
    assert!(matches!(channel.next(soon(&tape)).await, ostiary_record::ports::Next::Closed));
}

#[tokio::test]
async fn plaintext_only_where_the_environment_allows_it() {
    let server = each(|mut peer, stream| async move {
        peer.head(stream, &[("grpc-status", "0")], END_STREAM).await;
        peer.linger().await;
    })
    .await;
    let strict = || Settings { allow_insecure_http: false, ..settings(&server) };
    let (bare, plain) = (server.addr.to_string(), server.url(""));
    let open = |settings: Settings, url: &str| {
        let url = url.to_owned();
        async move { open_to(settings, url, (&nobody(), limits()), Carrier::Grpc).await.map(|_| ()) }
    };
    assert!(matches!(open(strict(), &plain).await, Err(CouldNotRun::AddressRefused { .. })));
    assert!(matches!(open(strict(), &bare).await, Err(CouldNotRun::Unreachable { why, .. }) if why.starts_with("TLS")));
    assert_eq!(open(settings(&server), &plain).await, Ok(()));
    assert_eq!(open(settings(&server), &bare).await, Ok(()), "TLS was tried, and the peer does not speak it");
    let unguarded = Settings { allow_insecure_http: true, ..Settings::default() };
    assert!(
        matches!(open(unguarded, &bare).await, Err(CouldNotRun::AddressRefused { .. })),
        "the guard holds here, too"
    );
}
