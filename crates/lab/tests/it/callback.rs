//! The callback receiver as a sender and a judge see it (X-01; A-06, A-08, A-09 and A-10 stand on it).

use std::time::Duration;

use jiff::Timestamp;
use ostiary_canon::jwk::Algorithm;
use ostiary_drivers::http_client::Request;
use ostiary_lab::{CallbackOptions, CallbackReceiver, JwtKey};
use ostiary_record::{
    Kind, Proof, Registration, Reply, Shown, Tape,
    ports::{Address, Inbox},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::{story::tape, web::send};

const NOW: i64 = 1_790_000_000;
const LONG: Duration = Duration::from_secs(60);

async fn receiver() -> CallbackReceiver {
    CallbackReceiver::start(CallbackOptions::new(|| Timestamp::from_second(NOW).unwrap())).await.unwrap()
}

fn registration(replies: Vec<Reply>, proofs: Vec<Proof>) -> Registration {
    Registration { name: "push".to_owned(), replies, proofs }
}

fn delivery(address: &Address, fields: &[(&str, &str)]) -> Request {
    let request = Request::new("POST", &address.url).body("application/json", r#"{"statusUpdate":{}}"#);
    fields.iter().fold(request, |request, (name, value)| request.header(name, value))
}

async fn deliver(address: &Address, fields: &[(&str, &str)]) -> u16 {
    send(&delivery(address, fields)).await.status
}

fn inbound(tape: &Tape) -> Vec<Value> {
    let inbound = tape.events().into_iter().filter_map(|event| match event.kind {
        Kind::Inbound { bytes, .. } => Some(serde_json::from_slice(bytes.as_bytes()).unwrap()),
        _ => None,
    });
    inbound.collect()
}

#[tokio::test]
async fn a_delivery_is_recorded_where_and_as_it_came() {
    let (receiver, tape) = (receiver().await, tape());
    let address = receiver.register(&tape, registration(vec![], vec![]));
    let other = receiver.register(&tape, registration(vec![], vec![]));
    assert_ne!(address, other);
    assert_eq!(deliver(&address, &[("X-Event", "one")]).await, 200);
    assert!(receiver.wait(&address, 1, LONG).await);
    let arrived = receiver.arrived(&address);
    let came = &arrived.deliveries[0];
    assert_eq!((came.method.as_str(), came.to.as_deref(), came.answered), ("POST", Some("push"), Some(200)));
    assert_eq!((came.headers["x-event"].as_str(), came.body.as_str()), ("one", Some(r#"{"statusUpdate":{}}"#)));
    assert_eq!((&came.shown, came.withdrawn, came.cut, arrived.dropped), (&Shown::NotAsked, false, false, 0));
    assert!(receiver.arrived(&other).deliveries.is_empty());
    assert_eq!(inbound(&tape), [json!(came)]);
}

#[tokio::test]
async fn answers_come_in_their_order_and_the_last_stays() {
    let receiver = receiver().await;
    let moved = "http://127.0.0.1:9/elsewhere".to_owned();
    let replies = vec![Reply::Status(503), Reply::Redirect(moved.clone()), Reply::Status(204)];
    let address = receiver.register(&tape(), registration(replies, vec![]));
    assert_eq!(deliver(&address, &[]).await, 503);
    let redirected = send(&delivery(&address, &[])).await;
    assert_eq!((redirected.status, redirected.header("location")), (307, Some(moved.as_str())));
    assert_eq!((deliver(&address, &[]).await, deliver(&address, &[]).await), (204, 204));
    let answered: Vec<_> = receiver.arrived(&address).deliveries.iter().map(|d| d.answered).collect();
    assert_eq!(answered, [Some(503), Some(307), Some(204), Some(204)]);
}

#[tokio::test]
async fn a_broken_connection_gives_no_answer_and_the_delivery_is_kept() {
    let receiver = receiver().await;
    let address = receiver.register(&tape(), registration(vec![Reply::Broken, Reply::Status(200)], vec![]));
    let mut stream = TcpStream::connect(receiver.addr()).await.unwrap();
    let head = format!("POST {} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{{}}", address.path);
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    assert_eq!(stream.read_to_end(&mut answer).await.unwrap_or(0), 0, "it was answered");
    assert_eq!(deliver(&address, &[]).await, 200);
    let answered: Vec<_> = receiver.arrived(&address).deliveries.iter().map(|d| d.answered).collect();
    assert_eq!(answered, [None, Some(200)]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_recorded_before_it_is_given_and_silence_gives_none() {
    let receiver = receiver().await;
    let replies = vec![Reply::Slow { millis: 20_000, status: 200 }, Reply::Silence];
    let address = receiver.register(&tape(), registration(replies, vec![]));
    let mut sending = JoinSet::new();
    let slow = address.clone();
    sending.spawn(async move { deliver(&slow, &[]).await });
    assert!(receiver.wait(&address, 1, Duration::from_secs(5)).await);
    assert!(sending.try_join_next().is_none(), "it was answered at once");
    assert_eq!(sending.join_next().await.unwrap().unwrap(), 200);
    let silent = address.clone();
    sending.spawn(async move { timeout(LONG * 10, async { deliver(&silent, &[]).await }).await.unwrap_or(0) });
    assert!(receiver.wait(&address, 2, Duration::from_secs(5)).await);
    assert_eq!(receiver.arrived(&address).deliveries[1].answered, None);
}

#[tokio::test]
async fn what_is_never_sent_is_not_waited_for_for_ever() {
    let receiver = receiver().await;
    let address = receiver.register(&tape(), registration(vec![], vec![]));
    assert!(!receiver.wait(&address, 1, Duration::from_millis(1)).await);
}

#[tokio::test]
async fn the_credentials_of_the_configuration_are_looked_for_and_never_kept() {
    let (receiver, tape) = (receiver().await, tape());
    let fields = vec!["X-A2A-Notification-Token".to_owned(), "A2A-Notification-Token".to_owned()];
    let proofs = vec![
        Proof::Authorization { scheme: "Bearer".into(), credentials: "credential-77".into() },
        Proof::Token { fields, value: "token-4711".into() },
    ];
    let address = receiver.register(&tape, registration(vec![], proofs));
    for (fields, shown) in [
        (&[("Authorization", "bearer credential-77"), ("A2A-Notification-Token", "token-4711")][..], Shown::Right),
        (&[("Authorization", "Bearer credential-77")][..], Shown::Missing),
        (&[("X-A2A-Notification-Token", "token-4711")][..], Shown::Missing),
        (&[][..], Shown::Missing),
        (
            &[("Authorization", "Bearer credential-78"), ("A2A-Notification-Token", "token-4711")][..],
            Shown::Wrong("the credentials of `Authorization` are others".into()),
        ),
        (
            &[("Authorization", "Basic credential-77"), ("A2A-Notification-Token", "token-4711")][..],
            Shown::Wrong("the scheme of `Authorization` is another one".into()),
        ),
        (
            &[("Authorization", "Bearer credential-77"), ("A2A-Notification-Token", "token-4712")][..],
            Shown::Wrong("the token is another one".into()),
        ),
    ] {
        deliver(&address, fields).await;
        assert_eq!(receiver.arrived(&address).deliveries.last().unwrap().shown, shown, "{fields:?}");
    }
    let kept = format!("{:?} {:?}", receiver.arrived(&address), inbound(&tape));
    assert!(!kept.contains("credential-7") && !kept.contains("token-471"), "{kept}");
}

#[tokio::test]
async fn a_signed_delivery_is_verified_by_the_published_keys() {
    let receiver = receiver().await;
    let (key, foreign) = (JwtKey::from_seed(Algorithm::Es256, [1; 32]), JwtKey::from_seed(Algorithm::Es256, [2; 32]));
    let proof = Proof::Jwt {
        jwks: json!({"keys": [key.jwk()]}),
        audience: "callback-a".into(),
        issuer: Some("https://agent.example.test".into()),
    };
    let address = receiver.register(&tape(), registration(vec![], vec![proof]));
    let claims = |aud: &str, iss: &str, exp: i64| json!({"aud": [aud], "iss": iss, "exp": exp, "iat": NOW});
    let good = claims("callback-a", "https://agent.example.test", NOW + 60);
    for (token, right) in [
        (key.token(&good), true),
        (foreign.token(&good), false),
        (key.token(&claims("callback-b", "https://agent.example.test", NOW + 60)), false),
        (key.token(&claims("callback-a", "https://other.example.test", NOW + 60)), false),
        (key.token(&claims("callback-a", "https://agent.example.test", NOW - 600)), false),
        ("no.token.here".to_owned(), false),
    ] {
        deliver(&address, &[("Authorization", &format!("Bearer {token}"))]).await;
        let shown = receiver.arrived(&address).deliveries.last().unwrap().shown.clone();
        assert_eq!(shown == Shown::Right, right, "{shown:?}");
    }
}

#[tokio::test]
async fn what_comes_after_withdrawal_and_where_nobody_registered_is_kept_apart() {
    let (receiver, tape) = (receiver().await, tape());
    let address = receiver.register(&tape, registration(vec![], vec![]));
    deliver(&address, &[]).await;
    receiver.withdraw(&address);
    deliver(&address, &[]).await;
    let withdrawn: Vec<_> = receiver.arrived(&address).deliveries.iter().map(|d| d.withdrawn).collect();
    assert_eq!(withdrawn, [false, true]);
    let guessed = Address { url: format!("{}x", address.url), path: format!("{}x", address.path) };
    assert_eq!(deliver(&guessed, &[]).await, 404);
    let strays = receiver.strays();
    assert_eq!((strays.deliveries.len(), &strays.deliveries[0].to), (1, &None));
}

#[tokio::test]
async fn the_port_inside_is_another_one_and_its_addresses_hold_there_alone() {
    let (receiver, tape) = (receiver().await, tape());
    let told = receiver.register(&tape, registration(vec![], vec![]));
    let inside = receiver.register_inside(&tape, Registration { name: "inside".into(), ..Registration::default() });
    let inside = inside.unwrap();
    assert_eq!(deliver(&inside, &[]).await, 200);
    assert_eq!(receiver.arrived(&inside).deliveries[0].to.as_deref(), Some("inside"));
    let base = told.url.strip_suffix(&told.path).unwrap();
    let crossed = Address { url: format!("{base}{}", inside.path), path: inside.path.clone() };
    assert_eq!(deliver(&crossed, &[]).await, 404);
    assert_eq!((receiver.strays().deliveries.len(), receiver.arrived(&inside).deliveries.len()), (1, 1));
}

#[tokio::test]
async fn a_long_body_is_cut_and_a_body_that_never_ends_is_not_waited_for() {
    let receiver = receiver().await;
    let address = receiver.register(&tape(), registration(vec![], vec![]));
    let long = Request::new("POST", &address.url).body("application/json", vec![b'x'; (256 << 10) + 1]);
    send(&long).await;
    let came = receiver.arrived(&address).deliveries.remove(0);
    assert_eq!((came.cut, came.body.as_bytes().len()), (true, 256 << 10));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_in_ends_by_our_time() {
    let receiver = receiver().await;
    let address = receiver.register(&tape(), registration(vec![], vec![]));
    let mut stream = TcpStream::connect(receiver.addr()).await.unwrap();
    let head = format!("POST {} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf", address.path);
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(receiver.wait(&address, 1, LONG).await);
    let came = receiver.arrived(&address).deliveries.remove(0);
    assert_eq!((came.cut, came.body.as_str()), (true, Some("half")));
}

/// Sends so many on few connections, which is what a flood is.
async fn flood(receiver: &CallbackReceiver, address: &Address, count: usize, body: &'static str) {
    let head = format!("POST {} HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n{body}", address.path, body.len());
    let mut sending = JoinSet::new();
    for _ in 0..4 {
        let (head, addr) = (head.clone(), receiver.addr());
        sending.spawn(async move {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            for _ in 0..count / 4 {
                stream.write_all(head.as_bytes()).await.unwrap();
                let mut answer = Vec::new();
                while !answer.ends_with(b"\r\n\r\n") {
                    assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
                }
            }
        });
    }
    sending.join_all().await;
}

#[tokio::test]
async fn a_flood_of_ten_thousand_is_counted_and_not_kept() {
    let (receiver, tape) = (receiver().await, tape());
    let address = receiver.register(&tape, registration(vec![], vec![]));
    flood(&receiver, &address, 10_000, "{}").await;
    assert!(receiver.wait(&address, 10_000, LONG).await);
    let arrived = receiver.arrived(&address);
    assert_eq!((arrived.deliveries.len(), arrived.dropped, inbound(&tape).len()), (1_000, 9_000, 1_000));
    let marks = tape.events().into_iter().filter(|event| {
        matches!(&event.kind, Kind::Mark { label, value }
        if label.0 == "callbacks_dropped" && value.as_deref() == Some("push"))
    });
    assert_eq!(marks.count(), 1, "that there was more is said once");
}

#[tokio::test]
async fn a_flood_of_huge_bodies_is_held_in_sixteen_mebibytes() {
    static HUGE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(256 << 10));
    let (receiver, tape) = (receiver().await, tape());
    let (one, other) = (
        receiver.register(&tape, registration(vec![], vec![])),
        receiver.register(&tape, registration(vec![], vec![])),
    );
    for address in [&one, &other] {
        flood(&receiver, address, 60, &HUGE).await;
    }
    let (first, second) = (receiver.arrived(&one), receiver.arrived(&other));
    let kept = [&first, &second].into_iter().flat_map(|a| &a.deliveries).map(|d| d.body.as_bytes().len());
    assert_eq!(kept.sum::<usize>(), 16 << 20);
    assert_eq!(first.dropped + second.dropped, 56);
}
