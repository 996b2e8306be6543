//! Tasks and their states, read leniently and reported exactly.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

/// The states of A2A 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskState {
    /// Unknown; a task that shows it breaks its REQUIRED state.
    Unspecified,
    /// Acknowledged.
    Submitted,
    /// In work.
    Working,
    /// Done.
    Completed,
    /// Done with an error.
    Failed,
    /// Stopped on request.
    Canceled,
    /// Waits for the user.
    InputRequired,
    /// Refused.
    Rejected,
    /// Waits for a credential.
    AuthRequired,
}

/// A state as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenState {
    /// By its name: `TASK_STATE_WORKING`.
    Name(TaskState),
    /// By its number, which ProtoJSON readers accept and writers do not produce.
    Number(TaskState),
    /// In the lower-case spelling of 0.3: `working`.
    Legacy(TaskState),
    /// Anything else.
    Unknown(String),
    /// Not at all.
    Absent,
}

/// A task as it is on the wire.
#[derive(Clone, Copy, Debug)]
pub struct TaskView<'a>(pub &'a Value);

/// The status of a task, wherever it stands: in a task or in a status update.
#[derive(Clone, Copy, Debug)]
pub struct StatusView<'a>(pub &'a Value);

// === impl TaskState ===

impl TaskState {
    /// All states, by number.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The state of that exact name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// Whether a task never leaves this state.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether a task waits here for somebody else.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl WrittenState ===

impl WrittenState {
    /// Reads the member `state` of a status.
    #[must_use]
    pub fn read(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Absent,
            Some(Value::String(text)) => Self::read_text(text),
            Some(other) => {
                let index = other.as_u64().and_then(|n| usize::try_from(n).ok());
                let state = index.and_then(|n| TaskState::ALL.get(n));
                state.map_or_else(|| Self::Unknown(other.to_string()), |s| Self::Number(*s))
            }
        }
    }

    /// The state meant, where it is one of the specification; the spelling of 0.3 is understood too.
    #[must_use]
    pub const fn state(&self) -> Option<TaskState> {
        match self {
            Self::Name(state) | Self::Number(state) | Self::Legacy(state) => Some(*state),
            Self::Unknown(_) | Self::Absent => None,
        }
    }

    fn read_text(text: &str) -> Self {
        if let Some(state) = TaskState::parse(text) {
            return Self::Name(state);
        }
        let upper = text.to_ascii_uppercase().replace('-', "_");
        let legacy = text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let meant = TaskState::parse(&format!("TASK_STATE_{upper}")).filter(|s| legacy && *s != TaskState::Unspecified);
        meant.map_or_else(|| Self::Unknown(text.to_owned()), Self::Legacy)
    }
}

impl fmt::Display for WrittenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(state) => state.fmt(f),
            Self::Number(state) => write!(f, "{state} (written as a number)"),
            Self::Legacy(state) => write!(f, "{state} (written as in A2A 0.3)"),
            Self::Unknown(text) => write!(f, "`{text}`"),
            Self::Absent => f.write_str("no state"),
        }
    }
}

// === impl StatusView ===

impl<'a> StatusView<'a> {
    /// The state as written.
    #[must_use]
    pub fn written(self) -> WrittenState {
        WrittenState::read(self.0.get("state"))
    }

    /// The state meant.
    #[must_use]
    pub fn state(self) -> Option<TaskState> {
        self.written().state()
    }

    /// The timestamp as written.
    #[must_use]
    pub fn timestamp_text(self) -> Option<&'a str> {
        self.0.get("timestamp").and_then(Value::as_str)
    }

    /// The timestamp, where it is RFC 3339.
    #[must_use]
    pub fn timestamp(self) -> Option<Timestamp> {
        self.timestamp_text().and_then(|t| t.parse().ok())
    }
}

// === impl TaskView ===

impl<'a> TaskView<'a> {
    /// Reads `value` as a task, if it has what makes one: an id and a status.
    #[must_use]
    pub fn of(value: &'a Value) -> Option<Self> {
        let is_task =
            value.get("id").is_some_and(Value::is_string) && value.get("status").is_some_and(Value::is_object);
        is_task.then_some(Self(value))
    }

    /// Its id; empty where it is none.
    #[must_use]
    pub fn id(self) -> &'a str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its conversation.
    #[must_use]
    pub fn context_id(self) -> Option<&'a str> {
        self.0.get("contextId").and_then(Value::as_str)
    }

    /// Its status.
    #[must_use]
    pub fn status(self) -> StatusView<'a> {
        StatusView(self.0.get("status").unwrap_or(&Value::Null))
    }

    /// Its state.
    #[must_use]
    pub fn state(self) -> Option<TaskState> {
        self.status().state()
    }

    /// Its artifacts, each as on the wire.
    #[must_use]
    pub fn artifacts(self) -> &'a [Value] {
        self.0.get("artifacts").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Its history, each message as on the wire.
    #[must_use]
    pub fn history(self) -> &'a [Value] {
        self.0.get("history").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn states_are_read_leniently_and_reported_as_written() {
        let read = |v: Value| WrittenState::read(Some(&v));
        assert_eq!(read(json!("TASK_STATE_WORKING")), WrittenState::Name(TaskState::Working));
        assert_eq!(read(json!(3)), WrittenState::Number(TaskState::Completed));
        assert_eq!(read(json!("input-required")), WrittenState::Legacy(TaskState::InputRequired));
        assert_eq!(read(json!("unspecified")), WrittenState::Unknown("unspecified".into()));
        assert_eq!(read(json!(99)), WrittenState::Unknown("99".into()));
        assert_eq!(read(json!("Working")), WrittenState::Unknown("Working".into()));
        assert_eq!(read(Value::Null), WrittenState::Absent);
    }

    #[test]
    fn terminal_and_interrupted_are_the_standards() {
        let terminal: Vec<_> = TaskState::ALL.into_iter().filter(|s| s.is_terminal()).collect();
        use TaskState::{AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected};
        assert_eq!(terminal, [Completed, Failed, Canceled, Rejected]);
        let interrupted: Vec<_> = TaskState::ALL.into_iter().filter(|s| s.is_interrupted()).collect();
        assert_eq!(interrupted, [InputRequired, AuthRequired]);
    }

    #[test]
    fn a_timestamp_without_zone_is_none() {
        let status = |t: &str| json!({"state": "TASK_STATE_WORKING", "timestamp": t});
        assert!(StatusView(&status("2026-11-30T09:52:29.752361Z")).timestamp().is_some());
        assert!(StatusView(&status("2026-11-30T10:23:48.469938")).timestamp().is_none());
    }
}
