//! A task and its wire form.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::stamp;

/// The states this agent uses, in the spelling of A2A 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
}

/// One task, as it is kept and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) tenant: String,
    pub(crate) context_id: String,
    pub(crate) state: State,
    /// Text of the last status message, where the state alone does not say enough.
    pub(crate) note: Option<String>,
    pub(crate) at: Timestamp,
    pub(crate) artifacts: Vec<Value>,
    pub(crate) history: Vec<Value>,
}

/// How much of a task is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// At most so many messages; `None` = all.
    pub(crate) history: Option<usize>,
    pub(crate) artifacts: bool,
}

// === impl State ===

impl State {
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
        }
    }
}

// === impl Task ===

impl Task {
    /// The task with everything that belongs to it.
    pub(crate) fn whole(&self) -> Value {
        self.show(Shown { history: None, artifacts: true })
    }

    /// The task as an answer.
    pub(crate) fn show(&self, shown: Shown) -> Value {
        let mut task = json!({"id": self.id, "contextId": self.context_id, "status": self.status()});
        if shown.artifacts && !self.artifacts.is_empty() {
            task["artifacts"] = json!(self.artifacts);
        }
        let skip = self.history.len().saturating_sub(shown.history.unwrap_or(usize::MAX));
        if let [_, ..] = &self.history[skip..] {
            task["history"] = json!(self.history[skip..]);
        }
        task
    }

    /// A status update event.
    pub(crate) fn status_update(&self) -> Value {
        json!({"statusUpdate": {"taskId": self.id, "contextId": self.context_id, "status": self.status()}})
    }

    /// An artifact update event: the whole artifact, in one piece.
    pub(crate) fn artifact_update(&self, artifact: &Value) -> Value {
        json!({"artifactUpdate": {"taskId": self.id, "contextId": self.context_id, "artifact": artifact,
            "append": false, "lastChunk": true}})
    }

    fn status(&self) -> Value {
        let mut status = json!({"state": self.state.name(), "timestamp": stamp(self.at)});
        if let Some(note) = &self.note {
            status["message"] = json!({"messageId": format!("{}-status", self.id), "role": "ROLE_AGENT",
                "contextId": self.context_id, "taskId": self.id, "parts": [{"text": note}]});
        }
        status
    }
}
