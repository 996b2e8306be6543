//! The example proxy as it is started by hand, in front of an agent that streams.

use std::{
    convert::Infallible,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use ostiary_admission::{AdmissionRecord, Change, State};
use ostiary_canon::dsse::Jwks;
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_router::Digest;
use tokio::{net::TcpListener, net::TcpStream, task::JoinSet};

use crate::{
    clock::TestTime,
    plane::{PATIENCE, PROFILE, Plane, record},
};

/// An agent whose card a test sets, and whose answers never end by themselves.
struct Agent {
    address: String,
    card: Arc<Mutex<serde_json::Value>>,
    _serving: JoinSet<()>,
}

/// The proxy's process; ends with the test.
struct Proxy {
    child: Child,
    address: String,
}

impl Agent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let card = Arc::new(Mutex::new(serde_json::json!({"name": "planner", "version": "1.0.0"})));
        let mut serving = JoinSet::new();
        let served = Arc::clone(&card);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let card = Arc::clone(&served);
                let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                    let card = card.lock().unwrap().to_string();
                    async move { Ok::<_, Infallible>(Self::answer(&request, card)) }
                });
                connections.spawn(async move {
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, card, _serving: serving }
    }

    fn answer(request: &Request<Incoming>, card: String) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        if request.uri().path().ends_with("agent-card.json") {
            return Response::new(http_body_util::Full::new(Bytes::from(card)).boxed_unsync());
        }
        let first = futures::stream::once(async { Ok(Frame::data(Bytes::from_static(b"data: working\n\n"))) });
        let body = StreamBody::new(first.chain(futures::stream::pending())).boxed_unsync();
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    }

    fn digest(&self) -> Digest {
        card_digest(&self.card.lock().unwrap()).unwrap()
    }

    fn record(&self, plane: &Plane, state: State) -> AdmissionRecord {
        let mut record = record("acme/planner", "1.0.0", state);
        let evidence = record.evidence.as_mut().unwrap();
        evidence.card_digest = self.digest();
        evidence.expires_at = plane.time.truth() + jiff::SignedDuration::from_hours(1);
        evidence.profiles[0].expires_at = evidence.expires_at;
        record
    }
}

impl Proxy {
    fn start(plane: &Plane, agent: &Agent, directory: &std::path::Path) -> Self {
        let keys = directory.join("keys.json");
        let jwks = Jwks::of([&plane.key.verifying_key()]);
        std::fs::write(&keys, serde_json::to_vec(&jwks).unwrap()).unwrap();
        let mut child = Command::new(binary())
            .args(["--agent", "acme/planner", "--version", "1.0.0", "--profile", PROFILE])
            .args(["--upstream", &format!("http://{}", agent.address)])
            .args(["--control-plane", &plane.endpoint().uri().to_string()])
            .args(["--cut-after", "0", "--card-every", "1", "--trust"])
            .arg(&keys)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on http://").unwrap_or_else(|| panic!("said: {line}")).to_owned();
        Self { child, address }
    }

    async fn get(&self, path: &str) -> Response<Incoming> {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut connections = JoinSet::new();
        connections.spawn(async move { drop(connection.await) });
        let request = Request::get(path).header("host", &*self.address).body(Empty::<Bytes>::new()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        connections.detach_all();
        answer
    }

    async fn wait_for(&self, status: StatusCode, path: &str) -> Response<Incoming> {
        let waiting = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(20));
            loop {
                ticks.tick().await;
                let answer = self.get(path).await;
                if answer.status() == status {
                    return answer;
                }
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{path} never answered {status}"))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cargo builds examples beside the tests, in the next folder.
fn binary() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples").join("checking_proxy")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_streams_cuts_on_quarantine_and_denies_a_changed_card() {
    let (plane, directory) = (Plane::with_time(TestTime::real()).await, tempfile::tempdir().unwrap());
    let agent = Agent::start().await;
    plane.publish([Change::Upsert(agent.record(&plane, State::Active))]);
    let proxy = Proxy::start(&plane, &agent, directory.path());
    proxy.wait_for(StatusCode::OK, "/healthz").await;
    let answer = proxy.get("/v1/message:stream").await;
    assert_eq!((answer.status(), &answer.headers()["x-ostiary-decision"]), (StatusCode::OK, &"ALLOW".parse().unwrap()));
    let mut body = answer.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: working\n\n");
    let lowered = plane.publish([Change::Upsert(agent.record(&plane, State::Quarantined))]);
    let next = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap();
    assert!(next.unwrap().is_err(), "the running stream is cut, and not ended");
    crate::plane::until("the quarantine is proved", || plane.has_applied(lowered)).await;
    let denied = proxy.get("/v1/message:send").await;
    assert_eq!(denied.status(), StatusCode::FORBIDDEN);
    assert_eq!(denied.headers()["x-ostiary-reason"], "QUARANTINED");
    plane.publish([Change::Upsert(agent.record(&plane, State::Active))]);
    proxy.wait_for(StatusCode::OK, "/v1/message:stream").await;
    agent.card.lock().unwrap()["description"] = "now I also pay invoices".into();
    let denied = proxy.wait_for(StatusCode::FORBIDDEN, "/v1/message:stream").await;
    assert_eq!(denied.headers()["x-ostiary-reason"], "CARD_DIGEST_MISMATCH");
    crate::plane::until("the control plane is told", || !plane.told.drift.lock().unwrap().is_empty()).await;
    assert_eq!(plane.told.drift.lock().unwrap()[0].observed_digest, agent.digest().to_string());
    let metrics = proxy.get("/metrics").await.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&metrics).contains("ostiary_router_decisions_total{reason=\"QUARANTINED\"}"));
}
