//! Ordinary agents on the official Python and JavaScript SDKs, which know nothing of Ostiary: the honest one passes, and each lie of
//! a proxy in front of one is caught with layer and code (C-01, I-02, I-03, I-09, S-03, T-02, T-05, T-06, T-07, E-03).

use std::collections::BTreeSet;

use anyhow::Result;
use ostiary_lab::proxy::{Lie, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{
    model::{caught, failures},
    pair,
    target::root,
    world::World,
};
use serde_json::{Value, json};

mod bindings;
mod interfaces;
mod javascript;
mod negatives;
mod push;
mod skills;
mod streams;
mod times;

/// The lies that an agent with streaming and credentials can be made to tell by what stands before it.
const LIES: [Lie; 14] = [
    Lie::ReopenTerminal,
    Lie::ChangeContentType,
    Lie::DropArtifact,
    Lie::CutStream,
    Lie::StepTimeBack,
    Lie::DuplicateEvent,
    Lie::LeakStackTrace,
    Lie::ServeForeignTask,
    Lie::AcceptAnyVersion,
    Lie::AcceptMessageToTerminal,
    Lie::IgnoreCancel,
    Lie::IgnoreCredential,
    Lie::RequireExtension,
    Lie::ChangeCard,
];

fn layer<'r>(report: &'r Value, name: &str) -> &'r Value {
    &report["layers"][name]
}

#[test]
fn the_honest_open_agent_passes_each_gate() -> Result<()> {
    let world = World::open()?;
    for (gate, layers) in [("static", &["declaration"][..]), ("conformance", &["schema", "protocol"])] {
        let (code, report) = world.verify(world.address(), &["--gate", gate])?;
        assert_eq!(code, 0, "{gate}: {report:#}");
        for name in layers {
            assert_eq!(layer(&report, name), "PASS", "{gate}: {report:#}");
        }
        assert_eq!(failures(&report), []);
    }
    Ok(())
}

/// The other official SDK: honest as well, and its row on the page is what the run says.
#[test]
fn the_honest_javascript_agent_passes() -> Result<()> {
    let world = World::javascript()?;
    let (code, report) = world.verify(world.address(), &[])?;
    assert_eq!((code, failures(&report)), (0, vec![]), "{report:#}");
    let page = std::fs::read_to_string(root().join("docs/targets.md"))?;
    let told = ["declaration", "schema", "protocol", "authorization"]
        .map(|name| layer(&report, name).as_str().unwrap_or("not asked for").to_owned())
        .join(" | ");
    let row = page.lines().find(|line| line.contains("`@a2a-js/sdk`")).unwrap_or_default();
    assert!(row.ends_with(&format!("| {told} |")), "the page says `{row}`, the run says `{told}`");
    // what only warns is explained, too
    let section = page.split("\n## ").find(|s| s.starts_with("@a2a-js/sdk")).unwrap_or_default();
    for finding in report["findings"].as_array().into_iter().flatten().filter(|f| f["verdict"] == "FAIL") {
        let code = finding["reason_code"].as_str().unwrap_or_default();
        assert!(section.contains(&format!("`{code}`")) || code.starts_with("INTERFACE_URL_"), "{code}: {report:#}");
    }
    Ok(())
}

#[test]
fn the_honest_protected_agent_passes_each_gate() -> Result<()> {
    let world = World::protected()?;
    for (gate, layers) in
        [("static", &["declaration"][..]), ("conformance", &["schema", "protocol"]), ("security", &["authorization"])]
    {
        let (code, report) = world.verify(world.address(), &["--gate", gate])?;
        assert_eq!(code, 0, "{gate}: {report:#}");
        for name in layers {
            assert_eq!(layer(&report, name), "PASS", "{gate}: {report:#}");
        }
        if gate != "static" {
            assert_eq!(report["profiles_passed"], json!(["a2a-jsonrpc-1.0/user/standard"]), "{report:#}");
        }
    }
    Ok(())
}

/// The keys of the identity double are looked up while the run goes on, as an agent of production does.
#[test]
fn the_honest_agent_that_discovers_its_issuer_passes_each_gate() -> Result<()> {
    for algorithm in ["ES256", "RS256"] {
        let world = World::discovering(algorithm)?;
        for (gate, layers) in [("conformance", &["schema", "protocol"][..]), ("security", &["authorization"])] {
            let (code, report) = world.verify(world.address(), &["--gate", gate])?;
            assert_eq!(code, 0, "{algorithm}, {gate}: {report:#}");
            for name in layers {
                assert_eq!(layer(&report, name), "PASS", "{algorithm}, {gate}: {report:#}");
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn who_discovers_its_issuer_and_lets_everybody_in_is_caught() -> Result<()> {
    let world = World::discovering("ES256")?;
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::IgnoreCredential), Options::default()).await?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    let (code, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
    let found: BTreeSet<_> = failures(&report).into_iter().collect();
    let wanted: BTreeSet<_> =
        caught(Lie::IgnoreCredential).iter().map(|(l, c)| ((*l).to_owned(), (*c).to_owned())).collect();
    assert_eq!((code, found), (1, wanted), "{report:#}");
    pair::executed(pair::PYTHON, &Lie::IgnoreCredential.to_string(), &honest, &report, caught(Lie::IgnoreCredential))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
async fn each_lie_before_the_agent_is_caught_with_layer_and_code() -> Result<()> {
    let world = World::protected()?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    let mut wrong = Vec::new();
    for lie in LIES {
        let upstream = Upstream::plain(world.address().to_string());
        let proxy = LyingProxy::start(upstream, Policy::lie(lie), Options::default()).await?;
        let (code, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
        proxy.shutdown().await;
        let found: BTreeSet<_> = failures(&report).into_iter().collect();
        let wanted: BTreeSet<_> = caught(lie).iter().map(|(l, c)| ((*l).to_owned(), (*c).to_owned())).collect();
        if code != 1 || found != wanted {
            wrong.push(format!("{lie}: exit {code}, wanted {wanted:?}, found {found:?}"));
        } else {
            pair::executed(pair::PYTHON, &lie.to_string(), &honest, &report, caught(lie))?;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_tells_no_lie_changes_no_verdict() -> Result<()> {
    let world = World::protected()?;
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::Record, Options::default()).await?;
    let (_, report) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
    assert!(!proxy.passed().is_empty());
    proxy.shutdown().await;
    assert_eq!(failures(&report), [], "{report:#}");
    Ok(())
}
