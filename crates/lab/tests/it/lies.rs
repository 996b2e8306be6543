//! Every lie, twice: on the wire and over the recording of the honest agent.

use ostiary_lab::{Lie, LyingProxy, Options, Policy, Upstream, mutate, mutate_all};
use ostiary_record::{Kind, Recording, Seq, Source};
use serde_json::{Value, json};

use crate::{
    agent::Agent,
    story::{STEPS, Told, card, drive, of, tell},
};

async fn honest() -> Recording {
    let agent = Agent::start().await;
    drive(&agent.addr.to_string()).await
}

/// The story behind a lying proxy, and the honest story with the lie told about its recording.
async fn both(lie: Lie) -> [Recording; 2] {
    let agent = Agent::start().await;
    let upstream = Upstream::plain(agent.addr.to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await.unwrap();
    [drive(&proxy.authority()).await, mutate(&honest().await, lie)]
}

/// Asserts that a lie shows in these steps and in no other, both ways, and gives both tellings.
async fn shows_only_in(lie: Lie, steps: &[&str]) -> [Vec<Told>; 2] {
    let honest = tell(&honest().await);
    let both = both(lie).await.map(|r| tell(&r));
    for (way, told) in ["wire", "recording"].iter().zip(&both) {
        for step in STEPS {
            let differs = of(told, step) != of(&honest, step);
            assert_eq!(differs, steps.contains(&step), "{lie} {way} {step}: {:#?}", of(told, step));
        }
    }
    both
}

#[tokio::test]
async fn reopen_terminal() {
    let [wire, recording] = shows_only_in(Lie::ReopenTerminal, &["stream", "get"]).await;
    assert_eq!(wire, recording);
    assert_eq!(of(&wire, "stream").states(), ["SUBMITTED", "WORKING", "COMPLETED", "WORKING"]);
    let again = &of(&wire, "stream").values()[4];
    assert_eq!((&again["id"], &again["jsonrpc"]), (&json!("7"), &json!("2.0")));
    assert_eq!(again["result"]["statusUpdate"]["status"]["timestamp"], "2026-03-01T10:00:02.001Z");
    assert_eq!(of(&wire, "send").result()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(of(&wire, "get").result()["status"]["state"], "TASK_STATE_WORKING");
}

#[tokio::test]
async fn change_content_type() {
    let [wire, recording] = shows_only_in(Lie::ChangeContentType, &["send", "stream", "get"]).await;
    assert_eq!(wire, recording);
    let part = &of(&wire, "send").result()["task"]["artifacts"][0]["parts"][0];
    assert_eq!(*part, json!({"mediaType": "text/plain", "text": "{\"plan_id\":\"p-1\"}"}));
    assert!(of(&wire, "stream").frames[3].starts_with("id: 2\r\nevent: message\r\ndata: "), "other lines stay");
}

#[tokio::test]
async fn drop_artifact() {
    let [wire, recording] = shows_only_in(Lie::DropArtifact, &["send", "stream", "get"]).await;
    assert_eq!(wire, recording);
    assert!(wire.iter().all(|t| t.frames.iter().all(|f| !f.contains("rtifact"))));
    assert_eq!(of(&wire, "stream").states(), ["SUBMITTED", "WORKING", "COMPLETED"]);
}

#[tokio::test]
async fn cut_stream() {
    let [wire, recording] = shows_only_in(Lie::CutStream, &["stream"]).await;
    assert_eq!(wire, recording);
    let stream = of(&wire, "stream");
    assert_eq!(stream.states(), ["SUBMITTED", "WORKING"]);
    assert!(stream.complete, "it is the agent that ends too early, not the connection that breaks");
}

#[tokio::test]
async fn step_time_back() {
    let [wire, recording] = shows_only_in(Lie::StepTimeBack, &["stream", "get"]).await;
    assert_eq!(wire, recording);
    let stamps: Vec<_> = of(&wire, "stream").values().iter().filter_map(|v| stamp(&v["result"])).collect();
    assert_eq!(stamps, ["2026-03-01T10:00:00.000Z", "2026-03-01T09:00:00.000Z", "2026-03-01T09:00:00.000Z"]);
}

fn stamp(result: &Value) -> Option<String> {
    let status = result.pointer("/statusUpdate/status").or_else(|| result.pointer("/task/status"))?;
    Some(status["timestamp"].as_str()?.to_owned())
}

#[tokio::test]
async fn duplicate_event() {
    let [wire, recording] = shows_only_in(Lie::DuplicateEvent, &["stream"]).await;
    assert_eq!(wire, recording);
    let stream = of(&wire, "stream");
    assert_eq!(stream.states(), ["SUBMITTED", "WORKING", "WORKING", "COMPLETED"]);
    assert_eq!(stream.frames[2], stream.frames[3], "byte for byte");
    assert_eq!(stream.frames[4], stream.frames[5]);
}

#[tokio::test]
async fn leak_stack_trace() {
    let refused = [
        "send_to_finished",
        "get_unknown",
        "send_without_version",
        "foreign_get",
        "foreign_cancel",
        "subscribe_finished",
    ];
    let [wire, recording] = shows_only_in(Lie::LeakStackTrace, &refused).await;
    assert_eq!(wire, recording);
    let error = &of(&wire, "get_unknown").values()[0]["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32001), &json!("no such task")));
    let insides = error["data"][0].to_string();
    assert!(insides.contains("Traceback (most recent call last)") && insides.contains("Bearer eyJ"));
}

#[tokio::test]
async fn serve_foreign_task() {
    let [wire, recording] = shows_only_in(Lie::ServeForeignTask, &["foreign_get", "foreign_cancel"]).await;
    assert_eq!(wire, recording);
    assert_eq!(of(&wire, "foreign_get").result(), of(&wire, "get").result());
    assert_eq!(of(&wire, "foreign_cancel").result()["status"]["state"], "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn accept_any_version() {
    let told = shows_only_in(Lie::AcceptAnyVersion, &["send_without_version"]).await;
    for told in told {
        assert_eq!(of(&told, "send_without_version").result()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn accept_message_to_terminal() {
    let [wire, recording] = shows_only_in(Lie::AcceptMessageToTerminal, &["send_to_finished"]).await;
    assert_eq!(wire, recording);
    assert_eq!(of(&wire, "send_to_finished").result()["task"]["id"], "task-1");
}

#[tokio::test]
async fn ignore_credential() {
    let honest = tell(&honest().await);
    for told in both(Lie::IgnoreCredential).await.map(|r| tell(&r)) {
        let anonymous = of(&told, "anonymous_send");
        assert_eq!((anonymous.status, anonymous.media_type.as_str()), (200, "application/json"));
        assert_eq!(anonymous.result()["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        for step in ["send", "stream", "get", "foreign_get", "send_to_finished", "send_without_version"] {
            assert_eq!(of(&told, step), of(&honest, step), "{step}");
        }
    }
}

#[tokio::test]
async fn serve_undeclared_stream() {
    let [wire, recording] = shows_only_in(Lie::ServeUndeclaredStream, &["subscribe_finished"]).await;
    assert_eq!(wire, recording);
    let stream = of(&wire, "subscribe_finished");
    assert_eq!((stream.status, stream.media_type.as_str(), stream.frames.len()), (200, "text/event-stream", 1));
}

#[tokio::test]
async fn lies_about_the_card() {
    let honest = card(&honest().await);
    let [wire, recording] = both(Lie::RequireExtension).await.map(|r| card(&r));
    assert_eq!(wire, recording);
    assert_eq!(wire["capabilities"]["extensions"][0]["required"], true);
    let [wire, recording] = both(Lie::ChangeCard).await.map(|r| card(&r));
    assert_eq!(wire, recording);
    assert_ne!(wire["description"], honest["description"]);
    assert_eq!(wire["supportedInterfaces"], honest["supportedInterfaces"]);
    for lie in [Lie::RequireExtension, Lie::ChangeCard] {
        shows_only_in(lie, &[]).await;
    }
}

#[tokio::test]
async fn a_retold_recording_is_numbered_anew_and_its_windows_move_along() {
    let mut honest = honest().await;
    let last = honest.events.len() as u64;
    let window = (Seq(0), Seq(last - 1));
    let observed = Kind::Observed { window, effects: json!({}), complete: true };
    honest.events.push(ostiary_record::Event { seq: Seq(last), kind: observed, ..honest.events[0].clone() });
    let retold = mutate(&honest, Lie::DuplicateEvent);
    assert_eq!(retold.events.len(), honest.events.len() + 2);
    assert!(retold.events.iter().enumerate().all(|(n, e)| e.seq == Seq(n as u64)));
    let Kind::Observed { window, .. } = &retold.events.last().unwrap().kind else { panic!("the window is gone") };
    assert_eq!(*window, (Seq(0), Seq(last + 1)));
    assert!(matches!(retold.events[window.1.0 as usize].kind, Kind::Ended { .. }));
    assert_eq!(honest.events[0].from, Source::Script);
}

#[tokio::test]
async fn what_one_recording_showed_is_known_in_the_next() {
    let honest = honest().await;
    let at = honest.events.iter().position(|e| matches!(e.kind, Kind::Ended { .. })).unwrap();
    let (first, rest) = honest.events.split_at(at + 1);
    let part = |events: &[ostiary_record::Event]| Recording { events: events.to_vec(), ..honest.clone() };
    let parts = [part(first), part(rest)];
    let foreign_get = |r: &Recording| {
        let views = r.exchanges();
        views
            .iter()
            .filter(|v| v.actor == Some("b"))
            .any(|v| v.body().starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\""))
    };
    // `get` in the second part shows the task again, so a part without it is needed.
    let without_get = |r: &Recording| {
        let events = r.events.iter().filter(
            |e| !matches!(&e.kind, Kind::Frame { bytes, .. } if bytes.as_str().is_some_and(|b| b.contains("task-1"))),
        );
        Recording { events: events.cloned().collect(), ..r.clone() }
    };
    let second = without_get(&parts[1]);
    assert!(!foreign_get(&mutate(&second, Lie::ServeForeignTask)));
    assert!(foreign_get(&mutate_all(&[parts[0].clone(), second], Lie::ServeForeignTask)[1]));
}
