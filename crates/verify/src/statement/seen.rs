//! What the recordings show was tried: operations, states, media, time.

use std::collections::BTreeSet;

use ostiary_record::{Kind, Run};

/// What was tried and seen in a run.
#[derive(Default)]
pub(crate) struct Seen {
    /// How many scenarios were driven, discovery apart.
    pub(crate) scenarios: usize,
    /// Operations that were answered to the end.
    pub(crate) operations: BTreeSet<String>,
    /// Task states that came back.
    pub(crate) states: BTreeSet<String>,
    /// Media types that came back in parts.
    pub(crate) media: BTreeSet<String>,
    /// The longest exchange, in seconds.
    pub(crate) longest_s: u64,
    /// Observations that saw everything.
    pub(crate) complete_observations: usize,
    /// Whether a push callback came in.
    pub(crate) callbacks: bool,
    /// Whether parts with raw bytes or references came back.
    pub(crate) files: bool,
}

// === impl Seen ===

impl Seen {
    pub(crate) fn of(run: &Run) -> Self {
        let mut seen = Self::default();
        for recording in run.recordings.iter().filter(|r| r.axes.profile.is_some()) {
            seen.scenarios += 1;
            for exchange in recording.exchanges().iter().filter(|x| x.complete()) {
                seen.operations.extend(exchange.intent.map(|op| op.0.clone()));
                if let Some(end) = exchange.ended.and_then(|(_, seq)| recording.events.iter().find(|e| e.seq == seq)) {
                    let nanos = end.at.0.saturating_sub(exchange.sent.at.0);
                    seen.longest_s = seen.longest_s.max(nanos / 1_000_000_000);
                }
            }
            for event in &recording.events {
                seen.take(&event.kind);
            }
        }
        seen
    }

    fn take(&mut self, kind: &Kind) {
        match kind {
            Kind::Frame { bytes, .. } => {
                let text = bytes.as_str().unwrap_or_default();
                self.states.extend(words_after(text, "\"TASK_STATE_").map(|rest| format!("TASK_STATE_{rest}")));
                let compact: String = text.split_ascii_whitespace().collect();
                self.media.extend(words_after(&compact, "\"mediaType\":\"").map(str::to_owned));
                self.files |= compact.contains("\"raw\":\"") || compact.contains("\"url\":\"");
            }
            Kind::Observed { complete: true, .. } => self.complete_observations += 1,
            Kind::Inbound { .. } => self.callbacks = true,
            _ => {}
        }
    }
}

/// What stands between each `prefix` and the next quote.
fn words_after<'t>(text: &'t str, prefix: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(prefix).filter_map(move |(at, _)| text[at + prefix.len()..].split('"').next())
}
