//! Tasks that are still worked on: one lock a task orders its changes, and everyone who watches sees them in that order.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, broadcast};

use crate::task::Task;

/// Updates a watcher may fall behind. No task has more than a handful, so nobody ever misses one.
const BACKLOG: usize = 64;

/// A task in work.
pub(crate) struct Live {
    pub(crate) task: Task,
    /// `None` once nothing more will come: dropping the sender is what ends the streams.
    updates: Option<broadcast::Sender<Value>>,
}

/// All tasks in work, by id.
#[derive(Clone, Default)]
pub(crate) struct LiveTasks(Arc<Mutex<HashMap<String, Arc<AsyncMutex<Live>>>>>);

// === impl Live ===

impl Live {
    /// The task as it stands, and all updates after that.
    pub(crate) fn watch(&self) -> (Value, Option<broadcast::Receiver<Value>>) {
        (self.task.whole(), self.updates.as_ref().map(broadcast::Sender::subscribe))
    }

    /// Tells the watchers.
    pub(crate) fn tell(&self, update: Value) {
        if let Some(updates) = &self.updates {
            // it fails when nobody watches, which is no failure
            let _ = updates.send(update);
        }
    }

    /// Ends all streams.
    pub(crate) fn close(&mut self) {
        self.updates = None;
    }
}

// === impl LiveTasks ===

impl LiveTasks {
    pub(crate) fn add(&self, task: Task) -> Arc<AsyncMutex<Live>> {
        let id = task.id.clone();
        let live = Arc::new(AsyncMutex::new(Live { task, updates: Some(broadcast::channel(BACKLOG).0) }));
        self.map().insert(id, Arc::clone(&live));
        live
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<AsyncMutex<Live>>> {
        self.map().get(id).cloned()
    }

    pub(crate) fn remove(&self, id: &str) {
        self.map().remove(id);
    }

    fn map(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<AsyncMutex<Live>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
