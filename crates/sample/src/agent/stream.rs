//! Streams of a task: the task as it stands, then what happens to it, until nothing more can happen.

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_stream::wrappers::BroadcastStream;

use super::Events;
use crate::lies::{Lie, Lies};

/// Events that the cutting liar lets through: the task and its first progress.
const BEFORE_CUT: usize = 2;

/// The events of one stream.
pub(super) fn relay(task: Value, updates: Option<Receiver<Value>>, lies: &Lies) -> Events {
    let first = stream::iter([json!({"task": task})]);
    // a watcher that fell behind has lost events, and an ended stream is honest about it
    let updates = updates.map(|updates| tokio_stream::StreamExt::map_while(BroadcastStream::new(updates), Result::ok));
    let updates = stream::iter(updates).flatten();
    let repeated = usize::from(lies.tells(Lie::DuplicateEvent)) + 1;
    let updates = updates.flat_map(move |update| stream::iter(vec![update; repeated]));
    let all = first.chain(updates);
    if lies.tells(Lie::CutStream) {
        return all.take(BEFORE_CUT).boxed();
    }
    if lies.tells(Lie::LateStream) {
        return stream::once(all.collect::<Vec<Value>>()).flat_map(stream::iter).boxed();
    }
    all.boxed()
}

/// Waits until the task has ended.
pub(super) async fn wait_for_end(mut updates: Receiver<Value>) {
    loop {
        match updates.recv().await {
            Ok(update) if is_end(&update) => return,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn is_end(update: &Value) -> bool {
    let state = update["statusUpdate"]["status"]["state"].as_str();
    state.is_some_and(|state| ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"].contains(&state))
}
