//! The templates for CI: they parse, they name what is there, and the script ends as the verification ends.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context as _, Result, ensure};
use ostiary_contract::yaml::{self, Node};
use ostiary_lab::proxy::{Lie, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{
    program,
    target::{free_address, root},
    world::World,
};
use serde_json::Value;
use tempfile::TempDir;

fn read(name: &str) -> Result<Node> {
    let bytes = fs::read(root().join("deploy/ci").join(name)).with_context(|| format!("failed to read {name}"))?;
    yaml::read(name, &bytes, yaml::Limits::default()).map_err(|problems| anyhow::anyhow!("{name}: {problems:?}"))
}

fn at<'n>(node: &'n Node, path: &str) -> Result<&'n Node> {
    path.split('.').try_fold(node, |node, key| node.get(key)).with_context(|| format!("`{path}` is missing"))
}

fn text(node: &Node) -> &str {
    if let yaml::Value::Text(text) = &node.value { text } else { "" }
}

fn list(node: &Node) -> &[Node] {
    if let yaml::Value::List(items) = &node.value { items } else { &[] }
}

fn keys(node: &Node) -> Vec<&str> {
    if let yaml::Value::Map(entries) = &node.value {
        entries.iter().map(|e| e.key.as_str()).collect()
    } else {
        Vec::new()
    }
}

#[test]
fn the_action_hands_each_input_to_the_script_and_none_into_its_text() -> Result<()> {
    let action = read("action.yml")?;
    assert_eq!(text(at(&action, "runs.using")?), "composite");
    let step = list(at(&action, "runs.steps")?).first().context("the action has no step")?;
    assert!(!text(at(step, "run")?).contains("${{"), "an input in the text of a script can be a command");
    let variables = at(step, "env")?;
    let handed: Vec<&str> = keys(variables).iter().map(|key| text(variables.get(key).expect("a key"))).collect();
    let script = fs::read_to_string(root().join("deploy/ci/verify.sh"))?;
    for input in keys(at(&action, "inputs")?) {
        assert!(handed.contains(&format!("${{{{ inputs.{input} }}}}").as_str()), "{input} goes nowhere: {handed:?}");
    }
    for variable in keys(variables) {
        assert!(script.contains(&format!("${{{variable}")), "the script does not read {variable}");
    }
    for output in keys(at(&action, "outputs")?) {
        assert!(script.contains(&format!("echo \"{output}=")), "the script does not give {output}");
    }
    Ok(())
}

#[test]
fn the_workflow_uses_the_action_as_it_is() -> Result<()> {
    let (action, workflow) = (read("action.yml")?, read("workflow.yml")?);
    let steps = list(at(&workflow, "jobs.verify.steps")?);
    let uses = |step: &&Node| step.get("uses").is_some_and(|uses| text(uses).contains("/deploy/ci@"));
    let step = steps.iter().find(uses).context("no step uses the action")?;
    let inputs = keys(at(&action, "inputs")?);
    for given in keys(at(step, "with")?) {
        assert!(inputs.contains(&given), "the action has no input {given}");
    }
    Ok(())
}

/// The script as a CI calls it: exit and the directory of its reports.
fn run(folder: &Path, bundle: &Path, environment: &Path, more: &[(&str, &str)]) -> Result<Output> {
    let mut command = Command::new("bash");
    command.arg(root().canonicalize()?.join("deploy/ci/verify.sh")).current_dir(folder);
    command.env("OSTIARY_CI_PROGRAM", program::path()?);
    command.env("OSTIARY_CI_BUNDLE", bundle).env("OSTIARY_CI_ENVIRONMENT", environment);
    command.env("GITHUB_OUTPUT", folder.join("output")).env("GITHUB_STEP_SUMMARY", folder.join("summary"));
    command.envs(more.iter().copied()).output().context("failed to start the script")
}

fn sarif(folder: &Path) -> Result<Value> {
    Ok(serde_json::from_slice(&fs::read(folder.join("ostiary-report/report.sarif"))?)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_script_ends_as_the_verification_and_leaves_its_reports() -> Result<()> {
    let world = World::open()?;
    let honest = TempDir::new()?;
    let output = run(honest.path(), world.bundle(), &world.environment(world.address())?, &[])?;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sarif(honest.path())?["version"], "2.1.0");
    let junit = fs::read_to_string(honest.path().join("ostiary-report/report.xml"))?;
    assert!(junit.contains("<testsuite") && !junit.contains("<failure"), "{junit}");
    assert!(fs::read_to_string(honest.path().join("output"))?.contains("verdict=PASS"));
    assert!(fs::read_to_string(honest.path().join("summary"))?.contains("PASS"));

    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::CutStream), Options::default()).await?;
    let liar = TempDir::new()?;
    let environment = world.environment(proxy.addr())?;
    let output = tokio::task::block_in_place(|| run(liar.path(), world.bundle(), &environment, &[]))?;
    proxy.shutdown().await;
    assert_eq!(output.status.code(), Some(1));
    assert!(sarif(liar.path())?.to_string().contains("STREAM_TRUNCATED"));
    let junit = fs::read_to_string(liar.path().join("ostiary-report/report.xml"))?;
    assert!(junit.contains("<failure"), "{junit}");
    assert!(fs::read_to_string(liar.path().join("output"))?.contains("verdict=FAIL"));
    Ok(())
}

#[test]
fn an_agent_that_is_not_there_ends_the_job_whatever_was_asked_for() -> Result<()> {
    let world = World::open()?;
    let environment = world.environment(free_address()?)?;
    for (inconclusive, code) in [("fail", 4), ("warn", 4), ("ignore", 2)] {
        let folder = TempDir::new()?;
        let output = run(folder.path(), world.bundle(), &environment, &[("OSTIARY_CI_INCONCLUSIVE", inconclusive)])?;
        ensure!(output.status.code() == Some(code), "{inconclusive}: {:?}", output.status);
    }
    Ok(())
}
