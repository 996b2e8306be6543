//! What a report says of its own coverage, on an agent of the official SDK (O-02), and past incidents (O-03).

use std::fs;

use anyhow::{Context as _, Result};
use ostiary_lab::proxy::{Lie, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{pair, program, world::World};
use serde_json::Value;

const INCIDENT: &str = "# Once an empty result was passed on as a count.
case: count-once-lost
incident: INC-0001
when:
  operation: a2a.send_message
  skill: count-words
  input_fixture: sentence.json
expect:
  result: PASS
  state: TASK_STATE_COMPLETED
  artifact_schema: counts.schema.json
";

fn with_incident() -> Result<World> {
    let world = World::open()?;
    let folder = world.bundle().join("cases/regression");
    fs::create_dir_all(&folder).context("failed to make the folder of incidents")?;
    fs::write(folder.join("count-once-lost.yaml"), INCIDENT).context("failed to write the incident")?;
    Ok(world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_past_incident_that_comes_again_is_caught_as_one() -> Result<()> {
    let world = with_incident()?;
    let (_, honest) = tokio::task::block_in_place(|| world.verify(world.address(), &[]))?;
    assert_eq!(honest["coverage"]["incidents"][0]["verdict"], "PASS", "{:#}", honest["coverage"]);
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::DropArtifact), Options::default()).await?;
    let (code, lying) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &[]))?;
    proxy.shutdown().await;
    assert_eq!((code, &lying["coverage"]["incidents"][0]["verdict"]), (1, &"FAIL".into()), "{:#}", lying["coverage"]);
    let wanted = &[("protocol", "CASE_EXPECTATION_FAILED")];
    pair::executed(pair::PYTHON, "loses an artifact as it once did", &honest, &lying, wanted)
}

#[test]
fn what_is_covered_and_what_is_not_is_told_with_its_cause() -> Result<()> {
    let world = with_incident()?;
    let (_, whole) = world.verify(world.address(), &[])?;
    let rows: Vec<&Value> = whole["coverage"]["combinations"][0]["rows"].as_array().into_iter().flatten().collect();
    assert!(rows.len() >= 9 && rows.iter().all(|row| row["verdict"] == "PASS"), "{rows:#?}");
    let counted = &whole["coverage"]["scenarios"][0];
    assert!(counted["binding"] == "JSON-RPC" && counted["not_run"] == 0, "{counted}");
    let environment = world.environment(world.address())?;
    let text = fs::read_to_string(&environment)?;
    fs::write(&environment, text.replace("cleared_effects: [read, write]", "cleared_effects: [read]"))?;
    let bundle = world.bundle().to_str().context("the folder's name is not UTF-8")?;
    let environment = environment.to_str().context("the folder's name is not UTF-8")?;
    let verify = ["verify", bundle, "--env", environment];
    let (code, bare) = program::json(&verify)?;
    assert_eq!(code, 3, "what is not cleared is not told: {:#}", bare["coverage"]);
    pair::uncovered(pair::PYTHON, "may not be written to", (&whole, &bare), "I-09", "not_cleared")?;
    // people read the same
    let said = program::run(&[&verify[..], &["--coverage"]].concat())?;
    let said = String::from_utf8_lossy(&said.stdout);
    for words in ["scenarios  JSON-RPC ", "promises shown", "Past incidents, always tried:", "not cleared", "I-09"] {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
    }
    let said = program::run(&[&verify[..], &["--format", "markdown"]].concat())?;
    assert!(String::from_utf8_lossy(&said.stdout).contains("### Coverage"), "no coverage in Markdown");
    Ok(())
}
