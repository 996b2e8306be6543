//! Counts of what happened, added up in windows. Bounded; what does not fit is counted as dropped.

use std::{
    collections::BTreeMap,
    hash::{Hash, Hasher},
    mem,
    time::Duration,
};

use hashbrown::{Equivalent, HashMap};
use jiff::Timestamp;
use ostiary_canon::Digest;
use ostiary_proto::drift::v1 as wire;

use crate::signal::{Signal, Subject};

/// As many as one report may have.
const SUBJECTS: usize = 10_000;
/// Codes are a closed set of a contract; more of them are noise, and count together.
const CODES: usize = 64;
/// Under which name they count.
const OTHER: &str = "(other)";
/// Longer codes are cut: a code is a word, not a message.
const CODE_BYTES: usize = 64;
/// Upper bounds of latencies, milliseconds; agents answer in seconds, so the range reaches to minutes.
const BOUNDS: [u64; 14] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];

/// What has been counted and not yet told.
pub(crate) struct Outcomes {
    counts: HashMap<Key, Counts>,
    router_id: String,
    instance: String,
    window: u64,
    from: Timestamp,
    /// The window before, when telling it failed: it is told once more.
    again: Option<wire::ReportOutcomesRequest>,
    pub(crate) dropped: u64,
    pub(crate) lost_windows: u64,
}

/// A window to tell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    pub(crate) request: wire::ReportOutcomesRequest,
    /// Whether it is told for the second time.
    second: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    agent: Box<str>,
    version: Box<str>,
    consumer: Box<str>,
    canary: bool,
    card_digest: Option<Digest>,
}

#[derive(Debug, Default)]
struct Counts {
    dispatches: u64,
    succeeded: u64,
    errors: BTreeMap<Box<str>, u64>,
    unregistered: BTreeMap<Box<str>, u64>,
    denied: BTreeMap<Box<str>, u64>,
    schema: (u64, u64),
    transitions: BTreeMap<Box<str>, u64>,
    annotations: BTreeMap<Box<str>, u64>,
    decode_failures: u64,
    writes_after_cancel: u64,
    cross_tenant: (u64, u64),
    digests: BTreeMap<Box<str>, u64>,
    took: [u64; BOUNDS.len() + 1],
}

// === impl Outcomes ===

impl Outcomes {
    pub(crate) fn new(router_id: &str, instance: String, from: Timestamp) -> Self {
        Self {
            counts: HashMap::new(),
            router_id: router_id.to_owned(),
            instance,
            window: 0,
            from,
            again: None,
            dropped: 0,
            lost_windows: 0,
        }
    }

    pub(crate) fn count(&mut self, subject: &Subject<'_>, signal: Signal<'_>) {
        if let Some(counts) = self.counts.get_mut(subject) {
            return counts.add(signal);
        }
        if self.counts.len() >= SUBJECTS {
            self.dropped += 1;
            return;
        }
        self.counts.entry(Key::of(subject)).or_default().add(signal);
    }

    /// Closes the window: what is to be told now. First the one that failed before.
    pub(crate) fn close(&mut self, now: Timestamp) -> Vec<Window> {
        let mut windows = Vec::new();
        windows.extend(self.again.take().map(|request| Window { request, second: true }));
        let from = mem::replace(&mut self.from, now);
        if !self.counts.is_empty() {
            let outcomes = self.counts.drain().map(|(key, counts)| counts.told(key)).collect();
            let request = wire::ReportOutcomesRequest {
                router_id: self.router_id.clone(),
                instance: self.instance.clone(),
                window: self.window,
                from: Some(stamp(from)),
                to: Some(stamp(now)),
                outcomes,
            };
            self.window += 1;
            windows.push(Window { request, second: false });
        }
        windows
    }

    /// Telling a window failed: it is told once more, under the same number, with the next one.
    pub(crate) fn failed(&mut self, window: Window) {
        if window.second || self.again.is_some() {
            self.lost_windows += 1;
        } else {
            self.again = Some(window.request);
        }
    }
}

// === impl Key ===

impl Key {
    fn of(subject: &Subject<'_>) -> Self {
        Self {
            agent: subject.agent.into(),
            version: subject.version.into(),
            consumer: subject.consumer.into(),
            canary: subject.canary,
            card_digest: subject.card_digest,
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            agent: &self.agent,
            version: &self.version,
            consumer: &self.consumer,
            canary: self.canary,
            card_digest: self.card_digest,
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.subject().hash(state);
    }
}

impl Equivalent<Key> for Subject<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self == key.subject()
    }
}

// === impl Counts ===

impl Counts {
    fn add(&mut self, signal: Signal<'_>) {
        match signal {
            Signal::Succeeded { took } => {
                self.ended(took);
                self.succeeded += 1;
            }
            Signal::Failed { code, registered, took } => {
                self.ended(took);
                one_more(if registered { &mut self.errors } else { &mut self.unregistered }, code);
            }
            Signal::Denied(reason) => one_more(&mut self.denied, reason.as_str()),
            Signal::SchemaChecked { kept } => {
                self.schema.0 += 1;
                self.schema.1 += u64::from(!kept);
            }
            Signal::ImpossibleTransition { from, to } => one_more(&mut self.transitions, &format!("{from}>{to}")),
            Signal::AnnotationMismatch(annotation) => one_more(&mut self.annotations, annotation),
            Signal::DecodeFailure => self.decode_failures += 1,
            Signal::WriteAfterCancel => self.writes_after_cancel += 1,
            Signal::CrossTenant { let_through: false } => self.cross_tenant.0 += 1,
            Signal::CrossTenant { let_through: true } => self.cross_tenant.1 += 1,
            Signal::DigestChange(kind) => one_more(&mut self.digests, kind),
        }
    }

    fn ended(&mut self, took: Duration) {
        self.dispatches += 1;
        let at = BOUNDS.partition_point(|bound| took > Duration::from_millis(*bound));
        self.took[at] += 1;
    }

    fn told(self, key: Key) -> wire::Outcomes {
        wire::Outcomes {
            agent: key.agent.into(),
            version: key.version.into(),
            consumer: key.consumer.into(),
            canary: key.canary,
            card_digest: key.card_digest.map(|digest| digest.to_string()).unwrap_or_default(),
            dispatches: self.dispatches,
            succeeded: self.succeeded,
            errors: told(self.errors),
            unregistered_errors: told(self.unregistered),
            denied: told(self.denied),
            schema_checked: self.schema.0,
            schema_failed: self.schema.1,
            impossible_transitions: told(self.transitions),
            annotation_mismatches: told(self.annotations),
            decode_failures: self.decode_failures,
            writes_after_cancel: self.writes_after_cancel,
            cross_tenant_denied: self.cross_tenant.0,
            cross_tenant_allowed: self.cross_tenant.1,
            digest_changes: told(self.digests),
            latency: (self.dispatches > 0).then(|| wire::Latency {
                bounds: BOUNDS.iter().map(|bound| span(*bound)).collect(),
                counts: self.took.to_vec(),
            }),
        }
    }
}

fn one_more(counts: &mut BTreeMap<Box<str>, u64>, code: &str) {
    let code = &code[..code.floor_char_boundary(CODE_BYTES)];
    if let Some(count) = counts.get_mut(code) {
        *count += 1;
        return;
    }
    let name = if counts.len() < CODES { code } else { OTHER };
    *counts.entry(name.into()).or_default() += 1;
}

fn told<M: FromIterator<(String, u64)>>(counts: BTreeMap<Box<str>, u64>) -> M {
    counts.into_iter().map(|(code, count)| (code.into(), count)).collect()
}

fn span(millis: u64) -> prost_types::Duration {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    prost_types::Duration {
        seconds: millis / 1_000,
        nanos: i32::try_from(millis % 1_000 * 1_000_000).unwrap_or_default(),
    }
}

pub(crate) fn stamp(at: Timestamp) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds: at.as_second(), nanos: at.subsec_nanosecond() }
}

#[cfg(test)]
mod tests {
    use ostiary_admission::DecisionReason;

    use super::*;

    fn subject(agent: &str) -> Subject<'_> {
        Subject { agent, version: "1.0.0", consumer: "shop", canary: false, card_digest: None }
    }

    fn outcomes() -> Outcomes {
        Outcomes::new("r1", "run".to_owned(), Timestamp::UNIX_EPOCH)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn every_signal_is_counted_once_and_only_in_its_window() {
        let mut outcomes = outcomes();
        let planner = subject("acme/planner");
        let took = Duration::from_millis(30);
        for signal in [
            Signal::Succeeded { took },
            Signal::Failed { code: "QUOTA", registered: true, took },
            Signal::Failed { code: "WAT", registered: false, took: Duration::from_secs(900) },
            Signal::Denied(DecisionReason::Quarantined),
            Signal::SchemaChecked { kept: true },
            Signal::SchemaChecked { kept: false },
            Signal::ImpossibleTransition { from: "completed", to: "working" },
            Signal::AnnotationMismatch("readOnlyHint"),
            Signal::DecodeFailure,
            Signal::WriteAfterCancel,
            Signal::CrossTenant { let_through: false },
            Signal::CrossTenant { let_through: true },
            Signal::DigestChange("card"),
        ] {
            outcomes.count(&planner, signal);
        }
        let windows = outcomes.close(at(10));
        let told = &windows[0].request.outcomes[0];
        assert_eq!((told.dispatches, told.succeeded), (3, 1));
        assert_eq!((told.errors["QUOTA"], told.unregistered_errors["WAT"], told.denied["QUARANTINED"]), (1, 1, 1));
        assert_eq!((told.schema_checked, told.schema_failed), (2, 1));
        assert_eq!(told.impossible_transitions["completed>working"], 1);
        assert_eq!((told.annotation_mismatches["readOnlyHint"], told.digest_changes["card"]), (1, 1));
        assert_eq!((told.decode_failures, told.writes_after_cancel), (1, 1));
        assert_eq!((told.cross_tenant_denied, told.cross_tenant_allowed), (1, 1));
        let latency = told.latency.as_ref().unwrap();
        assert_eq!(latency.counts.len(), latency.bounds.len() + 1);
        assert_eq!(latency.counts.iter().sum::<u64>(), 3);
        assert_eq!((latency.counts[3], latency.counts.last()), (2, Some(&1)));
        assert!(outcomes.close(at(20)).is_empty(), "the next window starts from nothing");
    }

    #[test]
    fn a_lost_window_is_told_once_more_under_its_number() {
        let mut outcomes = outcomes();
        outcomes.count(&subject("a/b"), Signal::DecodeFailure);
        let first = outcomes.close(at(10)).remove(0);
        outcomes.failed(first.clone());
        outcomes.count(&subject("a/b"), Signal::DecodeFailure);
        let mut both = outcomes.close(at(20));
        assert_eq!(both.iter().map(|window| window.request.window).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(both[0].request, first.request);
        outcomes.failed(both.remove(0));
        assert_eq!(outcomes.lost_windows, 1, "a second failure gives it up, and says so");
        assert!(outcomes.close(at(30)).is_empty());
    }

    #[test]
    fn subjects_and_codes_are_bounded() {
        let mut outcomes = outcomes();
        for n in 0..SUBJECTS + 7 {
            outcomes.count(&subject(&format!("a/{n}")), Signal::DecodeFailure);
        }
        assert_eq!(outcomes.dropped, 7);
        assert_eq!(outcomes.close(at(10))[0].request.outcomes.len(), SUBJECTS);
        for n in 0..CODES + 5 {
            let code = format!("code-{n}-{}", "x".repeat(100));
            outcomes.count(&subject("a/b"), Signal::Failed { code: &code, registered: false, took: Duration::ZERO });
        }
        let windows = outcomes.close(at(20));
        let codes = &windows[0].request.outcomes[0].unregistered_errors;
        assert_eq!((codes.len(), codes[OTHER]), (CODES + 1, 5));
        assert!(codes.keys().all(|code| code.len() <= CODE_BYTES));
    }
}
