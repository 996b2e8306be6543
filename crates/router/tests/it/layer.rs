//! The tower layer: nothing goes on without a decision.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use ostiary_admission::State;
use ostiary_router::{AdmissionLayer, Ask, Dispatch, InFlight, Phase, Question, Router, RouterConfig};
use tower::{Layer as _, Service as _, ServiceExt as _, service_fn};

use crate::plane::{PATIENCE, Plane, query, until};

fn layer(router: &Router, version: &'static str) -> AdmissionLayer<impl Fn(&http::request::Parts) -> Ask + use<>> {
    AdmissionLayer::new(router.clone(), move |parts| Ask {
        question: Question {
            consumer: parts.headers.get("x-consumer").and_then(|name| name.to_str().ok()).map(Into::into),
            ..Question::of(&query("acme/planner", version))
        },
        at_least: None,
    })
}

/// An agent that says what it was told.
async fn echo(request: Request<()>) -> Result<Response<Full<Bytes>>, Infallible> {
    assert!(request.extensions().get::<std::sync::Arc<Dispatch>>().is_some(), "it comes with its dispatch");
    let seen = request.headers().keys().filter(|name| name.as_str().starts_with("x-ostiary-")).count();
    let body = Full::new(Bytes::from(seen.to_string()));
    Ok(Response::builder().header("x-ostiary-decision", "DENY").body(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_request_goes_on_without_forged_headers_and_its_answer_says_why() {
    let plane = Plane::start().await;
    let revision = plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let mut service = layer(&router, "1.0.0").layer(service_fn(echo));
    let request = Request::builder().header("x-ostiary-reason", "ALLOWED").body(()).unwrap();
    let answer = service.ready().await.unwrap().call(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["x-ostiary-decision"], "ALLOW");
    assert_eq!(answer.headers()["x-ostiary-reason"], "ALLOWED");
    assert_eq!(answer.headers()["x-ostiary-revision"], revision.to_string().as_str());
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_is_a_403_and_a_stale_copy_a_503_and_neither_goes_on() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Quarantined);
    let never = |_: Request<()>| async { Err::<Response<Full<Bytes>>, _>("it went on") };
    let mut config = plane.config();
    config.ask_within = Duration::from_millis(50);
    let router = plane.router_with(config).await;
    let mut service = layer(&router, "1.0.0").layer(service_fn(never));
    let answer = service.call(Request::new(())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let document = answer.into_body().collect().await.unwrap().to_bytes();
    let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
    assert_eq!((&document["code"], &document["status"]), (&"QUARANTINED".into(), &403.into()));
    plane.cut();
    until("it notices", || router.status().scopes[0].phase == Phase::Away).await;
    plane.time.advance(60);
    let answer = service.call(Request::new(())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["x-ostiary-reason"], "VIEW_STALE");
    assert_eq!(answer.headers()["retry-after"], "1");
}

/// An agent whose answer never ends by itself.
async fn endless(
    _: Request<()>,
) -> Result<Response<impl http_body::Body<Data = Bytes, Error = Infallible>>, Infallible> {
    let first = futures::stream::once(async { Ok(Frame::data(Bytes::from_static(b"working"))) });
    Ok(Response::new(StreamBody::new(futures::StreamExt::chain(first, futures::stream::pending()))))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_answer_is_cut_by_a_quarantine() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let in_flight = InFlight::CutAfter(Duration::ZERO);
    let router = plane.router_with(RouterConfig { in_flight, ..plane.config() }).await;
    let mut service = layer(&router, "1.0.0").layer(service_fn(endless));
    let mut body = service.call(Request::new(())).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "working");
    plane.set("acme/planner", "1.0.0", State::Quarantined);
    let next = tokio::time::timeout(PATIENCE, body.frame()).await.unwrap().unwrap();
    assert_eq!(next.unwrap_err().to_string(), "the dispatch was cut: QUARANTINED");
    assert!(body.frame().await.is_none());
    assert_eq!(router.status().under_way, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_leaves_something_out_is_denied() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let nothing = AdmissionLayer::new(router.clone(), |_| Ask {
        question: Question { agent: "acme/planner".into(), version: "1.0.0".into(), ..Question::default() },
        at_least: None,
    });
    let answer = nothing.layer(service_fn(echo)).call(Request::new(())).await.unwrap();
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(answer.headers()["x-ostiary-reason"], "OBSERVED_DIGEST_MISSING");
}
