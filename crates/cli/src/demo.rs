//! The demo: a whole control plane, the sample agent, and what happens to a good version and to two bad ones.
//!
//! Nothing is faked: the agent speaks TLS under its production name, each gate is a real run, the evidence is signed,
//! the router's questions go over gRPC. Only the clock of the control plane is ours, so that evidence can expire while
//! one watches. Start at [`Demo`]; `story.rs` is the plot, `world.rs` the stage.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;

use crate::{
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
    system,
};

mod clock;
mod story;
mod world;

use world::World;

/// Shows all of it at once: admits a good agent version by real verification, asks as a router would, and catches two
/// agents that lie
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Leaves everything running afterwards, and prints addresses and tokens
    #[arg(long)]
    keep: bool,
    /// Writes the evidence of each version into a directory of its own in this one, in every form, with the keys to
    /// verify it
    #[arg(long, value_name = "DIR")]
    evidence: Option<PathBuf>,
}

/// What the demo showed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Shown {
    ok: bool,
    scenarios: Vec<Scenario>,
    checks: Vec<Check>,
    /// Where everything is, when it is left running.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_running: Option<BTreeMap<&'static str, String>>,
}

/// One story of the documentation.
#[derive(Debug, Serialize)]
pub(crate) struct Scenario {
    /// Its id: `Q-01`.
    pub(crate) id: &'static str,
    /// What is shown, for people.
    pub(crate) title: &'static str,
    /// The newest verdict.
    pub(crate) verdict: String,
    /// The reason that was expected, where it was found; else whatever was found first.
    pub(crate) reason_code: Option<String>,
    /// Where the version ended.
    pub(crate) state: String,
    /// All states that it went through.
    pub(crate) states: Vec<String>,
    /// The holds that were set on the way.
    pub(crate) holds: Vec<String>,
    /// Whether all is as it must be.
    pub(crate) ok: bool,
}

/// One question of a router.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    pub(crate) question: &'static str,
    pub(crate) outcome: String,
    pub(crate) reason: String,
    pub(crate) ok: bool,
}

/// Tells what goes on.
pub(crate) struct Narrator {
    console: Console,
    bar: ProgressBar,
    last: Mutex<String>,
}

// === impl Demo ===

impl Demo {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let narrator = Narrator::new(console);
        let world = World::make(&narrator).await?;
        let told = story::tell(&world, &narrator, self.evidence.as_deref()).await;
        narrator.bar.finish_and_clear();
        let mut shown = told?;
        shown.ok = shown.scenarios.iter().all(|s| s.ok) && shown.checks.iter().all(|c| c.ok);
        shown.left_running = self.keep.then(|| world.addresses());
        console.result(&shown, print);
        if self.keep {
            system::interrupted().await?;
        }
        world.stop().await;
        Ok(if shown.ok { Exit::Done } else { Exit::Failed })
    }
}

// === impl Narrator ===

impl Narrator {
    fn new(console: Console) -> Self {
        let bar = if console.live() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        Self { console, bar, last: Mutex::default() }
    }

    /// A step of the story; what was said just now is not said again.
    pub(crate) fn say(&self, text: &str) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last == text {
            return;
        }
        text.clone_into(&mut last);
        match self.console.live() {
            true => self.bar.set_message(text.to_owned()),
            false => self.console.note(text),
        }
    }
}

fn print(console: &Console, shown: &Shown) {
    let mark = |ok: bool| if ok { "ok" } else { "not ok" }.to_owned();
    console.table(
        &["story", "", "states", "verdict", "reason", "holds", ""],
        shown.scenarios.iter().map(|s| {
            let reason = s.reason_code.clone().unwrap_or_default();
            let (id, title) = (s.id.to_owned(), s.title.to_owned());
            [id, title, s.states.join("\n"), s.verdict.clone(), reason, s.holds.join("\n"), mark(s.ok)]
        }),
    );
    console.table(
        &["a router asks", "answer", "reason", ""],
        shown.checks.iter().map(|c| [c.question.to_owned(), c.outcome.clone(), c.reason.clone(), mark(c.ok)]),
    );
    console.line(match shown.ok {
        true => format!("{}: every version is where its evidence puts it", coloured("ok")),
        false => format!("{}: see the lines above", coloured("not ok")),
    });
    if let Some(addresses) = &shown.left_running {
        for (name, value) in addresses {
            console.line(format!("{name:>16}  {value}"));
        }
        console.line("everything is left running; interrupt to stop");
    }
}
