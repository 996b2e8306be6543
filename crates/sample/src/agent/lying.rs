//! What the agent does only when it lies about time and cancels.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::SignedDuration;
use serde_json::Value;

use super::{Agent, internal};
use crate::{
    clock,
    lies::Lie,
    rpc::RpcError,
    task::{State, Task},
    token::{Caller, Refused},
};

/// How long the liar remembers a finished task.
const MOMENT: SignedDuration = SignedDuration::from_secs(1);

/// What callers showed that were let in, and who they were.
#[derive(Default)]
pub(crate) struct Taken(Mutex<HashMap<String, Caller>>);

/// Cancels a task when it is dropped before it was told that the task had ended.
pub(super) struct Bound {
    agent: Arc<Agent>,
    task: String,
    ended: bool,
}

// === impl Taken ===

impl Taken {
    /// Lets in who was let in before with the same words.
    pub(crate) fn again(&self, shown: Option<&str>, judged: Result<Caller, Refused>) -> Result<Caller, Refused> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = shown else { return judged };
        match judged {
            Ok(caller) => Ok(taken.entry(shown.to_owned()).or_insert(caller).clone()),
            Err(refused) => taken.get(shown).cloned().ok_or(refused),
        }
    }
}

// === impl Bound ===

impl Bound {
    pub(super) fn to(agent: &Arc<Agent>, task: &str) -> Self {
        Self { agent: Arc::clone(agent), task: task.to_owned(), ended: false }
    }

    pub(super) fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let Some(live) = self.agent.live.get(&self.task).filter(|_| !self.ended) else { return };
        let agent = Arc::clone(&self.agent);
        self.agent.tasks.spawn(async move {
            let mut live = live.lock().await;
            if !live.task.state.is_terminal()
                && let Err(error) = agent.enter(&mut live, State::Canceled, None).await
            {
                tracing::error!(error = &error as &dyn std::error::Error, "a task could not be canceled");
            }
        });
    }
}

// === impl Agent ===

impl Agent {
    /// The lie of A-13: the plan is there, and its task is called canceled.
    pub(super) async fn hide_result(&self, task: Task) -> Result<Value, RpcError> {
        let task = Task { state: State::Canceled, at: clock::now(), ..task };
        self.store.put_task(&task).await.map_err(|e| internal(&e))?;
        Ok(task.whole())
    }

    /// Whether the liar has forgotten a task.
    pub(super) fn forgets(&self, task: &Task) -> bool {
        self.switches.tells(Lie::ForgetTasks)
            && task.state.is_terminal()
            && clock::now().duration_since(task.at) > MOMENT
    }
}
