//! Waiting on the runtime's clock.

use std::time::Duration;

use ostiary_record::ports::{BoxFuture, Timer};

/// The [`Timer`] of real runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

// === impl TokioTimer ===

impl Timer for TokioTimer {
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
