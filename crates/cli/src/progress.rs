//! What is seen of a run while it goes on: a bar for people, lines of JSON for machines.

use indicatif::{ProgressBar, ProgressStyle};
use ostiary_record::{RunEvent, RunSink};

use crate::console::{Console, Format, visible};

/// Shows the events of one run.
#[derive(Debug)]
pub struct Progress {
    console: Console,
    bar: ProgressBar,
}

// === impl Progress ===

impl Progress {
    /// Shows on `console`; draws only where a person watches a terminal.
    #[must_use]
    pub fn new(console: Console, what: &str) -> Self {
        let bar = if console.live() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {wide_msg}");
        bar.set_style(style.expect("the template is a constant that parses").progress_chars("=> "));
        bar.set_prefix(visible(what));
        Self { console, bar }
    }
}

impl RunSink for Progress {
    fn emit(&self, event: &RunEvent) {
        if self.console.format() == Format::Jsonl {
            return self.console.document(event, false);
        }
        match event {
            RunEvent::Planned { scenarios, .. } => self.bar.set_length(u64::from(*scenarios)),
            RunEvent::Started { scenario, .. } => self.bar.set_message(visible(&scenario.0)),
            RunEvent::Driven { .. } => self.bar.inc(1),
            RunEvent::Judged { .. } => {}
            RunEvent::Finished { .. } => self.bar.finish_and_clear(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
