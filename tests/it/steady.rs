//! Honest agents get the same verdicts each time (V-02): in short here, ten times each by `cargo xtask soak`.

use anyhow::{Context as _, Result};
use ostiary_tests::{
    pair::{FASTA2A, JAVASCRIPT, PYTHON, RUST},
    steady::repeated,
    world::World,
};

/// How an agent is started.
type Start = fn() -> Result<World>;

fn again(agent: &str, world: &World, times: u32) -> Result<()> {
    repeated(agent, times, || Ok(world.verify(world.address(), &[])?.1))
}

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn two_runs_of_one_agent_over_all_bindings_say_the_same() -> Result<()> {
    again(PYTHON, &World::bindings(&[])?, 2)
}

#[test]
#[ignore = "takes minutes: `cargo xtask soak`"]
#[expect(clippy::disallowed_methods, reason = "how often is the developer's to say")]
fn every_honest_agent_gets_the_same_verdicts_each_time() -> Result<()> {
    let times = match std::env::var("OSTIARY_SOAK_REPEATS") {
        Ok(text) => text.parse().context("OSTIARY_SOAK_REPEATS is no number")?,
        Err(_) => 10,
    };
    let agents: [(&str, Start); 11] = [
        (PYTHON, World::open),
        ("a2a-sdk (Python) with tokens", World::protected),
        ("a2a-sdk (Python) over all bindings", || World::bindings(&[])),
        (JAVASCRIPT, World::javascript),
        ("@a2a-js/sdk (JavaScript) over all bindings", World::javascript_bindings),
        (RUST, || World::rust(&[])),
        ("an agent of messages only", World::messages),
        ("a slow agent", World::slow),
        ("a narrow agent", World::narrow),
        ("an agent of one tenant", World::tenant),
        (FASTA2A, World::fasta2a),
    ];
    for (agent, start) in agents {
        eprintln!("{agent}: {times} times");
        again(agent, &start()?, times)?;
    }
    Ok(())
}
