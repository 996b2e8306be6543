//! Gateways of other people in front of an agent of other people: who is let through, and who is not.
//!
//! Covers L-03, L-04 and P-03 at gateways: nginx with `auth_request`, Envoy with `ext_authz`.

use anyhow::{Context as _, Result};
use ostiary_tests::gateway::{
    AGENT, Answer, Client, Gateway, PROFILE, Registry, Sidecar, VERSION, Where, registered, token,
};

/// nginx asks the sidecar this.
fn nginx(registry: &Registry, sidecar: &Sidecar, question: &str) -> Result<Gateway> {
    let line = format!("proxy_pass http://sidecar/forward-auth?{question};");
    let sidecar = sidecar.http()?.to_string();
    Gateway::nginx(&Where { agent: registry.agent(), sidecar: &sidecar, lines: &[("QUESTION", line)] })
}

/// Envoy asks the sidecar about this card.
fn envoy(registry: &Registry, sidecar: &Sidecar, digest: &str) -> Result<Gateway> {
    let lines = [
        ("AGENT-ID", format!("ostiary-agent: {AGENT}")),
        ("VERSION", format!("ostiary-version: \"{VERSION}\"")),
        ("DIGEST", format!("ostiary-card-digest: \"{digest}\"")),
        ("PROFILE", format!("ostiary-profile: {PROFILE}")),
    ];
    Gateway::envoy(&Where { agent: registry.agent(), sidecar: sidecar.grpc()?, lines: &lines })
}

fn passed(answer: &Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{answer:?}");
}

fn denied(answer: &Answer, reason: &str) {
    assert_eq!((answer.status, answer.header("x-ostiary-reason")), (403, Some(reason)), "{answer:?}");
    assert_eq!(
        (&answer.json()["code"], answer.header("content-type")),
        (&reason.into(), Some("application/problem+json"))
    );
}

fn undecided(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(!answer.body.contains("TASK_STATE"), "{answer:?}");
}

/// What a client may try.
const FORGED: &[(&str, &str)] = &[
    ("x-ostiary-version", "9.9.9"),
    ("x-ostiary-agent", "acme/other"),
    ("x-ostiary-decision", "ALLOW"),
    ("x-ostiary-card-digest", "sha256:forged"),
];

#[test]
fn nginx_lets_through_what_is_admitted_and_nothing_else() -> Result<()> {
    let registry = Registry::start()?;
    let sidecar = registry.sidecar(&[])?;
    let whole = registered(&registry.digest);
    let gateway = nginx(&registry, &sidecar, &whole)?;
    let client = Client::of(gateway.address());
    passed(&client.send(&[])?);
    passed(&client.send(FORGED)?);
    passed(&client.post("/rpc?version=9.9.9&agent=acme/other", &[], ostiary_tests::gateway::MESSAGE)?);
    let streamed = client.stream()?;
    assert_eq!(streamed.header("content-type").map(|kind| kind.starts_with("text/event-stream")), Some(true));
    assert!(streamed.body.matches("data:").count() >= 3, "{streamed:?}");

    let without = whole.replace(&format!("&card-digest={}", registry.digest), "");
    let unpinned = nginx(&registry, &sidecar, &without)?;
    denied(
        &Client::of(unpinned.address()).send(&[("x-ostiary-card-digest", &registry.digest)])?,
        "OBSERVED_DIGEST_MISSING",
    );
    let without = whole.replace(&format!("&profile={PROFILE}"), "");
    let unpinned = nginx(&registry, &sidecar, &without)?;
    denied(&Client::of(unpinned.address()).send(&[])?, "PROFILE_MISSING");

    registry.quarantine()?;
    eventually(|| Ok(client.send(&[])?.status == 403))?;
    denied(&client.send(FORGED)?, "QUARANTINED");
    drop(sidecar);
    undecided(&client.send(&[])?);
    Ok(())
}

#[test]
fn envoy_lets_through_what_is_admitted_and_nothing_else() -> Result<()> {
    let registry = Registry::start()?;
    let sidecar = registry.sidecar(&[])?;
    let gateway = envoy(&registry, &sidecar, &registry.digest)?;
    let client = Client::of(gateway.address());
    passed(&client.send(&[])?);
    passed(&client.send(FORGED)?);
    let streamed = client.stream()?;
    assert!(streamed.body.matches("data:").count() >= 3, "{streamed:?}");
    let unpinned = envoy(&registry, &sidecar, "")?;
    denied(
        &Client::of(unpinned.address()).send(&[("x-ostiary-card-digest", &registry.digest)])?,
        "OBSERVED_DIGEST_MISSING",
    );
    let twice = client.send(&[("x-ostiary-cohort-key", "a"), ("x-ostiary-consumer", "friend")])?;
    passed(&twice);

    registry.quarantine()?;
    eventually(|| Ok(client.send(&[])?.status == 403))?;
    denied(&client.send(FORGED)?, "QUARANTINED");
    drop(sidecar);
    undecided(&client.send(&[])?);
    Ok(())
}

#[test]
fn a_gateway_may_ask_the_control_plane_itself_with_a_routers_token() -> Result<()> {
    let registry = Registry::start()?;
    let question = format!("/forward-auth?{}", registered(&registry.digest));
    let client = Client::of(registry.http()?);
    assert_eq!(client.get(&question)?.status, 401);
    let allowed = client.post(&question, &[("authorization", &bearer("router"))], "")?;
    assert_eq!((allowed.status, allowed.header("x-ostiary-reason")), (200, Some("ALLOWED")), "{allowed:?}");
    let far = client.post(&question, &[("authorization", &bearer("far"))], "")?;
    assert_eq!((far.status, far.header("x-ostiary-reason")), (403, Some("NAMESPACE_FORBIDDEN")), "{far:?}");
    let revision = registry.quarantine()?;
    let gone = client.post(
        &format!("{question}&at-least-revision={revision}"),
        &[("authorization", &bearer("router"))],
        "",
    )?;
    denied(&gone, "QUARANTINED");
    Ok(())
}

fn bearer(caller: &str) -> String {
    format!("Bearer {}", token(caller))
}

/// Waits until something is so.
#[expect(clippy::disallowed_methods, reason = "a test waits for processes, by real time")]
pub fn eventually(look: impl Fn() -> Result<bool>) -> Result<()> {
    let start = std::time::Instant::now();
    while start.elapsed() < std::time::Duration::from_secs(30) {
        if look()? {
            return Ok(());
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    None::<()>.context("it did not come about within 30 s")
}
