//! What routers know: whether a revision is applied wherever something older was in use.

use std::time::Duration;

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::agent::word;
use crate::{
    api::{Api, Remote},
    console::{Console, counted},
    error::CliError,
    exit::Exit,
};

/// Asks what routers know
#[derive(Debug, Subcommand)]
pub(crate) enum Revision {
    /// Says whether nothing older than a revision is in use at any router any more: 0 proved, 3 not (yet)
    Applied {
        /// The revision, as acts answer it
        revision: u64,
        #[command(flatten)]
        remote: Remote,
        #[command(flatten)]
        wait: Wait,
    },
}

/// Whether to wait for the proof.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Wait {
    /// Waits until no router uses anything older any more: 0 proved, 3 not within the time
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "30")]
    wait: Option<u64>,
}

/// How long the control plane is asked to hold one question, in seconds: the bar moves as often.
const HELD: u64 = 1;

// === impl Wait ===

impl Wait {
    /// How long to wait, if at all.
    pub(crate) fn limit(self) -> Option<Duration> {
        self.wait.map(Duration::from_secs)
    }
}

// === impl Revision ===

impl Revision {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let Self::Applied { revision, remote, wait } = self;
        let proof = applied(console, &remote.api()?, revision, wait.limit().unwrap_or_default()).await?;
        console.result(&proof, show);
        Ok(ended(&proof))
    }
}

/// The end that a proof stands for.
pub(crate) fn ended(proof: &Value) -> Exit {
    if proof["proved"] == json!(true) { Exit::Done } else { Exit::Inconclusive }
}

/// Asks until it is proved, at most `limit`.
pub(crate) async fn applied(console: Console, api: &Api, revision: u64, limit: Duration) -> Result<Value, CliError> {
    let bar = bar(console, revision);
    let mut left = limit.as_secs();
    loop {
        let held = left.min(HELD);
        let proof = api.get(&format!("/api/v1/revisions/{revision}/applied?wait_seconds={held}")).await?;
        advance(&bar, &proof);
        left -= held;
        if left == 0 || proof["proved"] == json!(true) {
            bar.finish_and_clear();
            return Ok(proof);
        }
    }
}

fn bar(console: Console, revision: u64) -> ProgressBar {
    let bar = if console.live() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("revision {prefix} [{bar:30}] {pos}/{len} {wide_msg}");
    bar.set_style(style.expect("the template is a constant that parses").progress_chars("=> "));
    bar.set_prefix(revision.to_string());
    bar
}

fn advance(bar: &ProgressBar, proof: &Value) {
    let count = |name: &str| proof[name].as_u64().unwrap_or_default();
    let (over, pending) = (count("applied") + count("lapsed"), count("pending"));
    bar.set_length(over + pending);
    bar.set_position(over);
    bar.set_message(format!("{} to go", counted(usize::try_from(pending).unwrap_or(usize::MAX), "router")));
}

/// The proof for people.
pub(crate) fn show(console: &Console, proof: &Value) {
    let routers = proof["routers"].as_array().into_iter().flatten();
    let of_routers = routers.map(|router| row("router", &router["router"], router));
    let others =
        proof["replicas"].as_array().into_iter().flatten().filter(|replica| replica["answering"] == json!(false));
    let of_others = others.map(|replica| row("other server", &replica["replica"], replica));
    let rows: Vec<_> = of_routers.chain(of_others).collect();
    if !rows.is_empty() {
        console.table(&["who", "name", "stands", "until"], rows);
    }
    let (revision, at) = (&proof["revision"], word(&proof["over_at"]));
    console.line(match proof["proved"].as_bool() {
        Some(true) => format!("revision {revision} is proved: nothing older is in use anywhere"),
        _ if at.is_empty() => format!("revision {revision} is not proved yet"),
        _ => format!("revision {revision} is not proved yet; at the latest at {at} all that is older has lapsed"),
    });
    for name in ["applied", "lapsed", "pending"] {
        console.line(format!("{name:>8}  {}", proof[name]));
    }
}

fn row(who: &str, name: &Value, of: &Value) -> [String; 4] {
    [who.to_owned(), word(name), word(&of["stands"]), word(&of["until"])]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ended;
    use crate::exit::Exit;

    #[test]
    fn only_a_proof_ends_with_zero() {
        assert_eq!(ended(&json!({"proved": true})), Exit::Done);
        for other in [json!({"proved": false}), json!({"proved": "true"}), json!({}), json!(null)] {
            assert_eq!(ended(&other), Exit::Inconclusive, "{other}");
        }
    }
}
