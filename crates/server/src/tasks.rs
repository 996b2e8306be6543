//! Background tasks of one server: tracked, told to stop, and waited for.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The tasks of one server; clones are handles to the same tasks.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

// === impl Tasks ===

impl Tasks {
    /// Fires when the server is to stop.
    #[must_use]
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Starts a task that ends by itself once [`Tasks::stop`] fires.
    ///
    /// A task that panics is our bug, and a server without it would only look alive: all others are told to stop, and
    /// whoever supervises the process starts it again.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            if AssertUnwindSafe(task).catch_unwind().await.is_err() {
                tracing::error!(task = name, "a background task panicked; the server stops");
                stop.cancel();
            }
        });
    }

    /// Tells all tasks to stop and waits for them; says whether all of them did within `patience`.
    pub async fn shut_down(&self, patience: Duration) -> bool {
        self.stop.cancel();
        self.tracker.close();
        tokio::time::timeout(patience, self.tracker.wait()).await.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shutdown_waits_for_tasks_that_listen_and_not_for_ever_for_others() {
        let tasks = Tasks::default();
        let stop = tasks.stop().clone();
        tasks.spawn("listens", async move { stop.cancelled().await });
        assert!(tasks.shut_down(Duration::from_secs(5)).await);
        let stubborn = Tasks::default();
        stubborn.spawn("does not", std::future::pending());
        assert!(!stubborn.shut_down(Duration::from_millis(10)).await);
    }

    #[tokio::test]
    async fn task_that_panics_stops_all_others() {
        let tasks = Tasks::default();
        let stop = tasks.stop().clone();
        tasks.spawn("honest", async move { stop.cancelled().await });
        tasks.spawn("buggy", async { panic!("a bug, on purpose") });
        assert!(tokio::time::timeout(Duration::from_secs(5), tasks.stop().cancelled()).await.is_ok());
        assert!(tasks.shut_down(Duration::from_secs(5)).await);
    }
}
