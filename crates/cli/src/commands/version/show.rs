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
    ] {
        if !value.is_null() {
            console.line(format!("{name:>10}  {}", coloured(&word(value).replace('\n', ", "))));
        }
    }
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
    console.line(coloured(&word(&explained["state"])));
    let gates = explained["gates"].as_array().into_iter().flatten();
    console.table(
        &["gate", "outcome", "reasons", "verified", "until"],
        gates.map(|gate| ["gate", "outcome", "reasons", "verified_at", "expires_at"].map(|name| word(&gate[name]))),
    );
    holds(console, explained);
    for next in explained["next"].as_array().into_iter().flatten() {
        console.line(format!("{:>10}  {}", "next", word(next)));
    }
}

fn holds(console: &Console, of: &Value) {
    for hold in of["holds"].as_array().into_iter().flatten() {
        let text = |name: &str| word(&hold[name]);
        console.line(format!(
            "{:>10}  {} ({}): {}, by {}",
            "hold",
            text("kind"),
            text("id"),
            text("reason"),
            text("author")
        ));
    }
}
