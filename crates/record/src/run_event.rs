//! The other stream of a run: what terminal, JSON lines, JUnit and SARIF read. The tape is for judging, this is for people.

use serde::{Deserialize, Serialize};

use crate::{
    event::{Axes, ScenarioId},
    finding::{Finding, Report},
};

/// Progress of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum RunEvent {
    /// What will be driven.
    Planned {
        /// Number of recordings to make.
        scenarios: u32,
        /// Number of checks that will judge them.
        checks: u32,
    },
    /// A scenario starts.
    Started {
        /// Which.
        scenario: ScenarioId,
        /// Which variant.
        axes: Axes,
    },
    /// A scenario is over.
    Driven {
        /// Which.
        scenario: ScenarioId,
        /// Which variant.
        axes: Axes,
        /// Events on its tape.
        events: u32,
        /// Why it could not be run, if so.
        could_not_run: Option<String>,
    },
    /// A check has judged.
    Judged {
        /// What it says.
        finding: Box<Finding>,
    },
    /// All is judged.
    Finished {
        /// The report.
        report: Box<Report>,
    },
}

/// Receives run events; must not block for long.
pub trait RunSink: Send + Sync {
    /// One event.
    fn emit(&self, event: &RunEvent);
}

/// Swallows run events.
pub struct NoSink;

impl RunSink for NoSink {
    fn emit(&self, _: &RunEvent) {}
}
