//! The honest twin: what passes without a lie passes byte for byte, and as it comes.

use std::sync::Arc;

use ostiary_drivers::{HttpTransport, Settings};
use ostiary_lab::{Lie, LyingProxy, Options, Policy, Trigger, Upstream};
use ostiary_record::{
    End, Kind, MonoNanos,
    ports::{Deadline, Fetch, Limits, Next},
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};

use crate::{
    agent::{Agent, CARD},
    story::{drive, of, play, recorded, start_stream, tape, tell, transport},
};

async fn in_front_of(agent: &Agent, policy: Policy) -> LyingProxy {
    LyingProxy::start(Upstream::plain(agent.addr.to_string()), policy, Options::default()).await.unwrap()
}

#[tokio::test]
async fn what_is_only_recorded_passes_byte_for_byte() {
    let (direct, behind) = (Agent::start().await, Agent::start().await);
    let proxy = in_front_of(&behind, Policy::Record).await;
    let honest = drive(&direct.addr.to_string()).await;
    let passed = drive(&proxy.authority()).await;
    assert_eq!(tell(&passed), tell(&honest));
    let fields = |recording: &ostiary_record::Recording| -> Vec<_> {
        let views = recording.exchanges();
        let heads = views.iter().map(|v| v.head.unwrap().1.clone());
        heads.map(|h| h.into_iter().filter(|(n, _)| !n.eq_ignore_ascii_case("date")).collect::<Vec<_>>()).collect()
    };
    assert_eq!(fields(&passed), fields(&honest));
    assert_eq!(passed.document("agent-card.json").unwrap().0.as_str(), Some(CARD));
    assert!(tell(&honest).iter().all(|t| t.complete));
}

#[tokio::test]
async fn what_is_no_json_passes_and_is_counted() {
    let agent = Agent::start().await;
    let proxy = in_front_of(&agent, Policy::lie(Lie::DropArtifact)).await;
    let url = format!("http://{}/file", proxy.authority());
    let file = transport().get(&url, &[], Limits::default()).await.unwrap();
    assert_eq!(&file.body[..], b"\x01\x02raw");
    let passed = proxy.passed();
    assert_eq!((passed.len(), passed[0].target.as_str(), passed[0].status), (1, "/file", Some(200)));
}

#[tokio::test]
async fn a_stream_passes_event_by_event() {
    let agent = Agent::start().await;
    let proxy = in_front_of(&agent, Policy::lie(Lie::DuplicateEvent)).await;
    *agent.gate.shut.lock().unwrap() = true;
    let tape = tape();
    let mut channel = start_stream(&tape, &proxy.authority()).await;
    let mut seen = Vec::new();
    let mut ended = false;
    while !ended {
        match channel.next(Deadline(MonoNanos(tape.now().0 + 50_000_000))).await {
            Next::Event(event) => {
                ended = matches!(event.kind, Kind::Ended { how: End::Complete, .. });
                seen.extend(matches!(event.kind, Kind::Frame { .. }).then_some(()));
            }
            Next::Idle => {
                // Everything that the agent sent has come: a block each, and a lie's own after it.
                seen.clear();
                agent.gate.opened.notify_one();
            }
            Next::Closed => panic!("the channel closed early"),
        }
        assert!(seen.len() <= 2, "more than one event came at once");
    }
}

#[tokio::test]
async fn an_agent_that_is_gone_gives_no_answer() {
    let agent = Agent::start().await;
    let proxy = in_front_of(&agent, Policy::Record).await;
    drop(agent);
    let tape = tape();
    play(&tape, &proxy.authority(), "send").await;
    let end = tape.events().pop().unwrap().kind;
    assert!(matches!(end, Kind::Ended { how: End::PeerReset { .. }, .. }), "{end:?}");
    assert_eq!(proxy.passed()[0].status, None);
    proxy.shutdown().await;
}

#[tokio::test]
async fn a_lie_can_begin_later() {
    let agent = Agent::start().await;
    let tape = tape();
    let proxy = in_front_of(&agent, Policy::Record).await;
    play(&tape, &proxy.authority(), "send").await;
    play(&tape, &proxy.authority(), "get").await;
    proxy.set_policy(Policy::lie(Lie::ReopenTerminal));
    play(&tape, &proxy.authority(), "get").await;
    let told = tell(&recorded(&tape));
    assert_eq!(told[1].result()["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(told[2].result()["status"]["state"], "TASK_STATE_WORKING");
}

#[tokio::test]
async fn a_trigger_holds_the_lie_back() {
    for (trigger, honest) in [(Trigger::Requests(2), 2), (Trigger::FinishedTask, 1)] {
        let agent = Agent::start().await;
        let tape = tape();
        let policy = Policy::Lie { lie: Lie::DropArtifact, only_after: Some(trigger) };
        let proxy = in_front_of(&agent, policy).await;
        for _ in 0..4 {
            play(&tape, &proxy.authority(), "send").await;
        }
        let whole: Vec<_> =
            tell(&recorded(&tape)).iter().map(|t| t.result()["task"].get("artifacts").is_some()).collect();
        assert_eq!(whole.iter().filter(|w| **w).count(), honest, "{trigger:?}: {whole:?}");
        assert!(whole.is_sorted_by(|a, b| a >= b), "{trigger:?}: {whole:?}");
    }
}

#[tokio::test]
async fn a_card_can_lead_through_the_proxy() {
    let agent = Agent::start().await;
    let options = Options { card_base: Some("http://127.0.0.1:9100/".to_owned()), ..Options::default() };
    let proxy = LyingProxy::start(Upstream::plain(agent.addr.to_string()), Policy::Record, options).await.unwrap();
    let recording = drive(&proxy.authority()).await;
    assert_eq!(crate::story::card(&recording)["supportedInterfaces"][0]["url"], "http://127.0.0.1:9100/a2a");
    assert_eq!(of(&tell(&recording), "send").status, 200);
}

#[tokio::test]
async fn tls_on_both_sides_keeps_the_names() {
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["agents.example.com".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let server = rustls::ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let server = Arc::new(server.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let client = Arc::new(client.with_root_certificates(roots).with_no_client_auth());

    let agent = Agent::start().await;
    let options = || Options { tls: Some(Arc::clone(&server)), ..Options::default() };
    let inner = LyingProxy::start(Upstream::plain(agent.addr.to_string()), Policy::Record, options()).await.unwrap();
    let name = ServerName::try_from("agents.example.com").unwrap();
    let upstream = Upstream::tls(inner.authority(), client, name);
    let outer = LyingProxy::start(upstream, Policy::lie(Lie::ChangeCard), options()).await.unwrap();

    let connect_to = [("agents.example.com:443".to_owned(), outer.authority())].into();
    let settings = Settings { connect_to, trust_roots: Some(cert.pem().into_bytes()), ..Settings::default() };
    let url = "https://agents.example.com/.well-known/agent-card.json";
    let card = HttpTransport::new(settings).unwrap().get(url, &[], Limits::default()).await.unwrap();
    assert!(String::from_utf8_lossy(&card.body).contains("approves its own plans"));
}
