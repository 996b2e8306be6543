//! Counters in the Prometheus text format. Counting a decision is one relaxed increment.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ostiary_admission::DecisionReason;
use ostiary_pdp::{Floor, HubCounters};
use ostiary_proto::admission::v1::RefusalReason;

/// All counters of one server.
#[derive(Debug, Default)]
pub struct Metrics {
    decisions: [AtomicU64; DECISIONS],
    would_deny: [AtomicU64; DECISIONS],
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    gates: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    commits_lost: AtomicU64,
    lease_lost: AtomicU64,
    delivered: AtomicU64,
    undelivered: AtomicU64,
}

/// What is read at the moment of asking.
#[derive(Clone, Copy, Debug)]
pub struct Gauges {
    /// The index's revision.
    pub revision: u64,
    /// Versions in the index.
    pub versions: usize,
    /// Seconds until the lease of the index ends; negative when it has ended.
    pub lease_seconds: f64,
    /// Seconds since the last good read of the database began; the lease counts from there.
    pub read_age_seconds: f64,
    /// Seconds since the snapshot on disk was made; `None` when there is none.
    pub snapshot_age_seconds: Option<f64>,
    /// Streams of routers.
    pub hub: HubCounters,
    /// What routers stand on.
    pub floor: Floor,
}

const DECISIONS: usize = DecisionReason::ALL.len();

// === impl Metrics ===

impl Metrics {
    /// Counts one answer to a router, and what would have denied, were the namespace enforced.
    pub fn decided(&self, reason: DecisionReason, would_deny: Option<DecisionReason>) {
        self.decisions[reason as usize].fetch_add(1, Ordering::Relaxed);
        if let Some(would_be) = would_deny {
            self.would_deny[would_be as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts one HTTP answer of a route.
    pub fn answered(&self, method: &'static str, status: u16) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((method, status)).or_default() += 1;
    }

    /// Counts one judged gate.
    pub fn judged(&self, gate: &'static str, outcome: &'static str) {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        *gates.entry((gate, outcome)).or_default() += 1;
    }

    /// Counts a judgement whose transition lost a race; its evidence is kept.
    pub fn commit_lost(&self) {
        self.commits_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one try to tell a receiver of an event.
    pub fn delivered(&self, taken: bool) {
        let counter = if taken { &self.delivered } else { &self.undelivered };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a write that came under a lapsed lease.
    pub fn lease_lost(&self) {
        self.lease_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// All counters as text.
    #[must_use]
    pub fn render(&self, gauges: Gauges) -> String {
        let mut page = Page::default();
        page.head("ostiary_decisions_total", "counter", "Answers to routers by outcome and reason.");
        for reason in DecisionReason::ALL {
            let allows = matches!(reason, DecisionReason::Allowed | DecisionReason::AllowedWouldDeny);
            let outcome = if allows { "ALLOW" } else { "DENY" };
            let labels = [("outcome", outcome), ("reason", reason.as_str())];
            page.line("ostiary_decisions_total", &labels, self.decisions[reason as usize].load(Ordering::Relaxed));
        }
        page.head("ostiary_http_responses_total", "counter", "HTTP answers by method and status.");
        for ((method, status), count) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let labels = [("method", *method), ("status", &status.to_string())];
            page.line("ostiary_http_responses_total", &labels, *count);
        }
        page.head("ostiary_gates_total", "counter", "Judged gates by gate and outcome.");
        for ((gate, outcome), count) in &*self.gates.lock().unwrap_or_else(PoisonError::into_inner) {
            page.line("ostiary_gates_total", &[("gate", *gate), ("outcome", *outcome)], *count);
        }
        let help = "Answers that would deny for this reason, were the namespace enforced.";
        page.head("ostiary_would_deny_total", "counter", help);
        for reason in DecisionReason::ALL {
            let count = self.would_deny[reason as usize].load(Ordering::Relaxed);
            page.line("ostiary_would_deny_total", &[("reason", reason.as_str())], count);
        }
        page.single(
            "ostiary_commits_lost_total",
            "counter",
            "Judgements whose transition lost a race.",
            self.commits_lost.load(Ordering::Relaxed),
        );
        page.single(
            "ostiary_leases_lost_total",
            "counter",
            "Writes that came under a lapsed lease.",
            self.lease_lost.load(Ordering::Relaxed),
        );
        page.head("ostiary_webhook_tries_total", "counter", "Tries to tell receivers of events.");
        for (taken, counter) in [("yes", &self.delivered), ("no", &self.undelivered)] {
            page.line("ostiary_webhook_tries_total", &[("taken", taken)], counter.load(Ordering::Relaxed));
        }
        page.single("ostiary_revision", "gauge", "Revision of the index that answers routers.", gauges.revision);
        page.single("ostiary_versions", "gauge", "Versions in the index.", gauges.versions);
        page.single("ostiary_lease_seconds", "gauge", "Seconds until answers from memory end.", gauges.lease_seconds);
        page.streams(&gauges);
        page.0
    }
}

#[derive(Default)]
struct Page(String);

// === impl Page ===

impl Page {
    /// What routers keep copies by, and how far behind they are.
    fn streams(&mut self, gauges: &Gauges) {
        let (hub, floor) = (&gauges.hub, &gauges.floor);
        let age = "Seconds since the last good read of the database began.";
        self.single("ostiary_lease_age_seconds", "gauge", age, gauges.read_age_seconds);
        if let Some(age) = gauges.snapshot_age_seconds {
            let help = "Seconds since the snapshot on disk was made.";
            self.single("ostiary_snapshot_age_seconds", "gauge", help, age);
        }
        self.single("ostiary_watchers", "gauge", "Open watch streams.", hub.watching);
        self.single("ostiary_watched_scopes", "gauge", "Scopes whose trees are kept.", hub.scopes);
        let lag = floor.view.0.saturating_sub(floor.applied.0);
        let help = "Revisions between what is published and what every live watcher has applied.";
        self.single("ostiary_watch_lag_revisions", "gauge", help, lag);
        let help = "Watchers that may still decide on something older than what is published.";
        self.single("ostiary_watchers_pending", "gauge", help, floor.pending);
        let help = "Streams that were cut because their reader was too slow.";
        self.single("ostiary_watch_slow_readers_cut_total", "counter", help, hub.slow_readers_cut);
        let help = "Histories that were asked for and not there.";
        self.single("ostiary_watch_resyncs_total", "counter", help, hub.resyncs);
        self.single("ostiary_watch_snapshots_total", "counter", "Snapshots begun.", hub.snapshots);
        self.head("ostiary_watch_refusals_total", "counter", "Revisions that routers refused, by reason.");
        for (reason, count) in hub.refused_for.iter().enumerate() {
            let reason = i32::try_from(reason).ok().and_then(|reason| RefusalReason::try_from(reason).ok());
            let reason = reason.unwrap_or_default().as_str_name().trim_start_matches("REFUSAL_REASON_");
            self.line("ostiary_watch_refusals_total", &[("reason", reason)], count);
        }
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }
}
