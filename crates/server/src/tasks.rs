//! Background tasks of one server: tracked, told to stop, and waited for.

use std::{future::Future, time::Duration};

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
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
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
        tasks.spawn(async move { stop.cancelled().await });
        assert!(tasks.shut_down(Duration::from_secs(5)).await);
        let stubborn = Tasks::default();
        stubborn.spawn(std::future::pending());
        assert!(!stubborn.shut_down(Duration::from_millis(10)).await);
    }
}
