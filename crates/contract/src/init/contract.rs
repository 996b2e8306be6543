//! `contract.yaml`: what is under contract, and where its parts lie.

use std::{collections::BTreeSet, fmt::Write as _};

use ostiary_protocol::a2a::Card;

use super::{
    MARK, Source,
    text::{comment, scalar},
};
use crate::bundle::Files;

/// The MCP revision that is assumed; a snapshot does not say which one was negotiated.
const MCP_REVISION: &str = "2025-11-25";

pub(super) fn write(source: &Source<'_>, files: &mut Files) {
    files.insert("contract.yaml".to_owned(), text(source, files).into());
}

fn text(source: &Source<'_>, files: &Files) -> String {
    let id = scalar(&source.agent_id);
    let mut out = String::from(
        "# Drafted by `ostiary bundle init` from what the producer declares. A line marked DECIDE is a guess, or something\n\
         # that no declaration tells; remove the mark once it is as you want it.\n\
         contract_bundle:\n",
    );
    let _ = writeln!(out, "  contract_id: {}", scalar(&format!("{}-contract", source.agent_id)));
    out.push_str("  contract_version: 1.0.0\n");
    protocol(source, &mut out);
    let _ = writeln!(out, "  producer:\n    agent_id: {id}");
    producer(source, &mut out);
    declarations(source, &mut out);
    examples(files, &mut out);
    out
}

fn protocol(source: &Source<'_>, out: &mut String) {
    out.push_str("  protocol:\n");
    if let Some(card) = &source.card {
        let interfaces = card.interfaces();
        let version = interfaces
            .iter()
            .find_map(|i| i.version_text.filter(|v| crate::file::contract::knows_a2a(v)))
            .unwrap_or("1.0");
        let format = card.format();
        let told = if interfaces.is_empty() {
            format!(" {MARK}the card is of the form {}; a card of A2A 1.0 names `supportedInterfaces`", format.as_str())
        } else {
            String::new()
        };
        let _ = writeln!(out, "    a2a: {}{told}", scalar(version));
    }
    if !source.servers.is_empty() {
        let _ = writeln!(out, "    mcp: {}", revision(source));
    }
    out.push_str("    json_schema: \"2020-12\"\n");
}

/// The one revision that all servers were asked by; a file does not say it, and servers may differ.
fn revision(source: &Source<'_>) -> String {
    let asked = |server: &super::Server| Some(source.live(&server.name)?.revision.as_str());
    let known: BTreeSet<Option<&str>> = source.servers.iter().map(asked).collect();
    match known.first().copied().flatten() {
        Some(revision) if known.len() == 1 => format!("\"{revision}\""),
        Some(revision) => format!("\"{revision}\" {MARK}your servers were not all asked by one revision"),
        None => format!("\"{MCP_REVISION}\" {MARK}the revision that your server negotiates"),
    }
}

fn producer(source: &Source<'_>, out: &mut String) {
    match &source.declared.artifact {
        Some(digest) => {
            let _ = writeln!(out, "    artifact_digest: {}", scalar(&digest.to_string()));
        }
        None => {
            let what = "SHA-256 of what runs (image, wheel, file); no gate opens without it";
            let _ = writeln!(out, "    artifact_digest: unknown {MARK}{what}");
        }
    }
    let provider = source.card.as_ref().and_then(|c| c.get("provider")?.get("organization")?.as_str());
    match provider {
        Some(name) => {
            let _ = writeln!(out, "    publisher: {}", scalar(name));
        }
        None => {
            let _ = writeln!(out, "    publisher: unknown {MARK}who stands behind it");
        }
    }
    let _ = writeln!(out, "    runtime: {MARK}versions, as far as you know them; they stand in each statement");
    for part in ["model", "sdk", "backend"] {
        let _ = writeln!(out, "      {part}: unknown");
    }
}

fn declarations(source: &Source<'_>, out: &mut String) {
    out.push_str("  declarations:\n");
    if let Some(card) = &source.card {
        let name = card.text("name").map(|n| format!("  # {}", comment(n))).unwrap_or_default();
        let _ = writeln!(out, "    agent_card: agent-card.json{name}");
    }
    if !source.servers.is_empty() {
        out.push_str("    mcp_tools:\n");
    }
    for server in &source.servers {
        let path = super::tools::path(&server.name);
        let name = scalar(&server.name);
        let _ = writeln!(out, "      - server: {name}\n        profile: harness.default.default\n        path: {path}");
        let _ = writeln!(out, "        {MARK}artifact_digest, SHA-256 of what this server runs");
    }
}

fn examples(files: &Files, out: &mut String) {
    let sets = [("positive_cases", "cases/positive/"), ("negative_cases", "cases/negative/")];
    let mut there = sets.iter().filter(|(_, folder)| files.keys().any(|path| path.starts_with(folder))).peekable();
    if there.peek().is_some() {
        out.push_str("  examples:\n");
    }
    for (key, folder) in there {
        let _ = writeln!(out, "    {key}: {folder}");
    }
}

/// Whether a card streams.
pub(super) fn streams(card: &Card) -> bool {
    card.capability(ostiary_protocol::a2a::card::Capability::Streaming) == Some(true)
}
