//! The lies of the model before the agent on the official JavaScript SDK, over each binding: what is caught must not depend
//! on who wrote the SDK (I-09, S-03, T-02, T-04, T-06, T-07, A-05, E-03).

use anyhow::{Context as _, Result};
use ostiary_lab::proxy::{Lie, LyingGrpcProxy, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{model::caught, pair, world::World};
use serde_json::Value;

/// The lies about answers that an agent can be made to tell that asks for no credential.
const LIES: [Lie; 9] = [
    Lie::ReopenTerminal,
    Lie::ChangeContentType,
    Lie::DropArtifact,
    Lie::CutStream,
    Lie::StepTimeBack,
    Lie::DuplicateEvent,
    Lie::LeakStackTrace,
    Lie::AcceptAnyVersion,
    Lie::AcceptMessageToTerminal,
];

/// The pairs of each lie; everything that is wrong at once.
fn paired(honest: &Value, lying: impl IntoIterator<Item = (Lie, Value)>) -> Result<()> {
    let mut wrong = Vec::new();
    for (lie, report) in lying {
        let executed = pair::executed(pair::JAVASCRIPT, &lie.to_string(), honest, &report, caught(lie));
        // a whole report says less than its first words
        wrong.extend(executed.err().map(|why| why.to_string().chars().take(400).collect::<String>()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn each_lie_over_http_is_caught_before_the_javascript_sdk() -> Result<()> {
    let world = World::javascript_bindings()?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    let mut lying = Vec::new();
    for lie in LIES {
        let upstream = Upstream::plain(world.address().to_string());
        let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await?;
        lying.push((lie, tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?.1));
        proxy.shutdown().await;
    }
    paired(&honest, lying)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn each_lie_over_grpc_is_caught_before_the_javascript_sdk() -> Result<()> {
    let world = World::javascript_bindings()?;
    let agent = world.grpc().context("the agent speaks gRPC")?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    let mut lying = Vec::new();
    for lie in LIES {
        let proxy = LyingGrpcProxy::start(agent.to_string(), Policy::lie(lie)).await?;
        let run = || world.verify_at(world.address(), Some(proxy.addr()), &[]);
        lying.push((lie, tokio::task::block_in_place(run)?.1));
        proxy.shutdown().await;
    }
    paired(&honest, lying)
}
