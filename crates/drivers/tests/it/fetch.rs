//! Fetching documents: redirects, the guard at each hop, bounds.

use std::time::Duration;

use ostiary_drivers::{AddressGuard, HttpTransport, Settings};
use ostiary_record::ports::{CouldNotRun, Fetch, Fetched, Limits};

use crate::{
    server::RawServer,
    setup::{limits, settings},
};

const CARD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"1\"\r\nContent-Length: 2\r\n\r\n{}";

async fn get(settings: Settings, url: &str, limits: Limits) -> Result<Fetched, CouldNotRun> {
    let headers = [("A2A-Version", "1.0"), ("Authorization", "Bearer abc")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    HttpTransport::new(settings).unwrap().get(url, &headers, limits).await
}

fn to(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn a_document_comes_as_it_is_served() {
    let server = RawServer::fixed(CARD).await;
    let fetched = get(settings(&server), &server.url("/.well-known/agent-card.json"), limits()).await.unwrap();
    assert_eq!((fetched.status, &fetched.body[..], fetched.spki_sha256), (200, &b"{}"[..], None));
    assert_eq!(fetched.headers[1], ("ETag".to_owned(), "\"1\"".to_owned()));
    assert!(server.requests()[0].starts_with("GET /.well-known/agent-card.json HTTP/1.1\r\n"));
    assert!(!server.requests()[0].to_lowercase().contains("accept-encoding"));
}

#[tokio::test]
async fn a_status_is_not_an_error() {
    let server = RawServer::fixed("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(get(settings(&server), &server.url("/"), limits()).await.unwrap().status, 404);
}

#[tokio::test]
async fn redirects_within_the_guard_are_followed_without_the_credential() {
    let last = RawServer::fixed(CARD).await;
    let first = RawServer::fixed(to(&last.url("/card"))).await;
    let mut both = settings(&first);
    both.guard = both.guard.exempt(&last.addr.to_string()).unwrap();
    let fetched = get(both, &first.url("/"), limits()).await.unwrap();
    assert_eq!(fetched.url, last.url("/card"));
    assert!(first.requests()[0].contains("Bearer abc"));
    assert!(last.requests()[0].contains("A2A-Version: 1.0") && !last.requests()[0].contains("Bearer"));
}

#[tokio::test]
async fn a_redirect_to_an_inner_address_is_refused_though_the_first_was_exempt() {
    let inner = RawServer::fixed(CARD).await;
    for location in
        [inner.url("/"), format!("http://localhost:{}/", inner.addr.port()), "http://169.254.169.254/".into()]
    {
        let first = RawServer::fixed(to(&location)).await;
        let error = get(settings(&first), &first.url("/"), limits()).await.unwrap_err();
        assert!(matches!(error, CouldNotRun::AddressRefused { .. }), "{location}: {error}");
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn redirects_end_after_three() {
    let server = RawServer::start(|mut peer| async move {
        if let Some(request) = peer.request().await {
            let n: u32 = request.split(['/', ' ']).nth(2).and_then(|n| n.parse().ok()).unwrap_or(0);
            let answer = if n == 0 { CARD.to_owned() } else { to(&format!("/{}", n - 1)) };
            peer.send(answer).await;
            peer.close().await;
        }
    })
    .await;
    assert_eq!(get(settings(&server), &server.url("/3"), limits()).await.unwrap().url, server.url("/0"));
    let error = get(settings(&server), &server.url("/4"), limits()).await.unwrap_err();
    assert!(error.to_string().contains("more than 3 redirects"), "{error}");
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused() {
    let server = RawServer::start(|mut peer| async move {
        use tokio::io::AsyncWriteExt;
        peer.request().await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
        while peer.tcp.write_all(&[b' '; 4096]).await.is_ok() {}
    })
    .await;
    let error = get(settings(&server), &server.url("/"), limits()).await.unwrap_err();
    assert!(error.to_string().contains("body_bytes"), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let server = RawServer::start(|mut peer| async move {
        peer.request().await;
        let _ = peer.hang().await;
    })
    .await;
    let bounds = Limits { exchange: Duration::from_millis(200), ..limits() };
    let error = get(settings(&server), &server.url("/"), bounds).await.unwrap_err();
    assert!(error.to_string().contains("within 200 ms"), "{error}");
}

#[tokio::test]
async fn a_cut_document_is_no_document() {
    let server = RawServer::fixed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}").await;
    let error = get(settings(&server), &server.url("/"), limits()).await.unwrap_err();
    assert!(error.to_string().contains("7 bytes before the end"), "{error}");
}

#[tokio::test]
async fn an_inner_address_is_refused_before_anything_is_dialled() {
    let server = RawServer::fixed(CARD).await;
    let guarded = Settings { allow_insecure_http: true, guard: AddressGuard::public_only(), ..Settings::default() };
    let error = get(guarded, &server.url("/"), limits()).await.unwrap_err();
    assert!(matches!(error, CouldNotRun::AddressRefused { .. }), "{error}");
    assert_eq!(server.connections(), 0);
}
