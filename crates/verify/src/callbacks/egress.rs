//! Calls that left the candidate, as observers saw them.

use ostiary_record::{EventRef, Kind};
use serde_json::Value;

use crate::facts::Tape;

/// What the observers of one recording saw.
#[derive(Default)]
pub(crate) struct Departures {
    /// The events that hold it.
    pub(crate) at: Vec<EventRef>,
    /// Calls that the environment does not allow and that are to no callback.
    pub(crate) forbidden: Vec<Departure>,
    /// Whether all of it was seen.
    pub(crate) complete: bool,
}

/// A call that left, or wanted to.
pub(crate) struct Departure {
    /// The event that holds it.
    pub(crate) at: EventRef,
    /// The host as the candidate named it.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u64,
}

/// The calls that left in the time of a recording.
pub(crate) fn departures(tape: Tape<'_>) -> Departures {
    let mut out = Departures::default();
    for event in &tape.recording.events {
        let Kind::Observed { effects, complete, .. } = &event.kind else { continue };
        let Some(calls) = effects.get("egress").and_then(Value::as_array) else { continue };
        let at = tape.cite(event.seq);
        out.at.push(at.clone());
        out.complete = *complete;
        let forbidden = calls.iter().filter(|call| call.get("allowed") == Some(&false.into()));
        out.forbidden.extend(forbidden.map(|call| Departure {
            at: at.clone(),
            host: call.get("host").and_then(Value::as_str).unwrap_or_default().to_owned(),
            port: call.get("port").and_then(Value::as_u64).unwrap_or_default(),
        }));
    }
    out
}
