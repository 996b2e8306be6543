//! Events and the receivers of them: told once it is taken, signed, in order, and never somewhere else (L-12).

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::SignedDuration;
use ostiary_canon::dsse::Jwks;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::app::{ADMIN, AUDITOR, OPERATOR, PUBLISHER, STRANGER, TestApp};

/// What a receiver does when it is told something.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Does {
    Takes,
    Refuses,
    Redirects(String),
    Hangs,
    Floods,
}

/// What it was sent.
#[derive(Clone, Debug)]
struct Told {
    headers: HeaderMap,
    body: String,
}

/// A receiver on a loopback port.
struct Receiver {
    url: String,
    told: Arc<Mutex<Vec<Told>>>,
    does: Arc<Mutex<Does>>,
    _serving: JoinSet<()>,
}

// === impl Receiver ===

impl Receiver {
    async fn that(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("bound"));
        let (told, does) = (Arc::<Mutex<Vec<Told>>>::default(), Arc::new(Mutex::new(does)));
        let (log, script) = (Arc::clone(&told), Arc::clone(&does));
        let handler = move |headers: HeaderMap, body: String| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push(Told { headers, body });
            let does = script.lock().unwrap_or_else(PoisonError::into_inner).clone();
            answer(does)
        };
        let router = axum::Router::new().route("/hook", axum::routing::post(handler));
        let mut serving = JoinSet::new();
        serving.spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { url, told, does, _serving: serving }
    }

    fn now(&self, does: Does) {
        *self.does.lock().unwrap_or_else(PoisonError::into_inner) = does;
    }

    fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn kinds(&self) -> Vec<String> {
        self.told().iter().map(|told| told.event()["type"].as_str().expect("a kind").to_owned()).collect()
    }
}

impl Told {
    fn event(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }
}

async fn answer(does: Does) -> Response {
    match does {
        Does::Takes => StatusCode::NO_CONTENT.into_response(),
        Does::Refuses => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Does::Redirects(to) => (StatusCode::TEMPORARY_REDIRECT, [("location", to)]).into_response(),
        Does::Hangs => std::future::pending().await,
        Does::Floods => Body::from(vec![b'x'; 1 << 20]).into_response(),
    }
}

async fn register(app: &TestApp, body: &Value) -> String {
    let caller = if body["allow_private"] == true { ADMIN } else { OPERATOR };
    let (status, hook) = app.post(caller, "/api/v1/webhooks", body).await;
    assert_eq!(status, 201, "{hook}");
    hook["id"].as_str().expect("an id").to_owned()
}

async fn hook(app: &TestApp, id: &str) -> Value {
    let listed = app.get(OPERATOR, "/api/v1/webhooks").await.1;
    listed.as_array().expect("a list").iter().find(|hook| hook["id"] == id).expect("is listed").clone()
}

/// Waits until the receiver's last try failed; answers what it said.
async fn error_of(app: &TestApp, id: &str) -> String {
    app.until("a try fails", || async { hook(app, id).await["last_error"].is_string() }).await;
    hook(app, id).await["last_error"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn quarantine_reaches_a_receiver_that_was_down_at_first_with_a_good_signature() {
    let app = TestApp::start().await;
    app.activate().await;
    let receiver = Receiver::that(Does::Refuses).await;
    let id = register(&app, &json!({"url": receiver.url, "allow_private": true, "namespace": "acme"})).await;
    app.act("quarantine").await;
    assert_eq!(error_of(&app, &id).await, "answered 500");
    receiver.now(Does::Takes);
    app.advance(SignedDuration::from_secs(6)).await;
    app.until("it is told", || async { receiver.told().len() == 2 }).await;
    let told = receiver.told();
    assert_eq!(told[0].header("webhook-id"), told[1].header("webhook-id"), "a repeat is known by its id");
    let event = told[1].event();
    assert_eq!((&event["type"], &event["subject"]), (&json!("version.quarantined"), &json!("acme/planner@3.4.1#1")));
    assert_eq!(event["reason"], "a test wants it");

    let (stamp, signature) = (told[1].header("webhook-timestamp"), told[1].header("webhook-signature"));
    assert_eq!(stamp, app.now().as_second().to_string());
    let keys = app.raw(app.request("GET", AUDITOR, "/.well-known/ostiary-keys.json")).await;
    let keys: Jwks = serde_json::from_slice(&keys.body).expect("a key set");
    let key = keys.verifying_keys().expect("good keys").remove(0);
    let signature = STANDARD.decode(signature.strip_prefix("v1a,").expect("Ed25519")).expect("base64");
    let signature: [u8; 64] = signature.try_into().expect("64 bytes");
    let signed = |body: &str| format!("{}.{stamp}.{body}", told[1].header("webhook-id"));
    assert!(key.verifies(signed(&told[1].body).as_bytes(), &signature));
    assert!(!key.verifies(signed("{}").as_bytes(), &signature), "another body is not what was signed");
    app.until("it is done", || async { hook(&app, &id).await["last_error"].is_null() }).await;
}

#[tokio::test]
async fn redirect_leads_nowhere() {
    let app = TestApp::start().await;
    let inner = Receiver::that(Does::Takes).await;
    let receiver = Receiver::that(Does::Redirects(inner.url.clone())).await;
    let id = register(&app, &json!({"url": receiver.url, "allow_private": true})).await;
    app.submit().await;
    assert_eq!(error_of(&app, &id).await, "answered 307");
    assert!(inner.told().is_empty());
}

#[tokio::test]
async fn receiver_that_hangs_or_floods_is_cut_off() {
    for (does, expected) in [(Does::Hangs, "did not answer within"), (Does::Floods, "body_bytes")] {
        let app = TestApp::start().await;
        let receiver = Receiver::that(does.clone()).await;
        let id = register(&app, &json!({"url": receiver.url, "allow_private": true})).await;
        app.submit().await;
        let error = error_of(&app, &id).await;
        assert!(error.contains(expected), "{does:?}: {error}");
        app.drain_jobs().await;
        assert_eq!(app.state().await, "REGISTRY_ADMITTED", "nobody waits for a receiver");
    }
}

#[tokio::test]
async fn inner_address_is_refused_unless_an_administrator_vouches_for_it() {
    let app = TestApp::start().await;
    let receiver = Receiver::that(Does::Takes).await;
    let plain = app.post(OPERATOR, "/api/v1/webhooks", &json!({"url": receiver.url})).await;
    assert_eq!(plain.0, 400, "http: {}", plain.1);
    let spelled = app.post(OPERATOR, "/api/v1/webhooks", &json!({"url": "https://169.254.169.254/"})).await;
    assert_eq!((spelled.0, &spelled.1["code"]), (400, &json!("INVALID_REQUEST")), "{}", spelled.1);
    let vouched = json!({"url": receiver.url, "allow_private": true});
    let refused = app.post(OPERATOR, "/api/v1/webhooks", &vouched).await;
    assert_eq!((refused.0, &refused.1["code"]), (403, &json!("FORBIDDEN")), "{}", refused.1);
    let metadata = json!({"url": "http://169.254.169.254/", "allow_private": true});
    assert_eq!(app.post(ADMIN, "/api/v1/webhooks", &metadata).await.0, 400, "not even then");
    // a name is looked up at each delivery only
    let named = receiver.url.replace("http:", "https:").replace("127.0.0.1", "localhost");
    let id = register(&app, &json!({"url": named})).await;
    app.submit().await;
    let error = error_of(&app, &id).await;
    assert!(error.contains("refused") && receiver.told().is_empty(), "{error}");
}

/// L-12: one that hangs takes its own time only.
#[tokio::test]
async fn slow_receivers_do_not_keep_others_waiting() {
    let app = TestApp::start().await;
    let slow = Receiver::that(Does::Hangs).await;
    let mut hanging = Vec::new();
    for _ in 0..4 {
        hanging.push(register(&app, &json!({"url": slow.url, "allow_private": true})).await);
    }
    let quick = Receiver::that(Does::Takes).await;
    register(&app, &json!({"url": quick.url, "allow_private": true})).await;
    app.submit().await;
    let told = || async { quick.kinds().contains(&"version.submitted".to_owned()) };
    app.until("the quick one is told", told).await;
    for id in hanging {
        assert_eq!(hook(&app, &id).await["last_error"], Value::Null, "the slow ones are still at their first try");
    }
    app.drain_jobs().await;
    let done = || async { quick.kinds().iter().filter(|kind| *kind == "version.moved").count() >= 4 };
    app.until("it is told the rest", done).await;
    let told: Vec<_> = quick.told().iter().map(|told| told.event()["revision"].as_u64()).collect();
    assert!(told.is_sorted(), "in order: {told:?}");
}

/// A key in an address is its owner's: neither lists nor errors nor the audit show it, and deliveries still use it.
#[tokio::test]
async fn key_in_an_address_is_shown_nowhere() {
    let app = TestApp::start().await;
    let receiver = Receiver::that(Does::Takes).await;
    let url = format!("{}?token=s3cret-s3cret&channel=ops", receiver.url);
    let (status, hook) = app.post(ADMIN, "/api/v1/webhooks", &json!({"url": url, "allow_private": true})).await;
    assert_eq!((status, &hook["url"]), (201, &json!(format!("{}?token=…&channel=…", receiver.url))));
    let closed = "https://127.0.0.1:9/services/Abcdef0123456789?token=s3cret-s3cret";
    let id = register(&app, &json!({"url": closed, "allow_private": true})).await;
    app.submit().await;
    error_of(&app, &id).await;
    app.until("it is delivered", || async { !receiver.told().is_empty() }).await;
    for (caller, path) in
        [(OPERATOR, "/api/v1/webhooks"), (AUDITOR, "/api/v1/audit?limit=500"), (ADMIN, "/api/v1/events?limit=500")]
    {
        let (status, said) = app.get(caller, path).await;
        let said = said.to_string();
        assert!(status == 200 && !said.contains("s3cret") && !said.contains("Abcdef0"), "{path}: {said}");
    }
}

/// A repeat by its key is no second receiver.
#[tokio::test]
async fn receiver_is_registered_once_by_its_key() {
    let app = TestApp::start().await;
    let add = |url: &str| {
        let body = json!({"url": url}).to_string();
        app.request("POST", OPERATOR, "/api/v1/webhooks").header("Idempotency-Key", "k").body("application/json", body)
    };
    let (first, repeat) = (app.send(add("https://a.invalid/")).await, app.send(add("https://a.invalid/")).await);
    assert_eq!((first.0, &first.1), (201, &repeat.1));
    assert_eq!(app.get(OPERATOR, "/api/v1/webhooks").await.1.as_array().map(Vec::len), Some(1));
    let other = app.send(add("https://b.invalid/")).await;
    assert_eq!((other.0, &other.1["code"]), (422, &json!("IDEMPOTENCY_MISMATCH")), "{}", other.1);
}

/// A cursor that nobody gave out is told, or whoever waits behind it would miss what happens.
#[tokio::test]
async fn cursor_beyond_the_newest_event_is_refused() {
    let app = TestApp::start().await;
    app.submit().await;
    let (status, page) = app.get(PUBLISHER, "/api/v1/events?limit=500").await;
    assert_eq!(status, 200, "{page}");
    let next: u64 = page["next"].as_str().expect("a cursor").parse().expect("a number");
    let (status, end) = app.get(PUBLISHER, &format!("/api/v1/events?after={next}")).await;
    assert_eq!((status, &end["next"], &end["more"]), (200, &json!(next.to_string()), &json!(false)), "{end}");
    let (status, problem) = app.get(PUBLISHER, "/api/v1/events?after=999999999").await;
    assert_eq!((status, &problem["code"]), (400, &json!("INVALID_REQUEST")), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|d| d.contains("newest revision")), "{problem}");
}

#[tokio::test]
async fn one_receiver_too_many_is_refused() {
    let app = TestApp::start().await;
    let body = |namespace: Option<&str>| json!({"url": "https://hooks.invalid/", "namespace": namespace});
    for _ in 0..20 {
        register(&app, &body(Some("acme"))).await;
    }
    let (status, problem) = app.post(OPERATOR, "/api/v1/webhooks", &body(Some("acme"))).await;
    assert_eq!((status, &problem["code"]), (403, &json!("LIMIT_REACHED")), "{problem}");
    let first = register(&app, &body(None)).await;
    assert!(!first.is_empty(), "the others are not in its way");
}

#[tokio::test]
async fn what_is_given_up_is_listed_and_what_follows_is_told() {
    let app = TestApp::start().await;
    let receiver = Receiver::that(Does::Refuses).await;
    let id = register(&app, &json!({"url": receiver.url, "allow_private": true})).await;
    app.put(ADMIN, "/api/v1/namespaces/acme", &json!({"mode": "enforce"})).await;
    for tries in 1..8 {
        app.until("it is tried", || async { receiver.told().len() == tries }).await;
        app.until("the try is written", || async { hook(&app, &id).await["tries"] == tries }).await;
        app.clock.advance(SignedDuration::from_hours(1));
        app.app().wake.ring();
    }
    let letters = format!("/api/v1/webhooks/{id}/dead-letters");
    app.until("it is given up", || async { app.get(OPERATOR, &letters).await.1[0].is_object() }).await;
    let dead = app.get(OPERATOR, &letters).await.1;
    assert_eq!((&dead[0]["tries"], &dead[0]["last_error"]), (&json!(8), &json!("answered 500")));
    receiver.now(Does::Takes);
    app.submit().await;
    app.until("what follows is told", || async { receiver.kinds().contains(&"version.submitted".to_owned()) }).await;
}

/// L-08, L-12: what the clock brings about is an event as well, once.
#[tokio::test]
async fn clock_tells_of_expiry_and_of_a_mode_that_ended() {
    let app = TestApp::start().await;
    app.activate().await;
    let observe = json!({"mode": "observe", "until": "2026-03-02T00:00:00Z", "reason": "first weeks"});
    assert_eq!(app.put(ADMIN, "/api/v1/namespaces/acme", &observe).await.0, 200);
    app.advance(SignedDuration::from_hours(6 * 24 + 1)).await;
    app.app().wake.ring();
    let wanted = ["evidence.expiring", "namespace.mode_expired"];
    let count = |kind: &'static str| {
        let app = &app;
        async move {
            let events = app.get(PUBLISHER, "/api/v1/events?limit=500").await.1;
            events["events"].as_array().expect("a list").iter().filter(|event| event["type"] == kind).count()
        }
    };
    for kind in wanted {
        app.until(kind, || async { count(kind).await > 0 }).await;
    }
    app.advance(SignedDuration::from_mins(5)).await;
    app.app().wake.ring();
    app.verify().await;
    for kind in wanted {
        assert_eq!(count(kind).await, 1, "{kind} is told once");
    }
}

#[tokio::test]
async fn feed_of_events_is_in_order_and_of_ones_own_namespaces() {
    let app = TestApp::start().await;
    app.admit().await;
    let page = app.get(PUBLISHER, "/api/v1/events?limit=5").await.1;
    let rest =
        app.get(PUBLISHER, &format!("/api/v1/events?after={}", page["next"].as_str().expect("a cursor"))).await.1;
    let all = |page: &Value| page["events"].as_array().expect("a list").clone();
    let events: Vec<Value> = all(&page).into_iter().chain(all(&rest)).collect();
    assert!(events.is_sorted_by_key(|event| event["revision"].as_u64()));
    let moves: Vec<_> =
        events.iter().filter(|e| e["type"] == "version.moved").map(|e| e["data"]["to"].clone()).collect();
    assert_eq!(moves, ["STATIC_VALIDATED", "CONFORMANCE_VERIFIED", "SECURITY_VERIFIED", "REGISTRY_ADMITTED"]);
    let foreign = app.get(STRANGER, "/api/v1/events?limit=500").await.1;
    assert_eq!(foreign["events"], json!([]));
}
