//! Counters, as Prometheus reads them.

use std::{
    cell::Cell,
    fmt::Write as _,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
};

use ostiary_admission::{Decision, DecisionReason};

use crate::{copy::Fault, status::Status};

/// Everything that is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    decisions: [Stripe; STRIPES],
    faults: [AtomicU64; Fault::NAMES.len()],
    connections: AtomicU64,
    steps: AtomicU64,
    snapshots: AtomicU64,
    ignored: AtomicU64,
    not_understood: AtomicU64,
    disk_errors: AtomicU64,
    asked: AtomicU64,
    ask_failed: AtomicU64,
    cut: AtomicU64,
}

/// Decisions are counted where many threads decide at once: each has its own cache line, and few share one.
#[repr(align(128))]
#[derive(Default)]
struct Stripe([AtomicU64; DecisionReason::ALL.len()]);

/// More threads than this share stripes; they stay right and get slower.
const STRIPES: usize = 16;

static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn decided(&self, decision: &Decision) {
        self.decisions[stripe()].0[decision.reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fault(&self, fault: &Fault) {
        if let Some(at) = Fault::NAMES.iter().position(|name| *name == fault.as_str()) {
            self.faults[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn connected(&self) {
        one_more(&self.connections);
    }

    pub(crate) fn stepped(&self) {
        one_more(&self.steps);
    }

    pub(crate) fn snapshot(&self) {
        one_more(&self.snapshots);
    }

    pub(crate) fn ignored(&self) {
        one_more(&self.ignored);
    }

    pub(crate) fn not_understood(&self, entries: usize) {
        self.not_understood.fetch_add(entries as u64, Ordering::Relaxed);
    }

    pub(crate) fn disk_errors(&self) {
        one_more(&self.disk_errors);
    }

    pub(crate) fn asked(&self) {
        one_more(&self.asked);
    }

    pub(crate) fn ask_failed(&self) {
        one_more(&self.ask_failed);
    }

    pub(crate) fn cut(&self) {
        one_more(&self.cut);
    }

    /// How often each reason was answered.
    pub(crate) fn decisions(&self, reason: DecisionReason) -> u64 {
        self.decisions.iter().map(|stripe| stripe.0[reason as usize].load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn text(&self, status: &Status, reports: &[(&str, u64)]) -> String {
        let mut out = String::with_capacity(4_096);
        header(&mut out, "ostiary_router_decisions_total", "counter", "Decisions by reason.");
        for reason in DecisionReason::ALL {
            let count = self.decisions(reason);
            if count > 0 {
                let _ = writeln!(out, "ostiary_router_decisions_total{{reason=\"{reason}\"}} {count}");
            }
        }
        header(&mut out, "ostiary_router_faults_total", "counter", "Connections given up, by what was wrong.");
        for (name, count) in Fault::NAMES.iter().zip(&self.faults) {
            let count = count.load(Ordering::Relaxed);
            let _ = writeln!(out, "ostiary_router_faults_total{{fault=\"{name}\"}} {count}");
        }
        for (name, help, count) in self.plain() {
            header(&mut out, name, "counter", help);
            let _ = writeln!(out, "{name} {}", count.load(Ordering::Relaxed));
        }
        for (name, count) in reports {
            header(&mut out, name, "counter", "Reports that did not get through.");
            let _ = writeln!(out, "{name} {count}");
        }
        scopes(&mut out, status);
        out
    }

    fn plain(&self) -> [(&'static str, &'static str, &AtomicU64); 9] {
        [
            ("ostiary_router_connections_total", "Connections opened.", &self.connections),
            ("ostiary_router_steps_total", "Steps applied.", &self.steps),
            ("ostiary_router_snapshots_total", "Snapshots applied.", &self.snapshots),
            ("ostiary_router_ignored_total", "Messages that said nothing new.", &self.ignored),
            ("ostiary_router_not_understood_total", "Entries not understood, and denied.", &self.not_understood),
            ("ostiary_router_disk_errors_total", "Failures to keep the copy on disk.", &self.disk_errors),
            ("ostiary_router_asked_total", "Questions put to the control plane.", &self.asked),
            ("ostiary_router_ask_failed_total", "Questions without an answer.", &self.ask_failed),
            ("ostiary_router_cut_total", "Dispatches under way that were revoked.", &self.cut),
        ]
    }
}

fn scopes(out: &mut String, status: &Status) {
    type Value = fn(&crate::ScopeStatus) -> f64;
    let gauges: [(&str, &str, Value); 5] = [
        ("ostiary_router_alive", "Whether the copy is decided on.", |scope| f64::from(u8::from(scope.alive))),
        ("ostiary_router_verified_revision", "Revision of the last head.", |scope| scope.verified.0 as f64),
        ("ostiary_router_applied_revision", "Revision that is applied.", |scope| scope.applied.0 as f64),
        ("ostiary_router_lease_until_seconds", "End of the lease, by the control plane's clock.", |scope| {
            scope.lease_until.as_second().max(0) as f64
        }),
        ("ostiary_router_versions", "Versions known.", |scope| scope.versions as f64),
    ];
    for (name, help, value) in gauges {
        header(out, name, "gauge", help);
        for scope in &status.scopes {
            let _ = writeln!(out, "{name}{{scope=\"{}\"}} {}", scope.scope, value(scope));
        }
    }
    header(out, "ostiary_router_under_way", "gauge", "Dispatches under way.");
    let _ = writeln!(out, "ostiary_router_under_way {}", status.under_way);
}

fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one_more(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// This thread's stripe, chosen the first time it counts.
fn stripe() -> usize {
    OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        own.get()
    })
}
