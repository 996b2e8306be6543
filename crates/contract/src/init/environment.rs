//! The environment file beside a bundle: where and how it is verified.

use std::fmt::Write as _;

use super::{MARK, ServerPlace, Source, text::scalar};

pub(super) fn text(source: &Source<'_>) -> String {
    let (url, guessed) = card_url(source);
    let of_server = |place: &ServerPlace| matches!(place, ServerPlace::Url(url) if url.starts_with("http://"));
    let plain = (source.card.is_some() && url.starts_with("http://"))
        || source.declared.servers.values().any(|server| of_server(&server.place));
    let name = scalar(&source.agent_id);
    let mut out = format!(
        "# Where and how the bundle beside this file is verified. No part of the bundle; secrets stand here by reference only.\n\
         environment:\n  name: {name}\n"
    );
    if plain {
        out.push_str(
            "  # Plain http is for one's own machine: what https and a public address would show is not verified, the evidence\n  \
             # says so, and only a namespace that the server marks for development admits on it.\n  \
             strictness: development\n  allow_insecure_http: true\n",
        );
    } else {
        out.push_str("  strictness: production\n");
    }
    if let Some(path) = &source.declared.trust_roots {
        let _ = writeln!(out, "  trust_roots: {}", scalar(path));
    }
    if !source.declared.connect_to.is_empty() {
        out.push_str("  connect_to:\n");
    }
    for (from, to) in &source.declared.connect_to {
        let quoted = |text: &str| serde_json::to_string(text).expect("a text is always JSON");
        let _ = writeln!(out, "    {}: {}", quoted(from), quoted(to));
    }
    if source.card.is_some() {
        let mark = format!(" {MARK}where the card is served; this is a guess from its first interface");
        let _ = writeln!(out, "  a2a:\n    card_url: {}{}", scalar(&url), if guessed { &mark } else { "" });
    }
    if source.card.is_some() && !source.public() {
        subjects(&mut out);
    }
    let what = "calls may make the agent write; name only what is harmless here";
    let _ = writeln!(out, "  cleared_effects: [read, write] {MARK}{what}");
    servers(source, &mut out);
    out
}

fn servers(source: &Source<'_>, out: &mut String) {
    let live = |name: &str| source.live(name).map(|server| &server.place);
    if source.servers.iter().any(|server| live(&server.name).is_some()) {
        out.push_str("  mcp:\n");
    }
    for server in &source.servers {
        let name = scalar(&server.name);
        match live(&server.name) {
            Some(ServerPlace::Url(url)) => {
                let _ = writeln!(out, "    - {{ server: {name}, url: {} }}", serde_json::json!(url));
            }
            Some(ServerPlace::Command(command)) => {
                let _ = writeln!(out, "    - {{ server: {name}, command: {} }}", serde_json::json!(command));
            }
            None => {}
        }
    }
    for server in source.servers.iter().filter(|server| live(&server.name).is_none()) {
        let _ = writeln!(
            out,
            "  {MARK}`mcp`, where the server {} runs: its `url`, or the `command` that starts it",
            scalar(&server.name)
        );
    }
}

fn subjects(out: &mut String) {
    let _ = writeln!(
        out,
        "  {MARK}the agent must trust these tokens: their issuer, audience and key; or refer to real ones by `token_env`\n  \
         identity: {{ issuer: harness }}\n  subjects:"
    );
    for (name, tenant, more) in [
        ("user-a", "tenant-fixture-a", ""),
        ("user-b", "tenant-fixture-b", ""),
        ("expired-a", "tenant-fixture-a", ", expired: true"),
        ("foreign-a", "tenant-fixture-a", ", foreign: true"),
    ] {
        let _ = writeln!(out, "    {name}: {{ profile: user, tenant_class: standard, tenant: {tenant}{more} }}");
    }
}

/// Where the card is served, and whether that is a guess.
fn card_url(source: &Source<'_>) -> (String, bool) {
    if let Some(url) = &source.declared.card_url {
        return (url.clone(), false);
    }
    let interfaces = source.card.as_ref().map(|card| card.interfaces()).unwrap_or_default();
    let origin = interfaces.iter().find_map(|i| {
        let (scheme, rest) = i.url?.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().filter(|a| !a.is_empty() && !a.contains('@'))?;
        matches!(scheme, "http" | "https").then(|| format!("{scheme}://{authority}"))
    });
    let origin = origin.unwrap_or_else(|| "https://agent.example.test".to_owned());
    (format!("{origin}/.well-known/agent-card.json"), true)
}
