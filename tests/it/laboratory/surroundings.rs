//! Faults, callbacks and observers before clients and a database that other people wrote.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use ostiary_canon::dsse::SigningKey;
use ostiary_lab::{
    AllowList, CallbackOptions, CallbackReceiver, EgressObserver, EgressOptions, LyingProxy, Options, Policy,
    SqlObserver, SqlOptions, TcpOptions, TcpProxy, Upstream,
};
use ostiary_record::{
    Down, Fault, FaultPlan, Kind, MonoNanos, Monotonic, Point, Proof, Registration, Reply, Shown, Tape,
    ports::{Faults as _, Inbox, Observer},
};
use ostiary_store_postgres::cluster::Cluster;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};

use super::{javascript, printed, python};

/// A body long enough to be cut.
const BODY: &str = r#"{"active":false}"#;

struct Still;

impl Monotonic for Still {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}

fn tape() -> Tape {
    Tape::new(std::sync::Arc::new(Still))
}

#[expect(clippy::disallowed_methods, reason = "libraries of other people sign by the real time")]
fn receiver_options() -> CallbackOptions {
    CallbackOptions::new(Timestamp::now)
}

/// Something to stand behind a proxy: the callback receiver, which answers 200.
async fn behind() -> Result<(CallbackReceiver, LyingProxy, String)> {
    let receiver = CallbackReceiver::start(receiver_options()).await?;
    let address = receiver.register(&tape(), Registration { name: "behind".into(), ..Registration::default() });
    let upstream = Upstream::plain(receiver.addr().to_string());
    let proxy = LyingProxy::start(upstream, Policy::Record, Options::default()).await?;
    let url = format!("http://{}{}", proxy.addr(), address.path);
    Ok((receiver, proxy, url))
}

fn clients(url: &str) -> [(&'static str, Command); 2] {
    let (mut requests, mut fetch) = (python("lab_client.py"), javascript("fetch.mjs"));
    requests.args(["get", url]);
    fetch.args(["get", url]);
    [("requests", requests), ("fetch", fetch)]
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_meet_each_fault_as_what_it_is() -> Result<()> {
    let (_receiver, proxy, url) = behind().await?;
    for (fault, by_requests, by_fetch) in [
        (None, "ok ", "ok "),
        (Some(Fault::Latency { millis: 50 }), "ok ", "ok "),
        (
            Some(Fault::Reset { at: Point::BeforeRequest }),
            "ConnectionError ConnectionResetError",
            "TypeError ECONNRESET",
        ),
        (
            Some(Fault::Partial { at: Point::BeforeRequest }),
            "ConnectionError RemoteDisconnected",
            "TypeError UND_ERR_SOCKET",
        ),
        (Some(Fault::Down { how: Down::Refuse }), "ConnectionError ConnectionRefusedError", "TypeError ECONNREFUSED"),
    ] {
        proxy.faults().apply(fault.map(FaultPlan::always)).await?;
        for ((client, command), wanted) in clients(&url).into_iter().zip([by_requests, by_fetch]) {
            assert_eq!(printed(command, String::new()).await?, wanted.trim_end(), "{client}, {fault:?}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_do_not_take_a_partial_body_for_a_whole_one() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let serving = JoinSet::from_iter([async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let mut lost = [0; 4096];
            let _ = tcp.read(&mut lost).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{BODY}", BODY.len());
            let _ = tcp.write_all(head.as_bytes()).await;
        }
    }]);
    let proxy = LyingProxy::start(Upstream::plain(addr.to_string()), Policy::Record, Options::default()).await?;
    let url = format!("http://{}/", proxy.addr());
    for (fault, by_requests, by_fetch) in [
        (None, format!("ok {BODY}"), format!("ok {BODY}")),
        (
            Some(Fault::Partial { at: Point::AfterBytes(4) }),
            "ChunkedEncodingError IncompleteRead".to_owned(),
            "TypeError".to_owned(),
        ),
        (
            Some(Fault::Reset { at: Point::AfterBytes(4) }),
            "ChunkedEncodingError ConnectionResetError".to_owned(),
            "TypeError".to_owned(),
        ),
    ] {
        proxy.faults().apply(fault.map(FaultPlan::always)).await?;
        for ((client, command), wanted) in clients(&url).into_iter().zip([by_requests, by_fetch]) {
            // What node says beneath its error depends on its version.
            let said = printed(command, String::new()).await?;
            assert!(said.starts_with(&wanted), "{client}, {fault:?}: {said}");
        }
    }
    drop(serving);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_signed_by_a_library_is_verified() -> Result<()> {
    let receiver = CallbackReceiver::start(receiver_options()).await?;
    let key = SigningKey::from_seed([4; 32]);
    let folder = tempfile::tempdir()?;
    let pem = folder.path().join("key.pem");
    std::fs::write(&pem, key.to_pkcs8_pem()?)?;
    let mut public = ostiary_lab::JwtKey::from_seed(ostiary_canon::jwk::Algorithm::EdDsa, [4; 32]).jwk();
    public["kid"] = json!("agent-key");
    let proof = Proof::Jwt { jwks: json!({"keys": [public]}), audience: "callback-a".into(), issuer: None };
    let registration = Registration { name: "push".into(), proofs: vec![proof], ..Registration::default() };
    let address = receiver.register(&tape(), registration);
    for (audience, right) in [("callback-a", true), ("callback-b", false)] {
        let claims = json!({"aud": audience, "exp": 4_000_000_000_u64}).to_string();
        let mut sender = python("lab_client.py");
        sender.args(["sign", pem.to_str().context("a name")?, "EdDSA", &claims, &address.url]);
        assert_eq!(printed(sender, String::new()).await?, "200");
        let shown = receiver.arrived(&address).deliveries.last().map(|delivery| delivery.shown.clone());
        assert_eq!(shown == Some(Shown::Right), right, "{shown:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_follows_redirects_is_seen_where_it_ends() -> Result<()> {
    let receiver = CallbackReceiver::start(receiver_options()).await?;
    let elsewhere = receiver.register(&tape(), Registration { name: "elsewhere".into(), ..Registration::default() });
    let replies = vec![Reply::Redirect(elsewhere.url.clone())];
    let first = receiver.register(&tape(), Registration { name: "push".into(), replies, proofs: vec![] });
    let mut fetch = javascript("fetch.mjs");
    fetch.args(["post", &first.url]);
    assert_eq!(printed(fetch, String::new()).await?, format!("200 {}", elsewhere.path));
    assert!(receiver.wait(&elsewhere, 1, Duration::from_secs(10)).await);
    let (asked, followed) = (receiver.arrived(&first), receiver.arrived(&elsewhere));
    assert_eq!((asked.deliveries[0].answered, followed.deliveries[0].method.as_str()), (Some(307), "POST"));
    assert_eq!(asked.deliveries[0].body, followed.deliveries[0].body);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_client_goes_is_seen_and_where_it_may_not_go_it_does_not() -> Result<()> {
    let receiver = CallbackReceiver::start(receiver_options()).await?;
    let double = receiver.register(&tape(), Registration { name: "payments".into(), ..Registration::default() });
    let allow = AllowList::of(&["payments.example.test"])?;
    let connect_to = [("payments.example.test:80".to_owned(), receiver.addr().to_string())].into();
    let observer = EgressObserver::start(EgressOptions { allow, connect_to, ..EgressOptions::default() }).await?;
    let proxy = format!("http://{}", observer.addr());
    for (url, wanted) in [
        (format!("http://payments.example.test{}", double.path), "ok"),
        ("http://evil.example.test/".to_owned(), "403 the egress observer does not let this host be called"),
        ("https://evil.example.test/".to_owned(), "ProxyError OSError"),
    ] {
        let mut client = python("lab_client.py");
        client.args(["by-proxy", &proxy, &url]);
        assert_eq!(printed(client, String::new()).await?, wanted, "{url}");
    }
    let went: Vec<_> = observer.departures().into_iter().map(|d| (d.host, d.port, d.allowed)).collect();
    let (good, evil) = ("payments.example.test".to_owned(), "evil.example.test".to_owned());
    assert_eq!(went, [(good, 80, true), (evil.clone(), 80, false), (evil, 443, false)]);
    assert_eq!(receiver.arrived(&double).deliveries.len(), 1);
    Ok(())
}

/// A database with the tables of a planning agent, its owner's connection string, and that of somebody who may only read.
async fn store() -> Result<(String, String)> {
    let owner = Cluster::shared().database().await;
    let mut connection = PgConnection::connect(&owner).await?;
    let name: String = sqlx::query_scalar("SELECT current_database()::text").fetch_one(&mut connection).await?;
    for statement in [
        "CREATE SCHEMA planning".to_owned(),
        "CREATE TABLE planning.drafts (tenant text, id text, title text, cost float8, PRIMARY KEY (tenant, id))"
            .to_owned(),
        "CREATE TABLE outbox (id bigserial PRIMARY KEY, body jsonb, sent_at timestamptz)".to_owned(),
        "CREATE TABLE log (line text)".to_owned(),
        "INSERT INTO planning.drafts VALUES ('a', 'p-1', 'one', 0.1), ('a', 'p-2', 'two', 1), ('b', 'p-1', NULL, 2)"
            .to_owned(),
        format!("CREATE ROLE reader_{name} LOGIN"),
        format!("GRANT USAGE ON SCHEMA planning TO reader_{name}"),
        format!("GRANT SELECT ON planning.drafts, outbox, log TO reader_{name}"),
    ] {
        sqlx::query(AssertSqlSafe(statement)).execute(&mut connection).await?;
    }
    let (scheme, rest) = owner.split_once("://").context("a URL")?;
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    Ok((owner.clone(), format!("{scheme}://reader_{name}@{host}")))
}

/// What is seen when statements run between two looks.
async fn effects(observer: &SqlObserver, owner: &str, statements: &[&str]) -> Result<(Value, bool)> {
    let tape = tape();
    let mark = observer.begin(&tape).await?;
    let mut connection = PgConnection::connect(owner).await?;
    for statement in statements {
        sqlx::query(AssertSqlSafe((*statement).to_owned())).execute(&mut connection).await?;
    }
    match observer.since(&tape, mark).await?.kind {
        Kind::Observed { effects, complete, .. } => Ok((effects, complete)),
        other => anyhow::bail!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_postgresql_that_came_changed_and_went_are_told_to_who_may_only_read() -> Result<()> {
    let (owner, reader) = store().await?;
    let observer = SqlObserver::connect(SqlOptions::new(&reader, &["planning.drafts", "outbox", "log"])).await?;
    let statements = [
        "INSERT INTO planning.drafts VALUES ('b', 'p-2', 'four', 4)",
        "UPDATE planning.drafts SET cost = cost + 1e-16 WHERE tenant = 'a' AND id = 'p-1'",
        "UPDATE planning.drafts SET title = '' WHERE tenant = 'b' AND id = 'p-1'",
        "DELETE FROM planning.drafts WHERE tenant = 'a' AND id = 'p-2'",
        "INSERT INTO outbox (body, sent_at) VALUES ('{\"to\": \"a\"}', '2026-01-01T00:00:00Z')",
        "INSERT INTO log VALUES ('line'), ('line')",
    ];
    let (seen, complete) = effects(&observer, &owner, &statements).await?;
    let drafts = &seen["records"]["planning.drafts"];
    assert_eq!(drafts["inserted"], json!([r#"["b", "p-2"]"#]), "{seen}");
    assert_eq!(drafts["updated"], json!([r#"["a", "p-1"]"#, r#"["b", "p-1"]"#]), "{seen}");
    assert_eq!(drafts["deleted"], json!([r#"["a", "p-2"]"#]), "{seen}");
    assert_eq!(seen["outbox"]["outbox"]["inserted"], json!([r#"["1"]"#]), "{seen}");
    let log = &seen["records"]["log"];
    assert_eq!((log["keyed"].as_bool(), log["inserted"].as_array().map(Vec::len)), (Some(false), Some(2)), "{seen}");
    assert!(complete);
    let (seen, _) =
        effects(&observer, &owner, &["UPDATE planning.drafts SET title = title", "SET timezone = 'Asia/Tokyo'"])
            .await?;
    assert_eq!(seen["records"]["planning.drafts"]["updated"], json!([]), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_may_not_be_read_is_said_before_it_is_needed() -> Result<()> {
    let (owner, reader) = store().await?;
    let mut connection = PgConnection::connect(&owner).await?;
    sqlx::query("CREATE TABLE secret (id int PRIMARY KEY)").execute(&mut connection).await?;
    for (table, wanted) in [("nothing", "does not exist"), ("secret", "failed to read")] {
        let error = SqlObserver::connect(SqlOptions::new(&reader, &[table])).await.err().context("it looked")?;
        assert!(error.to_string().contains(wanted), "{table}: {error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_behind_the_proxy_goes_down_and_comes_back() -> Result<()> {
    let (owner, _) = store().await?;
    let url = url_of(&owner)?;
    let proxy = TcpProxy::start(url.1, TcpOptions { place: "store".to_owned(), ..TcpOptions::default() }).await?;
    let through = format!("{}{}{}", url.0, proxy.addr(), url.2);
    let mut pooled = PgConnection::connect(&through).await?;
    async fn one(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
        sqlx::query_scalar("SELECT 1").fetch_one(connection).await
    }
    assert_eq!(one(&mut pooled).await?, 1);
    proxy.faults().apply(Some(FaultPlan::always(Fault::Down { how: Down::Refuse }))).await?;
    assert!(one(&mut pooled).await.is_err(), "an open connection outlived its database");
    assert!(PgConnection::connect(&through).await.is_err());
    proxy.faults().apply(None).await?;
    assert_eq!(one(&mut PgConnection::connect(&through).await?).await?, 1);
    // The database answers, and its answer is lost: the statement may have had its effect.
    let plan = FaultPlan::always(Fault::Reset { at: Point::AfterBytes(600) });
    proxy.faults().apply(Some(plan)).await?;
    let mut connection = PgConnection::connect(&through).await?;
    let long = sqlx::query_scalar::<_, String>("SELECT repeat('x', 1000)").fetch_one(&mut connection).await;
    assert!(long.is_err());
    assert!(proxy.faults().ledger().iter().any(|entry| entry.reached && entry.passed_bytes == 600));
    Ok(())
}

/// What comes before, at and after the authority of a connection string.
fn url_of(text: &str) -> Result<(String, String, String)> {
    let (scheme, rest) = text.split_once("://").context("a URL")?;
    let (user, rest) = rest.split_once('@').map_or(("", rest), |(user, rest)| (user, rest));
    let (host, path) = rest.split_once('/').context("a path")?;
    let user = if user.is_empty() { String::new() } else { format!("{user}@") };
    Ok((format!("{scheme}://{user}"), host.to_owned(), format!("/{path}")))
}
