//! The plain client of our own commands.

use std::time::Duration;

use ostiary_drivers::http_client::{HttpClient, HttpClientError, Request};

use crate::server::RawServer;

fn client() -> HttpClient {
    HttpClient::for_operator(None).unwrap()
}

#[tokio::test]
async fn methods_bodies_and_fields_arrive_and_any_status_is_an_answer() {
    let server = RawServer::fixed("HTTP/1.1 422 Unprocessable Content\r\nX-A: b\r\nContent-Length: 3\r\n\r\nno!").await;
    for method in ["POST", "PUT", "DELETE"] {
        let request = Request::new(method, &server.url("/api/v1/agents?x=1"))
            .header("Authorization", "Bearer t")
            .body("application/json", "{}");
        let response = client().send(&request).await.unwrap();
        assert_eq!((response.status, &response.body[..], response.header("x-a")), (422, &b"no!"[..], Some("b")));
        let expect = format!(
            "{method} /api/v1/agents?x=1 HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
            server.addr
        );
        assert_eq!(server.requests().last(), Some(&expect));
    }
}

#[tokio::test]
async fn failures_are_told_apart() {
    let request = |url: &str| Request { timeout: Duration::from_millis(300), ..Request::new("GET", url) };
    let fail = async |url: &str| client().send(&request(url)).await.unwrap_err();
    let silent = RawServer::start(|mut peer| async move {
        peer.request().await;
        let _ = peer.hang().await;
    })
    .await;
    let garbage = RawServer::fixed("ERROR\r\n").await;
    assert!(matches!(fail(&silent.url("/")).await, HttpClientError::Timeout { millis: 300, .. }));
    assert!(matches!(fail(&garbage.url("/")).await, HttpClientError::Broken { .. }));
    assert!(matches!(fail("http://127.0.0.1:1/").await, HttpClientError::Unreachable { .. }));
    assert!(matches!(fail("gopher://127.0.0.1/").await, HttpClientError::Refused { .. }));
    assert!(matches!(fail("::").await, HttpClientError::Request { .. }));
}

#[tokio::test]
async fn an_answer_is_bounded() {
    let server = RawServer::fixed(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100))).await;
    let request = Request { max_bytes: 99, ..Request::new("GET", &server.url("/")) };
    assert!(matches!(client().send(&request).await, Err(HttpClientError::Broken { .. })));
    let request = Request { max_bytes: 100, ..request };
    assert_eq!(client().send(&request).await.unwrap().body.len(), 100);
}
