//! Stored runs: one JSON document each, read with bounds, judged again without a call.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::json::{JsonError, Limits, parse_strict};
use ostiary_contract::{Bundle, Files, Problems};
use ostiary_record::{Kind, Run, run::RUN_FORMAT};

use crate::{discover::BUNDLE_PREFIX, scenario::DISCOVER};

/// Most bytes of a stored run: four times what the Jobs port takes, since a person may keep longer ones.
pub const MAX_BYTES: usize = 256 << 20;
/// Deepest nesting: a recording's own members around a value that an observer reported.
const MAX_DEPTH: u8 = 96;

/// Why bytes are no stored run.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// No JSON, or beyond the bounds.
    #[error("run is not readable JSON")]
    Json(#[source] JsonError),
    /// JSON of another shape.
    #[error("run has not the shape of a stored run")]
    Shape(#[source] serde_json::Error),
    /// Written by another version of the harness.
    #[error("run has the format `{0}`, and this build reads `{RUN_FORMAT}`; judge it with the build that wrote it")]
    Format(String),
    /// Events are not numbered from 0 in order, so that citations would point at others.
    #[error("events of recording {0} are not numbered in order")]
    Order(usize),
    /// Some repetitions of a scenario are neither there nor accounted for, so that nobody knows how they went.
    #[error("repetitions of scenario `{0}` are not numbered 0, 1, 2 and so on")]
    Repetitions(String),
    /// No discovery tape.
    #[error("run does not begin with the recording of scenario `{DISCOVER}`")]
    NoDiscovery,
    /// The bundle on the discovery tape does not load.
    #[error("bundle in the run does not load:\n{0}")]
    Bundle(Problems),
}

/// The bytes of a run.
///
/// # Panics
/// Never: a run is plain data.
#[must_use]
pub fn write(run: &Run) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(run).expect("a run is plain data and always serialises");
    bytes.push(b'\n');
    bytes
}

/// Reads a stored run.
///
/// # Errors
/// When the bytes are no run that this build can judge.
pub fn read(bytes: &[u8]) -> Result<Run, RecordingError> {
    let limits = Limits::WIRE.with_bytes(MAX_BYTES).with_depth(MAX_DEPTH);
    let value = parse_strict(bytes, limits).map_err(RecordingError::Json)?;
    if let Some(format) = value.get("format").and_then(serde_json::Value::as_str)
        && format != RUN_FORMAT
    {
        return Err(RecordingError::Format(format.to_owned()));
    }
    let run: Run = serde_json::from_value(value).map_err(RecordingError::Shape)?;
    for (n, recording) in run.recordings.iter().enumerate() {
        if !(0_u64..).zip(&recording.events).all(|(seq, event)| event.seq.0 == seq) {
            return Err(RecordingError::Order(n));
        }
    }
    match gap(&run) {
        Some(scenario) => Err(RecordingError::Repetitions(scenario.to_owned())),
        None => Ok(run),
    }
}

/// The first scenario of which a repetition is missing (V-02): one that could not be driven is in `not_run`.
fn gap(run: &Run) -> Option<&str> {
    let recorded = run.recordings.iter().map(|r| (&r.scenario.0, &r.axes));
    let skipped = run.not_run.iter().map(|n| (&n.scenario.0, &n.axes));
    let mut driven: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for (scenario, axes) in recorded.chain(skipped) {
        let variant = (scenario.as_str(), &axes.profile, &axes.case, &axes.values);
        driven.entry(variant).or_default().insert(axes.repetition);
    }
    let complete = |numbers: &BTreeSet<u32>| numbers.iter().copied().eq((0..).take(numbers.len()));
    driven.iter().find(|(_, numbers)| !complete(numbers)).map(|((scenario, ..), _)| *scenario)
}

/// The bundle that a run was made with, from its discovery tape.
///
/// # Errors
/// When the tape is missing or what is on it is no bundle.
pub fn bundle_of(run: &Run) -> Result<Bundle, RecordingError> {
    let tape = run.recordings.first().filter(|r| r.scenario.0 == DISCOVER).ok_or(RecordingError::NoDiscovery)?;
    let file = |kind: &Kind| match kind {
        Kind::Document { name, bytes } => Some((name.0.strip_prefix(BUNDLE_PREFIX)?.to_owned(), bytes.0.clone())),
        _ => None,
    };
    let files: Files = tape.events.iter().filter_map(|e| file(&e.kind)).collect();
    Bundle::load(&files).map_err(RecordingError::Bundle)
}
