use ostiary_record::{
    ActorId, Axes, Blob, ChannelId, End, Event, ExchangeId, Kind, MonoNanos, Recording, Route, Seq, Source, TargetId,
};
use serde_json::json;

use super::*;
use crate::a2a::{error::ErrorKind, reply::Silence};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;

struct Answered {
    status: Option<u16>,
    media: &'static str,
    frames: Vec<&'static [u8]>,
    end: Option<End>,
}

fn reply(answered: &Answered) -> Reply {
    let x = ExchangeId(0);
    let mut kinds = vec![Kind::Opened { target: TargetId("t".into()), actor: ActorId("a".into()) }];
    let route = Route::Http { method: "POST".into(), path: String::new() };
    let headers = vec![];
    kinds.push(Kind::Sent { x, route, headers, bytes: Blob::from(REQUEST), intent: None });
    if let Some(status) = answered.status {
        kinds.push(Kind::Head { x, status, headers: vec![("Content-Type".into(), Blob::from(answered.media))] });
    }
    for (n, frame) in answered.frames.iter().enumerate() {
        kinds.push(Kind::Frame { x, n: u32::try_from(n).unwrap(), bytes: Blob::from(frame.to_vec()) });
    }
    kinds.extend(answered.end.clone().map(|how| Kind::Ended { x, how }));
    let event = |(n, kind)| {
        let from = Source::Wire(ChannelId("c".into()));
        Event { seq: Seq(n), at: MonoNanos(n * 10), from, kind }
    };
    let events = (0..).zip(kinds).map(event).collect();
    let recording = Recording { scenario: "s".into(), axes: Axes::default(), seed: 0, events };
    read(&Binding::JsonRpc, &recording.exchanges()[0]).unwrap()
}

fn whole(status: u16, media: &'static str, body: &'static [u8]) -> Reply {
    reply(&Answered { status: Some(status), media, frames: vec![body], end: Some(End::Complete) })
}

#[test]
fn a_body_in_pieces_is_one_item_that_cites_the_last_piece() {
    let frames: Vec<&[u8]> = vec![br#"{"jsonrpc":"2.0","#, br#""id":1,"result":{"id":"t"}}"#];
    let got = reply(&Answered { status: Some(200), media: "application/json", frames, end: Some(End::Complete) });
    assert_eq!(got.result(), Some((&json!({"id": "t"}), Seq(4))));
    assert!(got.items[0].echoes_id);
}

#[test]
fn events_cite_the_piece_that_completed_them() {
    let frames: Vec<&[u8]> = vec![
        b": ping\n\n",
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n",
        b"\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":2}}\n\ndata: {\"jsonrpc\"",
    ];
    let got = reply(&Answered { status: Some(200), media: "text/event-stream", frames, end: Some(End::Complete) });
    assert_eq!(got.items.iter().map(|i| i.seq).collect::<Vec<_>>(), [Seq(5), Seq(5), Seq(5)]);
    assert_eq!(got.items.iter().map(|i| i.echoes_id).collect::<Vec<_>>(), [true, false, false]);
    assert!(got.cut && got.malformed().is_some());
}

#[test]
fn an_event_without_its_blank_line_is_reported_though_its_data_is_whole() {
    let event: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n";
    let stream = |frames| Answered { status: Some(200), media: "text/event-stream", frames, end: Some(End::Complete) };
    let got = reply(&stream(vec![event]));
    assert!(got.result().is_none() && got.cut);
    let got = reply(&stream(vec![event, b"\n"]));
    assert!(got.result().is_some() && !got.cut);
}

#[test]
fn refusals_by_status_are_errors_and_server_trouble_is_garbage() {
    assert_eq!(whole(401, "text/plain", b"no").error().unwrap().0.kind(), Some(ErrorKind::Unauthenticated));
    assert_eq!(whole(404, "text/html", b"<html>").error().unwrap().0.kind(), None);
    assert!(whole(500, "text/plain", b"Internal Server Error").malformed().unwrap().0.contains("HTTP 500, text/plain"));
    let in_body = whole(400, "application/json", br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32009,"message":"v"}}"#);
    assert_eq!(in_body.error().unwrap().0.kind(), Some(ErrorKind::VersionNotSupported));
    assert!(whole(429, "text/plain", b"slow down").is_rate_limited());
}

#[test]
fn silence_says_why() {
    let silent = |end| reply(&Answered { status: None, media: "", frames: vec![], end }).silence();
    assert_eq!(silent(Some(End::Deadline)), Some(Silence::Deadline));
    assert_eq!(silent(Some(End::PeerReset { why: "eof".into() })), Some(Silence::Broken("eof".into())));
    assert_eq!(silent(Some(End::Complete)), Some(Silence::Empty));
    assert_eq!(silent(None), Some(Silence::Unfinished));
}

#[test]
fn a_body_that_is_cut_off_is_no_answer() {
    let end = Some(End::PeerReset { why: "eof".into() });
    let frames: Vec<&[u8]> = vec![br#"{"jsonrpc":"2.0","id":1,"result":{}}"#];
    let got = reply(&Answered { status: Some(200), media: "application/json", frames, end });
    assert!(got.malformed().is_some());
}

#[test]
fn what_our_own_bounds_cut_off_is_no_answer_of_the_agent() {
    let cut = |end: End| {
        let frames: Vec<&[u8]> = vec![br#"{"jsonrpc":"2.0","id":1,"resu"#];
        reply(&Answered { status: Some(200), media: "application/json", frames, end: Some(end) })
    };
    let limit = cut(End::Limit { which: "frame_bytes".to_owned() });
    assert_eq!(limit.silence(), Some(Silence::Limit("frame_bytes".to_owned())));
    assert_eq!(cut(End::Deadline).silence(), Some(Silence::Deadline));
    assert!(cut(End::PeerReset { why: "closed".to_owned() }).malformed().is_some(), "that was the agent");
}

#[test]
fn more_values_than_are_read_are_a_bound_of_ours() {
    let many = "0,".repeat(60_000);
    let whole_body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{many}{many}{many}0]}}"#);
    let event = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[{many}0]}}\n\n");
    for (media, frames) in [("application/json", vec![whole_body]), ("text/event-stream", vec![event; 3])] {
        let frames = frames.into_iter().map(|f| &*f.into_bytes().leak()).collect();
        let got = reply(&Answered { status: Some(200), media, frames, end: Some(End::Complete) });
        assert_eq!(got.end, Some(End::Limit { which: "values".to_owned() }), "{media}");
        assert!(got.malformed().is_none() && got.items.len() <= 2, "{media}");
    }
}
