//! Streams and tasks of agents on official SDKs: each lie about subscriptions, lost connections, artifacts in pieces, turns,
//! histories and lists is caught over each binding, with layer and code (A-01, A-03, A-04, A-05, I-05, I-09, T-01, T-04, T-07,
//! W-05).

// covers, I-05, I-09, T-01, T-04, T-07, W-05

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use ostiary_lab::proxy::{Lie, LyingGrpcProxy, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{
    model::{caught, failures},
    pair,
    world::World,
};
use serde_json::{Value, json};

const HTTP_JSON: &str = "a2a-http-json-1.0/user/standard";
const GRPC: &str = "a2a-grpc-1.0/user/standard";
const JSON_RPC: &str = "a2a-jsonrpc-1.0/user/standard";

/// The conformance gate is the one that asks for all of this.
const GATE: &[&str] = &["--gate", "conformance"];

const LIES: [Lie; 14] = [
    Lie::LoseSnapshot,
    Lie::StaleSnapshot,
    Lie::LoseEvent,
    Lie::CloseTogether,
    Lie::CancelOnDisconnect,
    Lie::AppendToUnknown,
    Lie::AppendPhantom,
    Lie::SwitchContext,
    Lie::AnswerAsNewTask,
    Lie::AcceptAnyContext,
    Lie::AcceptUnknownTask,
    Lie::CompleteAlways,
    Lie::TellFullHistory,
    Lie::ReverseList,
];

/// The counting failures of one profile.
fn failures_of(report: &Value, profile: &str) -> BTreeSet<(String, String)> {
    let findings = report["findings"].as_array().into_iter().flatten();
    let own: Vec<&Value> = findings.filter(|f| f["profile"] == profile).collect();
    failures(&json!({"findings": own})).into_iter().collect()
}

fn model(wanted: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    wanted.iter().map(|(layer, code)| ((*layer).to_owned(), (*code).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn each_lie_about_streams_and_tasks_is_caught_over_both_bindings_of_http() -> Result<()> {
    let world = World::bindings(&[])?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), GATE))?;
    let mut wrong = Vec::new();
    for lie in LIES {
        let upstream = Upstream::plain(world.address().to_string());
        let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await?;
        let (code, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), GATE))?;
        proxy.shutdown().await;
        for (profile, wanted) in
            [(JSON_RPC, model(caught(lie))), (HTTP_JSON, model(caught(lie))), (GRPC, BTreeSet::new())]
        {
            let found = failures_of(&report, profile);
            if code != 1 || found != wanted {
                wrong.push(format!("{lie} over {profile}: exit {code}, wanted {wanted:?}, found {found:?}"));
            }
        }
        if let Err(problem) = pair::executed(pair::PYTHON, &lie.to_string(), &honest, &report, caught(lie)) {
            wrong.push(format!("{lie}: {}", problem.to_string().chars().take(200).collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn each_lie_about_streams_and_tasks_is_caught_over_grpc() -> Result<()> {
    let world = World::bindings(&[])?;
    let agent = world.grpc().context("the agent speaks gRPC")?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), GATE))?;
    let mut wrong = Vec::new();
    for lie in LIES {
        let proxy = LyingGrpcProxy::start(agent.to_string(), Policy::lie(lie)).await?;
        let run = || world.verify_at(world.address(), Some(proxy.addr()), GATE);
        let (_, report) = tokio::task::block_in_place(run)?;
        proxy.shutdown().await;
        let (wanted, found) = (model(caught(lie)), failures_of(&report, GRPC));
        if found != wanted {
            wrong.push(format!("{lie}: wanted {wanted:?}, found {found:?}"));
        }
        if let Err(problem) = pair::executed(pair::PYTHON, &lie.to_string(), &honest, &report, caught(lie)) {
            wrong.push(format!("{lie}: {}", problem.to_string().chars().take(200).collect::<String>()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The JavaScript SDK is another implementation of the same promises: a lie before it is caught as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn lies_before_the_javascript_sdk_are_caught() -> Result<()> {
    let world = World::javascript()?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), GATE))?;
    let mut wrong = Vec::new();
    for lie in [Lie::LoseEvent, Lie::CloseTogether, Lie::CancelOnDisconnect, Lie::ReverseList] {
        let upstream = Upstream::plain(world.address().to_string());
        let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await?;
        let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), GATE))?;
        proxy.shutdown().await;
        let (wanted, found) = (model(caught(lie)), failures(&report).into_iter().collect::<BTreeSet<_>>());
        if found != wanted {
            wrong.push(format!("{lie}: wanted {wanted:?}, found {found:?}"));
        }
        pair::executed(pair::JAVASCRIPT, &lie.to_string(), &honest, &report, caught(lie))?;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// A promise of the contract, and of no specification: who does not keep it is caught, and who made none is not asked.
#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn events_without_the_ids_that_the_contract_promises_are_caught() -> Result<()> {
    let (numbered, bare) = (World::numbered(&["--event-ids"])?, World::numbered(&[])?);
    let (code, honest) = numbered.verify(numbered.address(), GATE)?;
    assert_eq!((code, failures(&honest)), (0, vec![]), "{honest:#}");
    let (_, report) = bare.verify(bare.address(), GATE)?;
    let wanted = &[("protocol", "EVENT_ID_MISSING")];
    assert_eq!(failures(&report).into_iter().collect::<BTreeSet<_>>(), model(wanted), "{report:#}");
    pair::executed(pair::PYTHON, "events without the promised ids", &honest, &report, wanted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn events_that_are_told_all_over_again_are_caught() -> Result<()> {
    let world = World::numbered(&["--event-ids"])?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    assert_eq!(failures(&honest), [], "{honest:#}");
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::ReplayEvents), Options::default()).await?;
    let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
    proxy.shutdown().await;
    let wanted = caught(Lie::ReplayEvents);
    assert_eq!(failures(&report).into_iter().collect::<BTreeSet<_>>(), model(wanted), "{report:#}");
    pair::executed(pair::PYTHON, &Lie::ReplayEvents.to_string(), &honest, &report, wanted)
}

/// An ended task that can be subscribed to, which no lie of the model is about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn a_subscription_to_an_ended_task_is_caught() -> Result<()> {
    let world = World::open()?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), GATE))?;
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::ServeUndeclaredStream), Options::default()).await?;
    let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), GATE))?;
    proxy.shutdown().await;
    let wanted = &[("protocol", "ERROR_NOT_REFUSED")];
    assert_eq!(failures(&report).into_iter().collect::<BTreeSet<_>>(), model(wanted), "{report:#}");
    pair::executed(pair::PYTHON, "serves a subscription to an ended task", &honest, &report, wanted)
}
