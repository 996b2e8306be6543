//! A first bundle, drafted from what a producer declares.

use std::path::{Path, PathBuf};

use clap::Args;
use ostiary_canon::Digest;
use ostiary_contract::{
    Bundle,
    init::{Decision, Declared, Draft, LiveServer, ServerPlace, draft},
};
use ostiary_protocol::mcp::Revision;
use ostiary_verify::mcp::live::EraView;
use serde_json::json;

use super::{
    card::Snapshot,
    mcp::{Ask, Taken},
};
use crate::{api::read, console::Console, error::CliError, exit::Exit, local};

/// Drafts a complete bundle, and an environment beside it, from a card, tool snapshots and an artifact
#[derive(Args, Debug)]
pub(crate) struct BundleInit {
    /// The agent card: an address, or a file
    #[arg(long, value_name = "URL|FILE", required_unless_present_any = ["mcp", "mcp_command"])]
    card: Option<String>,
    /// An MCP server that is asked for its tools, or its answer to `tools/list` in a file that has the server's name
    #[arg(long, value_name = "URL|FILE")]
    mcp: Vec<String>,
    /// The revision that servers are asked by; without it, the newest that each speaks
    #[arg(long, value_name = "REVISION")]
    mcp_protocol: Option<Revision>,
    /// What runs: a file that is digested, or its `sha256:…`
    #[arg(long, value_name = "FILE|DIGEST")]
    artifact: Option<String>,
    /// The agent's name in the registry; without it, made from the card's name
    #[arg(long, value_name = "NAME")]
    agent_id: Option<String>,
    /// The folder to write; without it, the agent's name
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    ask: Ask,
    /// The command that starts an MCP server on stdio; everything behind it belongs to it
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    mcp_command: Option<Vec<String>>,
}

// === impl BundleInit ===

impl BundleInit {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let drafted = draft(&self.declared(&console).await?).map_err(|e| {
            CliError::because("no bundle can be drafted", &e)
                .hint("see what is wrong with `ostiary card lint`, or `ostiary mcp lint` for a snapshot")
        })?;
        let out = self.out.unwrap_or_else(|| PathBuf::from(&drafted.agent_id));
        let environment = beside(&out);
        vacant(&out)?;
        vacant(&environment)?;
        for (path, bytes) in &drafted.files {
            let path = out.join(path);
            make(path.parent().unwrap_or(&out))?;
            local::write(&path, bytes)?;
        }
        local::write(&environment, drafted.environment.as_bytes())?;
        say(console, &drafted, &out, &environment)
    }

    async fn declared(&self, console: &Console) -> Result<Declared, CliError> {
        let trust_roots = self.ask.reach.trust_roots.as_deref().map(absolute).transpose()?;
        let mut declared = Declared {
            agent_id: self.agent_id.clone(),
            artifact: self.artifact.as_deref().map(artifact).transpose()?,
            connect_to: self.ask.reach.connect_to.iter().cloned().collect(),
            trust_roots,
            ..Declared::default()
        };
        match &self.card {
            Some(url) if url.contains("://") => {
                let fetched = self.ask.reach.fetch(url).await?;
                let snapshot = serde_json::to_string_pretty(&Snapshot::of(&fetched)?);
                declared.card_snapshot = Some(snapshot.expect("a snapshot is plain data").into());
                declared.card = Some(fetched.body);
                declared.card_url = Some(url.clone());
            }
            Some(file) => declared.card = Some(read(Path::new(file))?.into()),
            None => {}
        }
        for given in &self.mcp {
            if given.contains("://") {
                self.live(console, ServerPlace::Url(given.clone()), &mut declared).await?;
                continue;
            }
            let path = Path::new(given);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let server = name.split('.').next().unwrap_or_default().to_owned();
            declared.tools.push((server, read(path)?.into()));
        }
        if let Some(command) = &self.mcp_command {
            self.live(console, ServerPlace::Command(command.clone()), &mut declared).await?;
        }
        Ok(declared)
    }

    /// Asks a server; it goes by the name that it gives itself, which is a proposal like all of a draft.
    async fn live(&self, console: &Console, place: ServerPlace, declared: &mut Declared) -> Result<(), CliError> {
        let seen = self.ask.look(console, "server", &place).await?;
        let taken = Taken::of(seen, self.mcp_protocol)?;
        let era = taken.seen.view.eras().into_iter().find(|era| era.spoken() == Some(taken.revision));
        let info = era.and_then(EraView::handshake).and_then(|handshake| handshake.server_info);
        let called = info.as_ref().and_then(|info| info["name"].as_str()).unwrap_or("server");
        let name = called.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("server").to_owned();
        let text = serde_json::to_string_pretty(&taken.list).expect("a list is plain data");
        declared.tools.push((name.clone(), text.into()));
        declared.servers.insert(name, LiveServer { place, revision: taken.revision.to_string() });
        Ok(())
    }
}

/// A digest as it is, or that of a file.
fn artifact(text: &str) -> Result<Digest, CliError> {
    match text.parse() {
        Ok(digest) => Ok(digest),
        Err(_) if text.starts_with("sha256:") => Err(CliError::usage(format!("`{text}` is no SHA-256 digest"))
            .hint("write sha256: and 64 hexadecimal digits, or the path of a file")),
        Err(_) => Ok(Digest::of(&read(Path::new(text))?)),
    }
}

fn absolute(path: &Path) -> Result<String, CliError> {
    let full = std::path::absolute(path);
    let full = full.map_err(|e| CliError::could_not_run(format!("cannot find `{}`: {e}", path.display())))?;
    Ok(full.display().to_string())
}

/// `my-agent.environment.yaml` beside `my-agent`.
fn beside(out: &Path) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}.environment.yaml"))
}

/// Nothing that somebody wrote is overwritten.
fn vacant(path: &Path) -> Result<(), CliError> {
    let empty = path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    if !path.exists() || empty {
        return Ok(());
    }
    let what = format!("`{}` is there already, and nothing is overwritten", path.display());
    Err(CliError::usage(what).hint("give another --out, or remove it"))
}

fn make(folder: &Path) -> Result<(), CliError> {
    std::fs::create_dir_all(folder)
        .map_err(|e| CliError::could_not_run(format!("cannot make `{}`: {e}", folder.display())))
}

fn say(console: Console, drafted: &Draft, out: &Path, environment: &Path) -> Result<Exit, CliError> {
    let bundle = Bundle::load(&drafted.files).map_err(|problems| CliError::could_not_run(problems.to_string()))?;
    let open = drafted.decisions(&environment.display().to_string());
    let not_pinned: Vec<String> = bundle.pins().into_iter().map(|pin| pin.message).collect();
    let next = format!("ostiary verify {} --env {}", out.display(), environment.display());
    let said = json!({"bundle": out, "environment": environment, "agent_id": drafted.agent_id,
        "digest": bundle.digest.to_string(), "files": drafted.files.keys().collect::<Vec<_>>(),
        "decisions": open, "not_pinned": not_pinned, "next": next});
    console.result(&said, |console, _| {
        let (files, cases) = (drafted.files.len(), bundle.cases.len());
        console.line(format!("{} is a bundle of {files} files with {cases} cases", out.display()));
        console.line(format!("{} says where and how it is verified", environment.display()));
        for pin in &not_pinned {
            console.line(format!("not pinned, so no gate will open: {pin}"));
        }
        decide(console, out, environment, &open);
        console.line("");
        console.line(format!("next: {next}"));
    });
    Ok(Exit::Done)
}

fn decide(console: &Console, out: &Path, environment: &Path, open: &[Decision]) {
    if !open.is_empty() {
        console.line("");
        console.line(format!("{} places for you to decide (search for DECIDE):", open.len()));
    }
    for Decision { file, line, what } in open {
        let file = if Path::new(file) == environment { environment.to_owned() } else { out.join(file) };
        console.line(format!("  {}:{line}: {what}", file.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_a_digest_or_a_file() {
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(artifact(&digest).expect("a digest").to_string(), digest);
        assert_eq!(artifact("sha256:abc").expect_err("too short").exit(), Exit::Usage);
        assert_eq!(artifact("no/such/file").expect_err("no file").exit(), Exit::CouldNotRun);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("agent.py");
        std::fs::write(&file, b"print()").expect("written");
        assert_eq!(artifact(&file.display().to_string()).expect("digested"), Digest::of(b"print()"));
    }

    #[test]
    fn what_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(vacant(folder.path()).is_ok(), "an empty folder may be filled");
        assert_eq!(beside(Path::new("x/my-agent")), Path::new("x/my-agent.environment.yaml"));
        std::fs::write(folder.path().join("contract.yaml"), b"").expect("written");
        assert_eq!(vacant(folder.path()).expect_err("it is there").exit(), Exit::Usage);
    }
}
