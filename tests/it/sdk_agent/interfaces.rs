//! What the card says of interfaces, and what is served: tenants, extended cards, extensions, undeclared interfaces, and
//! bindings beside each other. Honest agents on official SDKs and their liars (I-04, I-07, I-08, I-09, Z-02, G-01).

use anyhow::Result;
use ostiary_lab::proxy::{Lie, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{
    model::{Caught, failures},
    pair,
    world::World,
};
use serde_json::{Value, json};

/// The whole report of an agent, which is expected to keep everything.
fn honest(world: &World) -> Result<Value> {
    let (code, report) = world.verify(world.address(), &[])?;
    assert_eq!((code, failures(&report)), (0, vec![]), "{report:#}");
    Ok(report)
}

/// The liar's report shows exactly these failures, and the honest one passes the same checks.
fn lies(agent: &str, lie: &str, honest: &Value, liar: &World, wanted: &[Caught]) -> Result<()> {
    let (_, report) = liar.verify(liar.address(), &[])?;
    let mut found = failures(&report);
    found.retain(|(layer, _)| layer != "behavior");
    let expected: Vec<(String, String)> = wanted.iter().map(|(l, c)| ((*l).to_owned(), (*c).to_owned())).collect();
    assert_eq!(found, expected, "{lie}: {report:#}");
    pair::executed(agent, lie, honest, &report, wanted)
}

fn with_extended_card(which: &str) -> Result<World> {
    let world = World::bindings(&["--extended-card", which])?;
    world.declaring(|card| card["capabilities"]["extendedAgentCard"] = json!(true))
}

/// covers: I-07, I-08
#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn an_extended_card_is_there_and_says_no_less_than_the_public_one() -> Result<()> {
    let honest = honest(&with_extended_card("same")?)?;
    let other = &[("protocol", "EXTENDED_CARD_INCONSISTENT")];
    lies(pair::PYTHON, "extended card has lost a skill", &honest, &with_extended_card("other")?, other)?;
    let absent = &[("protocol", "CAPABILITY_NOT_KEPT")];
    lies(pair::PYTHON, "declared extended card is absent", &honest, &with_extended_card("absent")?, absent)
}

/// covers: I-07, Z-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extended_card_for_strangers_is_caught() -> Result<()> {
    let world = with_extended_card("same")?;
    let honest = tokio::task::block_in_place(|| honest(&world))?;
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::IgnoreCredential), Options::default()).await?;
    let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
    proxy.shutdown().await;
    let served = |f: &&Value| f["check"] == "a2a.extended_card.protected" && f["verdict"] == "FAIL";
    let found = report["findings"].as_array().into_iter().flatten().filter(served).count();
    assert_eq!(found, 2, "over JSON-RPC and HTTP+JSON: {report:#}");
    pair::executed(pair::PYTHON, "ignore_credential", &honest, &report, &[("authorization", "CREDENTIAL_NOT_REQUIRED")])
}

fn with_tenant(more: &[&str]) -> Result<World> {
    let world = World::bindings(&[&["--tenant", "acme"], more].concat())?;
    world.declaring(name_tenant)
}

fn name_tenant(card: &mut Value) {
    for interface in card["supportedInterfaces"].as_array_mut().into_iter().flatten() {
        interface["tenant"] = json!("acme");
    }
}

/// covers: I-04, Z-04
#[test]
#[ignore = "written after the last end-to-end run; run it before it counts"]
fn a_routing_value_that_means_nothing_is_caught() -> Result<()> {
    let honest = honest(&with_tenant(&[])?)?;
    let wanted = &[("protocol", "TENANT_NOT_ROUTED")];
    lies(pair::PYTHON, "serves any routing value", &honest, &with_tenant(&["--fault", "any-tenant"])?, wanted)
}

/// The JavaScript SDK keeps tasks by their routing value by itself.
#[test]
fn the_javascript_sdk_routes_by_tenant() -> Result<()> {
    honest(&World::javascript_bindings_with(&["--tenant", "acme"])?.declaring(name_tenant)?).map(drop)
}

const EXTENSION: &str = "https://text.example.test/extensions/counting/v1";

fn with_extension(more: &[&str]) -> Result<World> {
    let world = World::bindings(&[&["--extension", EXTENSION], more].concat())?;
    world.declaring(|card| card["capabilities"]["extensions"] = json!([{"uri": EXTENSION, "required": true}]))
}

/// covers: G-01, I-08
#[test]
fn a_required_extension_that_nobody_asks_for_is_caught() -> Result<()> {
    // a run knows no consumer that supports the extension, so that the declaration fails whatever the agent does
    let declared = ("declaration".to_owned(), "REQUIRED_EXTENSION_UNSUPPORTED".to_owned());
    let world = with_extension(&[])?;
    let (_, honest) = world.verify(world.address(), &[])?;
    assert_eq!(failures(&honest), std::slice::from_ref(&declared), "{honest:#}");
    let liar = with_extension(&["--fault", "any-extension"])?;
    let (_, report) = liar.verify(liar.address(), &[])?;
    let served = ("protocol".to_owned(), "EXTENSION_NOT_ENFORCED".to_owned());
    assert_eq!(failures(&report), [declared, served], "{report:#}");
    let wanted = &[("protocol", "EXTENSION_NOT_ENFORCED")];
    pair::executed(pair::PYTHON, "serves without the required extension", &honest, &report, wanted)
}

/// covers: G-01, I-08
#[test]
fn a_binding_that_the_card_does_not_name_is_caught() -> Result<()> {
    let honest = honest(&World::protected()?)?;
    let liar = World::protected_with(&["--undeclared-rest"])?;
    lies(pair::PYTHON, "serves HTTP+JSON undeclared", &honest, &liar, &[("declaration", "INTERFACE_UNDECLARED")])
}

/// covers: I-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_binding_that_shows_another_task_than_the_others_is_caught() -> Result<()> {
    let world = World::bindings(&[])?;
    let honest = tokio::task::block_in_place(|| honest(&world))?;
    for lie in [Lie::DropArtifact, Lie::StepTimeBack] {
        let upstream = Upstream::plain(world.address().to_string());
        let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await?;
        let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
        proxy.shutdown().await;
        let lie = format!("{lie} over HTTP alone");
        pair::executed(pair::PYTHON, &lie, &honest, &report, &[("protocol", "BINDINGS_DISAGREE")])?;
    }
    Ok(())
}
