//! A version as people read it.

use serde_json::Value;

pub(crate) use crate::commands::agent::word;
use crate::console::{Console, coloured};

/// Where a version stands.
pub(crate) fn status(console: &Console, status: &Value) {
    let text = |name: &str| word(&status[name]);
    let head = format!("{}@{}  {}", text("agent"), text("version"), coloured(&text("state")));
    console.line(format!("{head}  (attempt {}, revision {})", text("attempt"), text("revision")));
    for (name, value) in [
        ("route", &status["route"]),
        ("next gate", &status["next_gate"]),
        ("newest", &status["newest"]["outcome"]),
        ("card", &status["subject"]["card_digest"]),
        ("contract", &status["subject"]["contract_digest"]),
        ("producer", &status["subject"]["producer_digest"]),
        ("profiles", &status["authorization"]["profiles"]),
        ("expires", &status["authorization"]["expires_at"]),
        ("called in", &status["authorization"]["called_in_at"]),
        ("class", &status["class"]),
    ] {
        if !value.is_null() {
            console.line(format!("{name:>10}  {}", coloured(&word(value).replace('\n', ", "))));
        }
    }
    waived(console, status);
    mode(console, status);
    holds(console, status);
    for why in status["why"].as_array().into_iter().flatten() {
        console.line(format!("{:>10}  {}", "why", word(why)));
    }
    let jobs = status["jobs"].as_array().into_iter().flatten();
    for job in jobs.filter(|job| job["state"] != "done") {
        console.line(format!(
            "{:>10}  {} gate: {} {}",
            "run",
            word(&job["gate"]),
            word(&job["state"]),
            word(&job["last_error"])
        ));
    }
}

/// Why a version stands where it stands.
pub(crate) fn explained(console: &Console, explained: &Value) {
    console.line(match explained["summary"].as_str() {
        Some(summary) => summary.to_owned(),
        // an older control plane says less
        None => coloured(&word(&explained["state"])),
    });
    mode(console, explained);
    causes(console, explained);
    let gates = explained["gates"].as_array().into_iter().flatten();
    console.table(
        &["gate", "outcome", "reasons", "verified", "until"],
        gates.map(|gate| ["gate", "outcome", "reasons", "verified_at", "expires_at"].map(|name| word(&gate[name]))),
    );
    let commands = explained["commands"].as_array().into_iter().flatten();
    for (n, command) in commands.enumerate() {
        console.line(format!("{:>10}  {}", if n == 0 { "type" } else { "" }, word(command)));
    }
}

/// What stands in the way, each with its remedy.
fn causes(console: &Console, explained: &Value) {
    for cause in explained["causes"].as_array().into_iter().flatten() {
        let text = |name: &str| word(&cause[name]);
        let gate = if cause["gate"].is_null() { String::new() } else { format!("  ({} gate)", text("gate")) };
        console.line("");
        console.line(format!("{}{gate}", text("code")));
        console.line(format!("{:>10}  {}", "what", text("what")));
        console.line(format!("{:>10}  {}", "to do", text("remedy")));
    }
}

/// What did not pass and was waived.
fn waived(console: &Console, status: &Value) {
    for waived in status["authorization"]["waived"].as_array().into_iter().flatten() {
        let text = |name: &str| word(&waived[name]);
        let (check, found, until) = (text("check"), text("found"), text("until"));
        console.line(format!("{:>10}  {check} ({found}) by {}, until {until}", "WAIVED", text("waiver")));
    }
}

/// A mode in which denials are only counted is loud.
fn mode(console: &Console, status: &Value) {
    let mode = word(&status["mode"]);
    if mode == "observe" || mode == "warn" {
        let until = word(&status["mode_until"]);
        let what = "routers are let through where they would be denied, but for a quarantine and a person's hold";
        console.line(format!("{:>10}  {mode} until {until}: {what}", "mode"));
    }
}

fn holds(console: &Console, of: &Value) {
    for hold in of["holds"].as_array().into_iter().flatten() {
        let text = |name: &str| word(&hold[name]);
        console.line(format!(
            "{:>10}  {} ({}) for {}: {}, by {}",
            "hold",
            text("kind"),
            text("id"),
            whom(&hold["scope"]),
            text("reason"),
            text("author")
        ));
    }
}

/// For whom a hold holds, in the words of `explain`.
fn whom(scope: &Value) -> String {
    match (word(&scope["scope"]).as_str(), word(&scope["of"])) {
        ("everything", _) => "everybody".to_owned(),
        ("digest", of) => format!("card {of}"),
        (scope, of) => format!("{scope} {of}"),
    }
}
