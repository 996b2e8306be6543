//! Reads a window of outcomes into one kind of row: (version, consumer, signal, code) and a number.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use ostiary_domain::outcomes::{Audience, Counted, LATEST, Signal, Window};
use ostiary_proto::drift::v1 as wire;

use super::{digest, invalid, name, optional_name, parsed, time};
use crate::{auth::Caller, error::ApiError};

/// Most entries of a window.
const ENTRIES: usize = 10_000;
/// Most different codes of one signal of one entry; an agent's contract has a tenth of it.
const CODES: usize = 64;
/// Most numbers of a window, all entries together: what one statement of the database takes in well under a second.
const NUMBERS: usize = 100_000;
/// Most of anything in one window; beyond it is a made-up number, and sums of those would overflow.
const MOST: u64 = 1 << 32;
/// Longest window.
const LENGTH: SignedDuration = SignedDuration::from_hours(1);
/// How far a router's clock may be ahead of ours.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);
/// Most bounds of a histogram.
const BOUNDS: usize = 64;

/// The window in `message`.
///
/// # Errors
/// `INVALID_REQUEST` with the entry and the field that do not do.
pub(super) fn read(message: wire::ReportOutcomesRequest, caller: &Caller, now: Timestamp) -> Result<Window, ApiError> {
    let (from, to) = (time("from", message.from)?, time("to", message.to)?);
    timely((from, to), now)?;
    if message.outcomes.len() > ENTRIES {
        return Err(invalid("outcomes", format_args!("has more than {ENTRIES} entries: send several windows")));
    }
    let mut counts = BTreeMap::new();
    for (number, entry) in message.outcomes.into_iter().enumerate() {
        Entry::of(number, &entry)?.add(entry, &mut counts)?;
        if counts.len() > NUMBERS {
            return Err(invalid("outcomes", format_args!("has more than {NUMBERS} numbers: send several windows")));
        }
    }
    Ok(Window {
        by: caller.actor(),
        router_id: name("router_id", &message.router_id)?,
        instance: name("instance", &message.instance)?,
        number: message.window,
        from,
        counts,
    })
}

fn timely((from, to): (Timestamp, Timestamp), now: Timestamp) -> Result<(), ApiError> {
    if to <= from {
        return Err(invalid("to", "is not after `from`"));
    }
    if to.duration_since(from) > LENGTH {
        return Err(invalid("to", "a window lasts an hour at most"));
    }
    if to.duration_since(now) > AHEAD {
        return Err(invalid("to", "is minutes in the future: set the router's clock"));
    }
    if now.duration_since(to) > LATEST {
        return Err(invalid("to", "is more than a day ago: drop the window, it is not counted any more"));
    }
    Ok(())
}

/// Where the numbers of one entry belong.
struct Entry {
    number: usize,
    about: Counted,
}

impl Entry {
    fn of(number: usize, entry: &wire::Outcomes) -> Result<Self, ApiError> {
        let place = |field: &str| format!("outcomes[{number}].{field}");
        let of = Audience {
            consumer: optional_name(&place("consumer"), &entry.consumer)?,
            canary: entry.canary,
            card: digest(&place("card_digest"), &entry.card_digest)?,
        };
        let (agent, label) = (parsed(&place("agent"), &entry.agent)?, parsed(&place("version"), &entry.version)?);
        Ok(Self { number, about: Counted { agent, label, of, signal: Signal::Dispatches, code: String::new() } })
    }

    fn add(&self, entry: wire::Outcomes, counts: &mut BTreeMap<Counted, u64>) -> Result<(), ApiError> {
        let plain = [
            (Signal::Dispatches, entry.dispatches),
            (Signal::Succeeded, entry.succeeded),
            (Signal::SchemaChecked, entry.schema_checked),
            (Signal::SchemaFailed, entry.schema_failed),
            (Signal::DecodeFailure, entry.decode_failures),
            (Signal::WriteAfterCancel, entry.writes_after_cancel),
            (Signal::CrossTenantDenied, entry.cross_tenant_denied),
            (Signal::CrossTenantAllowed, entry.cross_tenant_allowed),
        ];
        for (signal, count) in plain {
            self.count(signal, "", count, counts)?;
        }
        let coded = [
            (Signal::Error, entry.errors),
            (Signal::UnregisteredError, entry.unregistered_errors),
            (Signal::Denied, entry.denied),
            (Signal::ImpossibleTransition, entry.impossible_transitions),
            (Signal::AnnotationMismatch, entry.annotation_mismatches),
            (Signal::DigestChange, entry.digest_changes),
        ];
        for (signal, codes) in coded {
            self.codes(signal, codes, counts)?;
        }
        entry.latency.map_or(Ok(()), |latency| self.latency(&latency, counts))
    }

    fn codes(
        &self,
        signal: Signal,
        codes: HashMap<String, u64>,
        counts: &mut BTreeMap<Counted, u64>,
    ) -> Result<(), ApiError> {
        if codes.len() > CODES {
            return Err(self.invalid(signal, format_args!("has more than {CODES} different codes")));
        }
        for (code, count) in codes {
            let place = format!("outcomes[{}] {}", self.number, signal.as_str());
            self.count(signal, &name(&place, &code)?, count, counts)?;
        }
        Ok(())
    }

    fn latency(&self, latency: &wire::Latency, counts: &mut BTreeMap<Counted, u64>) -> Result<(), ApiError> {
        let bounds = latency.bounds.iter().map(nanoseconds).collect::<Option<Vec<u64>>>();
        let bounds = bounds.filter(|bounds| bounds.len() <= BOUNDS && bounds.is_sorted_by(|one, next| one < next));
        let Some(bounds) = bounds.filter(|bounds| latency.counts.len() == bounds.len() + 1) else {
            return Err(self.invalid(
                Signal::Latency,
                format_args!("wants at most {BOUNDS} rising bounds, and a count for each and one more"),
            ));
        };
        let codes = bounds.iter().map(u64::to_string).chain(["more".to_owned()]);
        for (code, count) in codes.zip(&latency.counts) {
            self.count(Signal::Latency, &code, *count, counts)?;
        }
        Ok(())
    }

    /// Adds a number; two entries about the same thing add up. Nothing is kept of what did not happen.
    fn count(
        &self,
        signal: Signal,
        code: &str,
        count: u64,
        counts: &mut BTreeMap<Counted, u64>,
    ) -> Result<(), ApiError> {
        if count == 0 {
            return Ok(());
        }
        let sum = counts.entry(Counted { signal, code: code.to_owned(), ..self.about.clone() }).or_default();
        *sum = sum.saturating_add(count);
        if *sum > MOST {
            return Err(self.invalid(signal, format_args!("more than {MOST} in one window")));
        }
        Ok(())
    }

    fn invalid(&self, signal: Signal, what: std::fmt::Arguments<'_>) -> ApiError {
        invalid(&format!("outcomes[{}] {}", self.number, signal.as_str()), what)
    }
}

fn nanoseconds(duration: &prost_types::Duration) -> Option<u64> {
    let (seconds, nanos) = (u64::try_from(duration.seconds).ok()?, u64::try_from(duration.nanos).ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}
