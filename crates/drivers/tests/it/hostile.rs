//! Servers that mean harm, a habit each: every exchange ends, in bounded time and memory, with an end that says why.

use std::time::Duration;

use ostiary_record::{
    End, Kind,
    ports::{Channel, Limits},
};
use tokio::io::AsyncWriteExt;

use crate::{
    server::{Peer, RawServer},
    setup::{limits, next, nobody, open, open_with, post, settings},
};

mod grpc;

/// What a bad answer must end as.
#[derive(Clone, Copy, Debug)]
pub enum Ends {
    /// In good order, with this body: what is wrong with it is for checks to say.
    Whole(&'static [u8]),
    /// The other side's fault, with these words.
    Broken(&'static str),
    /// At this bound of ours.
    Limit(&'static str),
    /// At the deadline.
    Deadline,
}

/// Bytes of frames that one bad answer may leave behind.
const MOST_KEPT: usize = 512 << 10;

/// Bounds with a short patience.
pub fn hasty() -> Limits {
    Limits { exchange: Duration::from_millis(400), ..limits() }
}

/// The body and the end of one exchange.
pub async fn ending(tape: &ostiary_record::Tape, channel: &mut dyn Channel) -> (Vec<u8>, End) {
    let mut body = Vec::new();
    loop {
        match next(tape, channel).await {
            Kind::Frame { bytes, .. } => body.extend_from_slice(bytes.as_bytes()),
            Kind::Ended { how, .. } => return (body, how),
            _ => {}
        }
    }
}

/// Holds one ending against what it must be.
pub fn hold(habit: &str, wanted: Ends, (body, end): (Vec<u8>, End)) {
    assert!(body.len() <= MOST_KEPT, "{habit}: {} bytes are kept", body.len());
    match (wanted, &end) {
        (Ends::Whole(wanted), End::Complete) => assert_eq!(body, wanted, "{habit}"),
        (Ends::Broken(words), End::PeerReset { why }) => assert!(why.contains(words), "{habit}: {why}"),
        (Ends::Limit(wanted), End::Limit { which }) => assert_eq!(which, wanted, "{habit}"),
        (Ends::Deadline, End::Deadline) => {}
        _ => panic!("{habit}: wanted {wanted:?}, got {end:?}"),
    }
}

/// A server that says `first`, and then `again` for ever.
async fn endless(first: &'static [u8], again: &'static [u8]) -> RawServer {
    RawServer::start(move |mut peer| async move {
        if peer.request().await.is_some() {
            peer.send(first).await;
            let block = again.repeat(1 + (4 << 10) / again.len());
            while peer.tcp.write_all(&block).await.is_ok() {}
        }
    })
    .await
}

/// A server that says `first`, and then a byte at a time, slower than anybody would read.
async fn dripping(first: &'static [u8], drop: u8) -> RawServer {
    RawServer::start(move |mut peer| async move {
        peer.request().await;
        peer.send(first).await;
        // readable means that the client has gone
        while tokio::time::timeout(Duration::from_millis(20), peer.tcp.readable()).await.is_err() {
            peer.send([drop]).await;
        }
    })
    .await
}

async fn check(habit: &str, server: &RawServer, limits: Limits, wanted: Ends) {
    let (tape, mut channel) = open_with(settings(server), server.url("/"), &nobody(), limits).await.unwrap();
    channel.start(post("{}"));
    hold(habit, wanted, ending(&tape, channel.as_mut()).await);
}

#[tokio::test]
async fn wrong_lengths_and_codings_are_read_by_the_rules_or_refused() {
    let bomb: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xed\xc1\x01\x01\0\0\0\x80";
    let gzip = [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 18\r\n\r\n", bomb].concat();
    let cases: [(&str, &[u8], Ends); 13] = [
        ("length too short", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", Ends::Whole(b"{")),
        ("length too long", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", Ends::Broken("7 bytes before")),
        ("negative", b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}", Ends::Broken("not one number")),
        (
            "two lengths",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
            Ends::Broken("not one"),
        ),
        (
            "chunk that is no number",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n{}",
            Ends::Broken("size"),
        ),
        (
            "chunk too long",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n",
            Ends::Broken("malformed chunk"),
        ),
        ("chunk cut off", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}", Ends::Broken("last chunk")),
        ("HTTP/1.0", b"HTTP/1.0 200 OK\r\n\r\n{}", Ends::Whole(b"{}")),
        (
            "fields that are no UTF-8",
            b"HTTP/1.1 200 OK\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\n{}",
            Ends::Whole(b"{}"),
        ),
        ("compressed, unasked", &gzip, Ends::Whole(bomb)),
        ("a NUL in a field", b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n{}", Ends::Broken("malformed head")),
        ("only NULs", &[0; 64], Ends::Broken("not an HTTP/1.1 answer")),
        ("nothing", b"", Ends::Broken("before the answer")),
    ];
    for (habit, bytes, wanted) in cases {
        check(habit, &RawServer::fixed(bytes).await, limits(), wanted).await;
    }
}

#[tokio::test]
async fn what_never_ends_is_ended_by_a_bound() {
    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases: [(&str, &[u8], &[u8], Ends); 14] = [
        ("fields", b"HTTP/1.1 200 OK\r\n", b"X-Another: field\r\n", Ends::Limit("header_bytes")),
        ("one field", b"HTTP/1.1 200 OK\r\nX: ", b"x", Ends::Limit("header_bytes")),
        ("a status line", b"HTTP/1.1 200 ", b"OK", Ends::Limit("header_bytes")),
        ("interim answers", b"", b"HTTP/1.1 100 Continue\r\n\r\n", Ends::Broken("interim")),
        ("fields of an interim answer", b"HTTP/1.1 103 Hints\r\n", b"Link: x\r\n", Ends::Limit("header_bytes")),
        ("a body", b"HTTP/1.1 200 OK\r\n\r\n", b"[", Ends::Limit("frame_bytes")),
        ("extensions of a chunk", CHUNKED, b"1;x=y", Ends::Broken("malformed chunk")),
        ("digits of a chunk", CHUNKED, b"0", Ends::Broken("malformed chunk")),
        (
            "trailers",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"X: y\r\n",
            Ends::Limit("header_bytes"),
        ),
        ("one event", STREAM, b"data: x\n", Ends::Limit("frame_bytes")),
        ("a line", STREAM, b"data: x", Ends::Limit("frame_bytes")),
        ("blank lines", STREAM, b"\r\n", Ends::Limit("frame_bytes")),
        ("NULs", STREAM, b"\0", Ends::Limit("frame_bytes")),
        ("tiny events", STREAM, b"data:\n\n", Ends::Limit("frames")),
    ];
    for (habit, first, again, wanted) in cases {
        check(habit, &endless(first, again).await, limits(), wanted).await;
    }
}

#[tokio::test]
async fn a_byte_at_a_time_meets_the_deadline_wherever_it_drips() {
    let cases: [(&str, &[u8], u8); 5] = [
        ("head", b"HTTP/1.1 200 OK\r\nX: ", b'x'),
        ("body", b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n{", b' '),
        ("chunk size", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b'0'),
        ("event", b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", b'x'),
        ("keep-alive comments", b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", b'\n'),
    ];
    for (habit, first, drop) in cases {
        check(habit, &dripping(first, drop).await, hasty(), Ends::Deadline).await;
    }
}

/// Two answers for one request: the second belongs to nobody, least of all to the next request.
#[tokio::test]
async fn an_answer_that_nobody_asked_for_answers_nothing() {
    let answer = |n: u32| format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{n}");
    let server = RawServer::start(move |mut peer: Peer| async move {
        for n in 0.. {
            let Some(request) = peer.request().await else { return };
            let asked = if request.ends_with("{1}") { 7 } else { n };
            peer.send(answer(asked) + &answer(9)).await;
        }
    })
    .await;
    let (tape, mut channel) = open(&server).await;
    for (body, wanted) in [("{0}", &b"0"[..]), ("{1}", b"7")] {
        channel.start(post(body));
        assert_eq!(ending(&tape, channel.as_mut()).await, (wanted.to_vec(), End::Complete), "{body}");
    }
    // an answer that is there before its request was sent ends the exchange, and the run goes on
    let early = RawServer::start(move |mut peer: Peer| async move {
        peer.send(answer(1)).await;
        let _ = peer.request().await;
        peer.close().await;
    })
    .await;
    check("early", &early, limits(), Ends::Whole(b"1")).await;
}
