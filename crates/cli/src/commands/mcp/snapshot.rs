//! A snapshot of a live server.

use std::path::PathBuf;

use clap::Args;
use ostiary_canon::Digest;
use ostiary_contract::init::ServerPlace;
use ostiary_protocol::mcp::Revision;
use ostiary_verify::mcp::live::EraView;
use serde_json::{Value, json};

use super::server::{Ask, Taken};
use crate::{
    console::{Console, counted, visible_json},
    error::CliError,
    exit::Exit,
    local,
};

/// Asks a live server for all its tools, by each revision that it speaks
///
/// Nothing but the openings and tools/list is called. A process sees PATH, HOME, LANG and TMPDIR of ours and what
/// --env-from names, and is ended afterwards with all that it started.
#[derive(Args, Debug)]
pub(crate) struct Snapshot {
    /// Address of the server's MCP endpoint
    #[arg(long, value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// The server's name in the bundle
    #[arg(long, value_name = "NAME", default_value = "server")]
    server: String,
    /// The file to write, such as `mcp/files/harness.default.default.snapshot.json`; without it, the list is printed
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The revision whose list is wanted; without it, the newest that the server speaks
    #[arg(long, value_name = "REVISION")]
    protocol: Option<Revision>,
    #[command(flatten)]
    ask: Ask,
    /// The command that starts the server on stdio; everything behind it belongs to it
    #[arg(long, value_name = "COMMAND", num_args = 1.., allow_hyphen_values = true)]
    command: Option<Vec<String>>,
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let place = match (self.url, self.command) {
            (Some(url), _) => ServerPlace::Url(url),
            (None, command) => ServerPlace::Command(command.unwrap_or_default()),
        };
        let seen = self.ask.look(&console, &self.server, &place).await?;
        let taken = Taken::of(seen, self.protocol)?;
        let text = serde_json::to_string_pretty(&taken.list).expect("a list is plain data");
        let Some(out) = &self.out else {
            console.result(&taken.list, |console, _| console.text(&visible_json(&text)));
            return Ok(Exit::Done);
        };
        local::write(out, text.as_bytes())?;
        let said = said(&taken, &text, out.display().to_string());
        console.result(&said, |console, said| print(console, said, &taken));
        Ok(Exit::Done)
    }
}

fn said(taken: &Taken, text: &str, file: String) -> Value {
    let view = &taken.seen.view;
    let listed = |era: &EraView| {
        json!({"outcome": era.outcome, "revision": era.revision, "why": era.why, "versions": era.versions,
            "pages": era.list.as_ref().map(|list| list.pages), "tools": era.list.as_ref().map(|list| list.tools)})
    };
    let names: Vec<&str> =
        taken.list["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    json!({"file": file, "server": view.server, "profile": view.profile(), "protocol": taken.protocol,
        "revision": taken.revision.as_str(), "tools": names, "raw_digest": Digest::of(text.as_bytes()).to_string(),
        "stateless": listed(&view.stateless), "sessions": listed(&view.sessions)})
}

fn print(console: &Console, said: &Value, taken: &Taken) {
    let tools = taken.list["tools"].as_array().map_or(0, Vec::len);
    let spoken: Vec<&str> = taken.seen.view.eras().into_iter().filter_map(|era| era.revision.as_deref()).collect();
    console.line(format!(
        "{} by {}; the server speaks {}",
        counted(tools, "tool"),
        taken.revision,
        spoken.join(" and ")
    ));
    console.line(format!("written to {}", said["file"].as_str().unwrap_or_default()));
}
