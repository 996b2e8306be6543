//! Faults where bytes pass unread: gRPC, TLS and databases stand behind this proxy.

use std::{convert::Infallible, io::ErrorKind, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use ostiary_lab::{TcpOptions, TcpProxy};
use ostiary_record::{Down, Fault, FaultPlan, Point, When, ports::Faults};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::behind::Behind;

const LONG: Duration = Duration::from_secs(600);

async fn before(behind: &Behind) -> TcpProxy {
    let options = TcpOptions { place: "store".to_owned(), ..TcpOptions::default() };
    TcpProxy::start(behind.addr.to_string(), options).await.unwrap()
}

/// Says four bytes and reads four back.
async fn turn(stream: &mut TcpStream) -> std::io::Result<String> {
    stream.write_all(b"ping").await?;
    let mut back = [0; 4];
    stream.read_exact(&mut back).await?;
    Ok(String::from_utf8_lossy(&back).into_owned())
}

#[tokio::test]
async fn bytes_pass_both_ways_and_either_side_may_finish_first() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    let long = vec![7_u8; 300_000];
    let (mut read, mut write) = stream.split();
    let mut back = Vec::new();
    let said = async {
        write.write_all(&long).await.unwrap();
        write.shutdown().await.unwrap();
    };
    tokio::join!(said, async { read.read_to_end(&mut back).await.unwrap() });
    assert!(back == long, "{} bytes came back", back.len());
    assert_eq!(proxy.faults().ledger(), []);
    proxy.shutdown().await;
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "a test measures the runtime's own, paused time")]
async fn each_turn_of_a_conversation_is_late() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    proxy.faults().apply(Some(FaultPlan::always(Fault::Latency { millis: 1_000 }))).await.unwrap();
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    let start = Instant::now();
    for _ in 0..3 {
        assert_eq!(turn(&mut stream).await.unwrap(), "ping");
    }
    assert!(start.elapsed() >= Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(proxy.faults().ledger()[0].waited_millis, 3_000);
}

#[tokio::test]
async fn a_connection_breaks_after_its_byte() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    for (fault, end) in [
        (Fault::Reset { at: Point::AfterBytes(6) }, ErrorKind::ConnectionReset),
        (Fault::Partial { at: Point::AfterBytes(6) }, ErrorKind::UnexpectedEof),
        (Fault::HalfClose { at: Point::AfterBytes(6) }, ErrorKind::UnexpectedEof),
    ] {
        proxy.faults().apply(Some(FaultPlan::always(fault))).await.unwrap();
        let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
        assert_eq!(turn(&mut stream).await.unwrap(), "ping");
        assert_eq!(turn(&mut stream).await.unwrap_err().kind(), end, "{fault:?}");
    }
    assert!(proxy.faults().ledger().iter().all(|entry| entry.passed_bytes == 6 && entry.reached));
}

#[tokio::test]
async fn the_second_connection_alone_never_reaches_what_stands_behind() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    let plan = FaultPlan::when(When::Only(2), Fault::Down { how: Down::Refuse });
    proxy.faults().apply(Some(plan)).await.unwrap();
    let mut turns = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
        turns.push(turn(&mut stream).await.is_ok());
    }
    assert_eq!((turns, behind.served()), (vec![true, false, true], 2));
}

#[tokio::test]
async fn a_store_that_goes_down_cuts_its_connections_and_comes_back() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    let mut pooled = TcpStream::connect(proxy.addr()).await.unwrap();
    turn(&mut pooled).await.unwrap();
    proxy.faults().apply(Some(FaultPlan::always(Fault::Down { how: Down::Refuse }))).await.unwrap();
    assert!(turn(&mut pooled).await.is_err());
    let refused = TcpStream::connect(proxy.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    proxy.faults().apply(None).await.unwrap();
    assert_eq!(turn(&mut TcpStream::connect(proxy.addr()).await.unwrap()).await.unwrap(), "ping");
    let cut = &proxy.faults().ledger()[0];
    assert_eq!((cut.exchange, cut.what.as_str(), cut.reached), (1, "connection", true));
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_holds_what_was_open_and_lets_it_go_on_afterwards() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    let mut open = TcpStream::connect(proxy.addr()).await.unwrap();
    turn(&mut open).await.unwrap();
    proxy.faults().apply(Some(FaultPlan::always(Fault::Down { how: Down::BlackHole }))).await.unwrap();
    open.write_all(b"late").await.unwrap();
    let mut back = [0; 4];
    assert!(timeout(LONG, open.read_exact(&mut back)).await.is_err(), "it answered");
    let mut fresh = TcpStream::connect(proxy.addr()).await.unwrap();
    assert!(timeout(LONG, turn(&mut fresh)).await.is_err(), "it answered");
    assert_eq!(behind.served(), 1);
    proxy.faults().apply(None).await.unwrap();
    open.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"late");
}

#[tokio::test]
async fn nobody_behind_is_a_connection_that_comes_to_nothing() {
    let behind = Behind::echo().await;
    let proxy = before(&behind).await;
    drop(behind);
    let mut stream = TcpStream::connect(proxy.addr()).await.unwrap();
    assert!(turn(&mut stream).await.is_err());
}

/// HTTP/2 as gRPC speaks it: the proxy does not need to know.
#[tokio::test]
async fn http2_passes_and_breaks() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((tcp, _)) = listener.accept().await {
            let service = hyper::service::service_fn(|_| async {
                Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from(vec![b'x'; 5_000]))))
            });
            connections.spawn(async move {
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(TokioIo::new(tcp), service).await;
            });
        }
    });
    let proxy = TcpProxy::start(addr.to_string(), TcpOptions::default()).await.unwrap();
    assert_eq!(get_by_http2(proxy.addr()).await.unwrap(), 5_000);
    proxy.faults().apply(Some(FaultPlan::always(Fault::Reset { at: Point::AfterBytes(2_000) }))).await.unwrap();
    get_by_http2(proxy.addr()).await.unwrap_err();
    assert_eq!(proxy.faults().ledger()[0].passed_bytes, 2_000);
}

async fn get_by_http2(addr: SocketAddr) -> Result<usize, hyper::Error> {
    let tcp = TcpStream::connect(addr).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tcp)).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let request = http::Request::post("http://agent.test/a2a").body(Full::new(Bytes::new())).unwrap();
    let response = sender.send_request(request).await?;
    Ok(response.into_body().collect().await?.to_bytes().len())
}
