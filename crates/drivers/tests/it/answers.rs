//! Answers good and bad, and where each ends.

use ostiary_record::{Blob, End, Kind, ports::Limits};
use std::time::Duration;

use crate::{
    server::RawServer,
    setup::{answer, ask, finish, limits, next, nobody, open, open_with, post, settings},
};

#[tokio::test]
async fn names_order_and_repeats_of_fields_are_kept() {
    let seen =
        answer("HTTP/1.1 200 OK\r\nX-Second: 2\r\nx-FIRST: 1\r\nX-Second: again\r\nContent-Length: 2\r\n\r\n{}").await;
    let names: Vec<_> = seen.headers.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(names, ["X-Second=2", "x-FIRST=1", "X-Second=again", "Content-Length=2"]);
    assert_eq!((seen.status, seen.text(0), &seen.end), (Some(200), "{}", &End::Complete));
}

#[tokio::test]
async fn a_body_until_close_is_complete() {
    let seen = answer("HTTP/1.1 200 OK\r\n\r\nall of it").await;
    assert_eq!((seen.text(0), &seen.end), ("all of it", &End::Complete));
}

#[tokio::test]
async fn chunks_make_one_body_and_trailers_follow() {
    let wire = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n";
    let server = RawServer::fixed(wire).await;
    let (tape, mut channel) = open(&server).await;
    let x = channel.start(post("{}"));
    assert!(matches!(next(&tape, channel.as_mut()).await, Kind::Head { .. }));
    assert!(matches!(next(&tape, channel.as_mut()).await, Kind::Frame { bytes, .. } if bytes == Blob::from("abcde")));
    let Kind::Trailers { headers, .. } = next(&tape, channel.as_mut()).await else { panic!("no trailers") };
    assert_eq!(headers, [("X-Sum".to_owned(), Blob::from("5"))]);
    assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let seen = answer(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    )
    .await;
    assert_eq!((seen.status, seen.frames.len(), seen.end), (Some(204), 0, End::Complete));
}

#[tokio::test]
async fn a_body_shorter_than_announced_is_a_reset() {
    let seen = answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\":").await;
    assert!(seen.broken().contains("5 bytes before the end"), "{:?}", seen.end);
    assert_eq!(seen.text(0), "{\"a\":", "what came is kept as evidence");
}

#[tokio::test]
async fn chunks_without_the_last_are_a_reset() {
    let seen = answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    assert!(seen.broken().contains("before the last chunk"));
    assert_eq!(seen.text(0), "abc");
}

#[tokio::test]
async fn malformed_framing_is_the_peers_fault() {
    for wire in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc",
        "HTTP/1.1 two hundred\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/2 200\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "<html><body>hello</body></html>",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "",
    ] {
        let seen = answer(wire).await;
        assert!(!seen.broken().is_empty(), "{wire:?}");
    }
}

#[tokio::test]
async fn html_is_an_answer_like_any_other() {
    let seen =
        answer("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>").await;
    assert_eq!((seen.status, seen.text(0), &seen.end), (Some(502), "<html></html>", &End::Complete));
}

#[tokio::test]
async fn a_reset_in_mid_stream_is_a_reset() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\ndata: 2").await;
        // The client has the bytes when it breaks off by itself or reads on; the reset must come after them.
        tokio::time::timeout(Duration::from_millis(100), peer.tcp.readable()).await.ok();
        peer.reset();
    })
    .await;
    let seen = ask(&server).await;
    assert_eq!(seen.text(0), "data: 1\n\n");
    assert!(seen.broken().contains("reset"), "{:?}", seen.end);
}

#[tokio::test]
async fn a_huge_header_hits_the_bound() {
    let seen = answer(format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(20 << 10))).await;
    assert_eq!(seen.limit(), "header_bytes");
    let many = "X: y\r\n".repeat(400);
    assert_eq!(answer(format!("HTTP/1.1 200 OK\r\n{many}\r\n")).await.limit(), "header_bytes");
}

/// Serves a head and then the same bytes for ever.
async fn endless(head: &'static str, body: &'static str) -> RawServer {
    RawServer::start(move |mut peer| async move {
        use tokio::io::AsyncWriteExt;
        if peer.request().await.is_some() {
            peer.send(head).await;
            while peer.tcp.write_all(body.as_bytes()).await.is_ok() {}
        }
    })
    .await
}

#[tokio::test]
async fn an_endless_body_hits_the_bound_and_little_of_it_is_kept() {
    let server = endless("HTTP/1.1 200 OK\r\n\r\n", "0123456789").await;
    let seen = ask(&server).await;
    assert_eq!(seen.limit(), "frame_bytes");
    assert_eq!(seen.frames[0].len(), 64 << 10);
}

#[tokio::test]
async fn an_endless_event_hits_the_bound_of_a_frame() {
    let server =
        endless("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: never a blank line\n").await;
    let seen = ask(&server).await;
    assert_eq!(seen.limit(), "frame_bytes");
    assert!(seen.frames.iter().map(bytes::Bytes::len).sum::<usize>() <= 64 << 10);
}

#[tokio::test]
async fn endless_events_hit_the_bound_on_their_number() {
    let server = endless("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: x\n\n").await;
    let seen = ask(&server).await;
    assert_eq!((seen.limit(), seen.frames[..50].iter().all(|f| &f[..] == b"data: x\n\n")), ("frames", true));
}

#[tokio::test]
async fn endless_large_events_hit_the_bound_of_the_body() {
    let server = endless(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        const { concat!("data: ", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "\n\n") },
    )
    .await;
    let bounds = Limits { frames: u32::MAX, ..limits() };
    let (tape, mut channel) = open_with(settings(&server), server.url("/"), &nobody(), bounds).await.unwrap();
    let x = channel.start(post("{}"));
    assert_eq!(finish(&tape, channel.as_mut(), x).await.limit(), "body_bytes");
}

#[tokio::test]
async fn silence_and_dripping_end_at_the_deadline() {
    for drip in [false, true] {
        let server = RawServer::start(move |mut peer| async move {
            peer.request().await;
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: loris".iter().cycle() {
                if !drip || tokio::time::timeout(Duration::from_millis(30), peer.tcp.readable()).await.is_ok() {
                    break;
                }
                peer.send([*byte]).await;
            }
            let _ = peer.hang().await;
        })
        .await;
        let bounds = Limits { exchange: Duration::from_millis(300), ..limits() };
        let (tape, mut channel) = open_with(settings(&server), server.url("/"), &nobody(), bounds).await.unwrap();
        let x = channel.start(post("{}"));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Deadline);
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_stay_as_they_are() {
    let seen =
        answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: \xff\xfe\n\ndata: ok\n\n".to_vec())
            .await;
    assert_eq!(&seen.frames[0][..], b"data: \xff\xfe\n\n");
    assert_eq!((seen.text(1), &seen.end), ("data: ok\n\n", &End::Complete));
}

#[tokio::test]
async fn a_stream_that_ends_within_an_event_leaves_it_as_the_last_frame() {
    let seen =
        answer("HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\ndata: 1\r\n\r\ndata: 2").await;
    assert_eq!((seen.text(0), seen.text(1), &seen.end), ("data: 1\r\n\r\n", "data: 2", &End::Complete));
}
