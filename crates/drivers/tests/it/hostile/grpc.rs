//! The same over HTTP/2.

use bytes::Bytes;
use ostiary_record::{
    Route,
    ports::{Carrier, Limits, Outbound},
};

use super::{Ends, ending, hasty, hold};
use crate::{
    grpc_server::{END_STREAM, GOAWAY, H2Peer, HEADERS, RST_STREAM, SETTINGS, serve},
    setup::{limits, nobody, open_to, settings},
};

const CONTINUATION: u8 = 9;
const PING: u8 = 6;
const PUSH_PROMISE: u8 = 5;
/// A message of nine bytes of which four came.
const HALF: &[u8] = b"\0\0\0\0\x09half";

/// What a server does once it has the request.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Says this body, and ends the stream without trailers.
    NoTrailers(&'static [u8]),
    /// Says this body and well-formed trailers.
    Says(&'static [u8]),
    /// Says half a message and resets the stream, with this reason.
    ResetsInside(u32),
    /// Says half a message and goes away; the flag says whether the stream was still taken.
    GoesAway(bool),
    /// Says half a message and closes the connection.
    ClosesInside,
    /// Says a whole message, and nothing more.
    NeverEnds,
    /// Says the same frame again and again: kind, flags, stream of the request, payload.
    Repeats(u8, u8, bool, &'static [u8]),
    /// Begins header fields that have no end.
    EndlessFields,
}

async fn act(mut peer: H2Peer, stream: u32, habit: Habit) {
    if !matches!(habit, Habit::Repeats(..) | Habit::EndlessFields) {
        peer.head(stream, &[], 0).await;
    }
    match habit {
        Habit::NoTrailers(body) => peer.frame(0, END_STREAM, stream, body).await,
        Habit::Says(body) => {
            peer.data(stream, body).await;
            peer.trailers(stream, &[("grpc-status", "0")]).await;
        }
        Habit::ResetsInside(reason) => {
            peer.data(stream, HALF).await;
            peer.frame(RST_STREAM, 0, stream, &reason.to_be_bytes()).await;
        }
        Habit::GoesAway(taken) => {
            peer.data(stream, HALF).await;
            let last = if taken { stream } else { 0 };
            peer.frame(GOAWAY, 0, 0, &[last.to_be_bytes(), 2_u32.to_be_bytes()].concat()).await;
            return peer.peer.close().await;
        }
        Habit::ClosesInside => {
            peer.data(stream, HALF).await;
            return peer.peer.close().await;
        }
        Habit::NeverEnds => peer.data(stream, b"\0\0\0\0\x02hi").await,
        Habit::Repeats(kind, flags, on_stream, payload) => {
            let stream = if on_stream { stream } else { 0 };
            while peer.alive() {
                peer.frame(kind, flags, stream, payload).await;
            }
        }
        Habit::EndlessFields => {
            peer.frame(HEADERS, 0, stream, b"\x88").await;
            while peer.alive() {
                // a field that is not indexed: `x: y`
                peer.frame(CONTINUATION, 0, stream, b"\0\x01x\x01y").await;
            }
        }
    }
    peer.linger().await;
}

async fn check(habit: Habit, bounds: Limits, wanted: Ends) {
    let server = serve(move |mut peer| async move {
        if let Some((stream, _)) = peer.request().await {
            act(peer, stream, habit).await;
        }
    })
    .await;
    let (tape, mut channel) =
        open_to(settings(&server), server.url(""), (&nobody(), bounds), Carrier::Grpc).await.unwrap();
    channel.start(Outbound {
        route: Route::Grpc { path: "/a.B/C".into() },
        headers: vec![("content-type".into(), "application/grpc".into())],
        body: Bytes::from_static(b"\0\0\0\0\0"),
        intent: None,
    });
    hold(&format!("{habit:?}"), wanted, ending(&tape, channel.as_mut()).await);
}

#[tokio::test]
async fn what_a_message_lies_about_is_kept_for_the_checks() {
    for (habit, wanted) in [
        (Habit::NoTrailers(b"\0\0\0\0\x02hi"), Ends::Whole(b"\0\0\0\0\x02hi")),
        (Habit::NoTrailers(HALF), Ends::Whole(HALF)),
        (Habit::Says(HALF), Ends::Whole(HALF)),
        (Habit::Says(b"\x01\0\0\0\x02hi"), Ends::Whole(b"\x01\0\0\0\x02hi")),
        (Habit::Says(b"\0\xff\xff\xff\xff4 GiB"), Ends::Limit("frame_bytes")),
        (Habit::Says(b""), Ends::Whole(b"")),
    ] {
        check(habit, limits(), wanted).await;
    }
}

/// What came of the message stands on the tape, and the end says that the other side broke off: so a check can tell a
/// stream that was cut from one that said something wrong.
#[tokio::test]
async fn a_stream_cut_inside_a_message_is_told_as_cut() {
    for (habit, words) in [
        (Habit::ResetsInside(2), "RST_STREAM by the peer: INTERNAL_ERROR"),
        (Habit::ResetsInside(0), "RST_STREAM by the peer: NO_ERROR"),
        (Habit::GoesAway(true), ""),
        (Habit::GoesAway(false), ""),
        (Habit::ClosesInside, "connection lost"),
    ] {
        check(habit, limits(), Ends::Broken(words)).await;
    }
}

#[tokio::test]
async fn floods_of_frames_end_at_a_bound_or_at_the_deadline() {
    check(Habit::NeverEnds, hasty(), Ends::Deadline).await;
    for flood in [Habit::Repeats(PING, 0, false, &[0; 8]), Habit::Repeats(SETTINGS, 0, false, b"")] {
        check(flood, hasty(), Ends::Deadline).await;
    }
    for (flood, words) in [
        (Habit::Repeats(PUSH_PROMISE, 4, true, &[0, 0, 0, 2, 0x88]), "the peer broke HTTP/2"),
        (Habit::Repeats(CONTINUATION, 0, true, b"\x88"), "the peer broke HTTP/2"),
        (Habit::Repeats(RST_STREAM, 0, true, &[0, 0, 0, 8]), "RST_STREAM by the peer: CANCEL"),
        (Habit::Repeats(42, 0, false, b""), ""),
        (Habit::EndlessFields, ""),
    ] {
        match flood {
            // frames of a kind that nobody knows are passed over (RFC 9113 §4.1)
            Habit::Repeats(42, ..) => check(flood, hasty(), Ends::Deadline).await,
            _ => check(flood, limits(), Ends::Broken(words)).await,
        }
    }
}
