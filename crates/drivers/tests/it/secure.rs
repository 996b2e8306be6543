//! TLS: the URL's name is what counts, wherever the connection leads.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ostiary_drivers::{HttpTransport, Settings};
use ostiary_record::{
    End, Route,
    ports::{Carrier, CouldNotRun, Fetch, Fetched, Outbound},
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use sha2::{Digest, Sha256};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use crate::setup::{finish, hasty_tape, limits, nobody, open_on, open_to, open_with, post};

struct TlsServer {
    addr: SocketAddr,
    pem: Vec<u8>,
    spki_sha256: String,
    accepted: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

/// A server that speaks HTTP/2 over TLS, where it agrees to it, and answers each call with a head alone.
async fn serve_grpc(alpn: &[u8]) -> TlsServer {
    let (mut config, pem, spki_sha256) = identity();
    config.alpn_protocols = vec![alpn.to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(tls) = acceptor.accept(tcp).await else { continue };
            let Ok(mut connection) = h2::server::handshake(tls).await else { continue };
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                assert_eq!(request.uri().to_string(), "https://agents.example.com/a.B/C");
                let head =
                    http::Response::builder().header("content-type", "application/grpc").header("grpc-status", "0");
                respond.send_response(head.body(()).unwrap(), true).unwrap();
            }
        }
    });
    TlsServer { addr, pem, spki_sha256, accepted: Arc::default(), _tasks: tasks }
}

/// A self-signed server for `agents.example.com`; closes without TLS's goodbye when `rude`.
async fn serve(answer: &'static str, rude: bool) -> TlsServer {
    let (config, pem, spki_sha256) = identity();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    tasks.spawn(async move {
        let mut peers = JoinSet::new();
        while let Ok((tcp, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let acceptor = acceptor.clone();
            peers.spawn(async move {
                let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                let mut request = [0; 4096];
                while tls.read(&mut request).await.is_ok_and(|n| n > 0) {
                    tls.write_all(answer.as_bytes()).await.unwrap();
                    tls.flush().await.unwrap();
                    if rude {
                        tls.get_mut().0.shutdown().await.unwrap();
                        return;
                    }
                }
            });
        }
    });
    TlsServer { addr, pem, spki_sha256, accepted, _tasks: tasks }
}

/// A self-signed identity for `agents.example.com`: configuration, certificate, digest of the key.
fn identity() -> (rustls::ServerConfig, Vec<u8>, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["agents.example.com".to_owned()]).unwrap();
    let spki = rcgen::PublicKeyData::subject_public_key_info(&signing_key);
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    (config, cert.pem().into_bytes(), hex::encode(Sha256::digest(spki)))
}

const CARD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

fn routed(server: &TlsServer, name: &str, trust_roots: Option<Vec<u8>>) -> Settings {
    let connect_to = [(format!("{name}:443"), server.addr.to_string())].into();
    Settings { connect_to, trust_roots, ..Settings::default() }
}

async fn get(settings: Settings, url: &str) -> Result<Fetched, CouldNotRun> {
    HttpTransport::new(settings).unwrap().get(url, &[], limits()).await
}

#[tokio::test]
async fn production_urls_are_served_in_staging_and_the_server_key_is_named() {
    let server = serve(CARD, false).await;
    let settings = routed(&server, "agents.example.com", Some(server.pem.clone()));
    let fetched = get(settings, "https://agents.example.com/card").await.unwrap();
    assert_eq!(fetched.spki_sha256.as_deref(), Some(server.spki_sha256.as_str()));
    assert_eq!((fetched.url.as_str(), &fetched.body[..]), ("https://agents.example.com/card", &b"{}"[..]));
}

#[tokio::test]
async fn a_name_or_an_authority_that_does_not_fit_is_no_connection() {
    let server = serve(CARD, false).await;
    let other = serve(CARD, false).await;
    for (name, roots) in [
        ("agents.example.com", None),
        ("agents.example.com", Some(other.pem.clone())),
        ("other.example.com", Some(server.pem.clone())),
    ] {
        let error = get(routed(&server, name, roots), &format!("https://{name}/")).await.unwrap_err();
        assert!(matches!(&error, CouldNotRun::Unreachable { why, .. } if why.starts_with("TLS: ")), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_out_of_tls_is_refused() {
    let server =
        serve("HTTP/1.1 302 Found\r\nLocation: http://agents.example.com/\r\nContent-Length: 0\r\n\r\n", false).await;
    let settings = routed(&server, "agents.example.com", Some(server.pem.clone()));
    let settings = Settings { allow_insecure_http: true, ..settings };
    let error = get(settings, "https://agents.example.com/").await.unwrap_err();
    assert!(error.to_string().contains("from https to"), "{error}");
}

#[tokio::test]
async fn a_body_cut_without_the_goodbye_of_tls_is_a_reset() {
    let server = serve("HTTP/1.1 200 OK\r\n\r\nhalf", true).await;
    let settings = routed(&server, "agents.example.com", Some(server.pem.clone()));
    let url = "https://agents.example.com/".to_owned();
    let (tape, mut channel) = open_with(settings, url, &nobody(), limits()).await.unwrap();
    let x = channel.start(post("{}"));
    let seen = finish(&tape, channel.as_mut(), x).await;
    assert!(matches!(seen.end, End::PeerReset { .. }), "{:?}", seen.end);
}

#[tokio::test]
async fn a_secure_channel_reuses_its_connection() {
    let server = serve(CARD, false).await;
    let settings = routed(&server, "agents.example.com", Some(server.pem.clone()));
    let url = "https://agents.example.com/".to_owned();
    let tape = hasty_tape();
    let mut channel = open_on(&tape, settings, url, (&nobody(), limits())).await.unwrap();
    for _ in 0..3 {
        let x = channel.start(post("{}"));
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete);
    }
    assert_eq!(server.accepted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn grpc_speaks_tls_under_the_declared_name_where_the_server_agrees_to_http_2() {
    let server = serve_grpc(b"h2").await;
    let open = |settings: Settings, url: &str| {
        let url = url.to_owned();
        async move { open_to(settings, url, (&nobody(), limits()), Carrier::Grpc).await }
    };
    let trusted = || routed(&server, "agents.example.com", Some(server.pem.clone()));
    for url in ["https://agents.example.com", "agents.example.com:443", "dns:///agents.example.com:443"] {
        let (tape, mut channel) = open(trusted(), url).await.unwrap();
        let route = Route::Grpc { path: "/a.B/C".into() };
        let x = channel.start(Outbound { route, headers: vec![], ..post("") });
        assert_eq!(finish(&tape, channel.as_mut(), x).await.end, End::Complete, "{url}");
    }
    let unknown = open(routed(&server, "agents.example.com", None), "https://agents.example.com").await;
    assert!(matches!(unknown, Err(CouldNotRun::Unreachable { why, .. }) if why.starts_with("TLS")));
    // a certificate that is not trusted is no reason to speak in plaintext
    for url in ["https://agents.example.com", "agents.example.com:443"] {
        let lax = Settings { allow_insecure_http: true, ..routed(&server, "agents.example.com", None) };
        let refused = open(lax, url).await;
        assert!(matches!(refused, Err(CouldNotRun::Unreachable { why, .. }) if why.contains("certificate")), "{url}");
    }
    let old = serve_grpc(b"http/1.1").await;
    let refused = open(routed(&old, "agents.example.com", Some(old.pem.clone())), "https://agents.example.com").await;
    assert!(matches!(refused, Err(CouldNotRun::Unreachable { .. })));
}
