//! Counts database queries by what the SQL library itself reports, so that no query can be made around the counter.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

/// Where `sqlx` reports each statement that it has executed.
const TARGET: &str = "sqlx::query";

/// How many queries this process made.
#[derive(Clone, Default)]
pub struct Queries(Arc<AtomicU64>);

// === impl Queries ===

impl Queries {
    /// Counts from now on.
    pub fn counted() -> Self {
        let queries = Self::default();
        tracing_subscriber::registry().with(queries.clone()).init();
        queries
    }

    /// How many so far.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<S: Subscriber> Layer<S> for Queries {
    // Everything else is switched off at its call site, and costs the server nothing.
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == TARGET
    }

    fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
