//! What routers told of a version.

use serde_json::Value;

use super::{Which, show::word};
use crate::{console::Console, error::CliError, exit::Exit};

/// Shows what routers saw that differs, what came of it, and the control plane's own look that is under way.
pub(super) async fn reports(console: Console, which: &Which) -> Result<Exit, CliError> {
    let told = which.remote.api()?.get(&format!("{}/drift-reports", which.path())).await?;
    console.result(&told, |console, told| {
        let look = &told["revalidation"];
        if !look.is_null() {
            let whom = if look["for_all"] == true { "everybody is denied" } else { "who sees another card is denied" };
            console.line(format!(
                "revalidating since {}: {whom}; {} looks failed, the next is at {}",
                word(&look["since"]),
                look["failed_looks"],
                word(&look["next_look"])
            ));
        }
        let reports = told["reports"].as_array().map_or(&[][..], Vec::as_slice);
        if reports.is_empty() {
            return console.line("no router reported anything");
        }
        let names = ["taken_at", "reporter", "kind", "finding", "observed_digest", "count", "action", "conclusion"];
        console.table(&names, reports.iter().map(|report| names.map(|name| word(&report[name]))));
    });
    Ok(Exit::Done)
}

/// Shows how dispatches went, one line for each consumer and signal.
pub(super) async fn outcomes(
    console: Console,
    which: &Which,
    since: Option<jiff::Timestamp>,
) -> Result<Exit, CliError> {
    let since = since.map(|since| format!("?since={since}")).unwrap_or_default();
    let sums = which.remote.api()?.get(&format!("{}/outcomes{since}", which.path())).await?;
    console.result(&sums, |console, sums| {
        let consumers = sums["consumers"].as_array().into_iter().flatten();
        let lines: Vec<[String; 5]> = consumers.flat_map(lines).collect();
        if lines.is_empty() {
            return console.line(format!("no router reported anything since {}", word(&sums["since"])));
        }
        console.line(format!("since {}", word(&sums["since"])));
        console.table(&["consumer", "card", "signal", "code", "count"], lines);
    });
    Ok(Exit::Done)
}

/// A signal with codes is told by code, another one by its sum.
fn lines(consumer: &Value) -> Vec<[String; 5]> {
    let canary = if consumer["canary"] == true { " (canary)" } else { "" };
    let who = format!("{}{canary}", word(&consumer["consumer"]));
    // enough to tell two cards apart; `--format json` has all of it
    let card: String = word(&consumer["card_digest"]).chars().take("sha256:".len() + 12).collect();
    let mut lines = Vec::new();
    for (signal, sum) in consumer["signals"].as_object().into_iter().flatten() {
        match consumer["codes"][signal].as_object() {
            Some(codes) => lines
                .extend(codes.iter().map(|(code, n)| [&who, &card, signal, code, &n.to_string()].map(Clone::clone))),
            None => lines.push([who.clone(), card.clone(), signal.clone(), String::new(), sum.to_string()]),
        }
    }
    lines
}
