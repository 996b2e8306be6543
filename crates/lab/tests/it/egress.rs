//! The egress observer as a candidate and a judge see it (A-06, X-01 stand on it).

use std::{net::SocketAddr, sync::Arc};

use ostiary_lab::{AllowList, EgressObserver, EgressOptions};
use ostiary_record::{Kind, ports::Observer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    behind::{BODY, Behind},
    story::tape,
};

/// An observer that lets `payments.example.test` be called, and leads it to `behind`.
async fn observer(behind: &Behind, only_way_out: bool) -> EgressObserver {
    let allow = AllowList::of(&["payments.example.test"]).unwrap();
    let to = |port: u16| (format!("payments.example.test:{port}"), behind.addr.to_string());
    let connect_to = [to(80), to(443)].into();
    EgressObserver::start(EgressOptions { allow, connect_to, only_way_out, ..EgressOptions::default() }).await.unwrap()
}

async fn say(addr: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test]
async fn a_plain_request_to_a_host_on_the_list_passes_and_is_counted() {
    let behind = Behind::http().await;
    let observer = observer(&behind, true).await;
    let request = "POST http://payments.example.test/pay?card=4711 HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nconnection: close\r\n\r\nabc";
    let said = say(observer.addr(), request).await;
    assert!(said.starts_with("HTTP/1.1 200") && said.ends_with(BODY), "{said}");
    let went = &observer.departures()[0];
    assert_eq!((went.host.as_str(), went.port, went.allowed), ("payments.example.test", 80, true));
    assert_eq!(went.address, Some(behind.addr.to_string()));
    assert!(went.received_bytes > 10 && went.sent_bytes > 10, "{went:?}");
    let told = serde_json::to_string(went).unwrap();
    assert!(told.contains("/pay") && !told.contains("4711"), "{told}");
}

#[tokio::test]
async fn a_tunnel_passes_bytes_both_ways_and_is_counted_when_it_ends() {
    let behind = Behind::echo().await;
    let observer = observer(&behind, true).await;
    let mut stream = TcpStream::connect(observer.addr()).await.unwrap();
    stream
        .write_all(b"CONNECT payments.example.test:443 HTTP/1.1\r\nhost: payments.example.test:443\r\n\r\n")
        .await
        .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.unwrap() > 0);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", String::from_utf8_lossy(&head));
    stream.write_all(b"secret").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).await.unwrap();
    assert_eq!(back, "secret");
    let went = observer.departures().remove(0);
    observer.shutdown().await;
    assert_eq!((went.port, went.sent_bytes, went.received_bytes), (443, 6, 6));
    assert!(!serde_json::to_string(&went).unwrap().contains("secret"));
}

#[tokio::test]
async fn who_is_not_on_the_list_is_refused_and_written_down() {
    let behind = Behind::http().await;
    let observer = observer(&behind, true).await;
    for request in [
        "GET http://evil.example.test/collect HTTP/1.1\r\nhost: evil.example.test\r\nconnection: close\r\n\r\n",
        "CONNECT evil.example.test:443 HTTP/1.1\r\nhost: evil.example.test:443\r\nconnection: close\r\n\r\n",
        "CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: 169.254.169.254:80\r\nconnection: close\r\n\r\n",
    ] {
        let said = say(observer.addr(), request).await;
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    }
    let went = observer.departures();
    assert!(went.len() == 3 && went.iter().all(|went| !went.allowed && went.address.is_none()), "{went:?}");
    assert_eq!(behind.served(), 0);
}

#[tokio::test]
async fn what_names_no_host_is_no_request_for_a_proxy() {
    let behind = Behind::http().await;
    let observer = observer(&behind, true).await;
    let said = say(observer.addr(), "GET /local HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
    assert!(said.starts_with("HTTP/1.1 400"), "{said}");
    assert_eq!(observer.departures(), []);
}

#[tokio::test]
async fn nobody_there_is_told_to_the_candidate_and_to_the_judge() {
    let behind = Behind::http().await;
    let observer = observer(&behind, true).await;
    drop(behind);
    let request = "GET http://payments.example.test/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert!(say(observer.addr(), request).await.starts_with("HTTP/1.1 502"));
    let went = &observer.departures()[0];
    assert!(went.allowed && went.address.is_none() && went.until.is_some(), "{went:?}");
}

#[tokio::test]
async fn a_window_holds_its_own_calls_and_is_complete_only_where_there_is_no_other_way_out() {
    let behind = Behind::http().await;
    let request = "GET http://payments.example.test/ HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for only_way_out in [true, false] {
        let observer = Arc::new(observer(&behind, only_way_out).await);
        let tape = tape();
        say(observer.addr(), request).await;
        let mark = observer.begin(&tape).await.unwrap();
        say(observer.addr(), request).await;
        let seen = observer.since(&tape, mark).await.unwrap().kind;
        let Kind::Observed { effects, complete, .. } = seen else { panic!("{seen:?}") };
        let calls = effects["egress"].as_array().unwrap();
        assert_eq!((calls.len(), calls[0]["n"].as_u64(), complete), (1, Some(1), only_way_out));
    }
}
