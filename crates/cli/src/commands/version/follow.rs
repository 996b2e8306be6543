//! Following a version until nothing runs for it any more.

use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use serde_json::Value;

use super::show;
use crate::{api::Api, console::Console, error::CliError, exit::Exit};

/// Whether to wait.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Waits until nothing runs for the version any more; the exit code is then the newest verdict
    #[arg(long)]
    wait: bool,
    /// Longest wait, in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    wait_limit: u64,
}

/// How often the control plane is asked.
const LOOK: Duration = Duration::from_millis(250);

// === impl Wait ===

impl Wait {
    /// How long to wait, if at all.
    pub(crate) fn limit(self) -> Option<Duration> {
        self.wait.then(|| Duration::from_secs(self.wait_limit))
    }
}

/// Waits, prints where the version stands, and ends as its newest verdict says.
pub(crate) async fn follow(console: Console, api: &Api, path: &str, limit: Duration) -> Result<Exit, CliError> {
    let bar = if console.live() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let seen = |status: &Value| bar.set_message(show::word(&status["state"]));
    let status = tokio::time::timeout(limit, settled(api, path, &seen)).await;
    bar.finish_and_clear();
    let status = status.map_err(|_| {
        CliError::could_not_run(format!("the version was not settled within {} s", limit.as_secs()))
            .hint("ask again with `ostiary version status`, or see whether a worker runs")
    })??;
    console.result(&status, show::status);
    Ok(ended(&status))
}

/// Asks until no run waits or goes on.
pub(crate) async fn settled(api: &Api, path: &str, seen: &(dyn Fn(&Value) + Sync)) -> Result<Value, CliError> {
    loop {
        let status = api.get(path).await?;
        seen(&status);
        let mut jobs = status["jobs"].as_array().into_iter().flatten();
        if !jobs.any(|job| job["state"] == "queued" || job["state"] == "leased") {
            return Ok(status);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn ended(status: &Value) -> Exit {
    if let Some("REJECTED" | "QUARANTINED") = status["state"].as_str() {
        return Exit::Failed;
    }
    match status["newest"]["outcome"].as_str() {
        Some("PASS") => Exit::Done,
        Some("FAIL") => Exit::Failed,
        _ => Exit::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ended;
    use crate::exit::Exit;

    #[test]
    fn the_newest_verdict_is_the_exit_code() {
        for (state, outcome, exit) in [
            ("REGISTRY_ADMITTED", "PASS", Exit::Done),
            ("REJECTED", "FAIL", Exit::Failed),
            ("CANARY", "FAIL", Exit::Failed),
            ("QUARANTINED", "PASS", Exit::Failed),
            ("STATIC_VALIDATED", "INCONCLUSIVE", Exit::Inconclusive),
        ] {
            assert_eq!(ended(&json!({"state": state, "newest": {"outcome": outcome}})), exit, "{state} {outcome}");
        }
        assert_eq!(ended(&json!({"state": "DRAFT"})), Exit::Inconclusive);
    }
}
