//! `StreamResponse` and `SendMessageResponse`: which member is set says what came.

use serde_json::Value;

use crate::a2a::task::{StatusView, TaskView};

/// One item of a stream, or the answer to a message.
#[derive(Clone, Copy, Debug)]
pub enum StreamItem<'a> {
    /// The task as it stands.
    Task(TaskView<'a>),
    /// A message outside of any task.
    Message(&'a Value),
    /// A task's status changed.
    StatusUpdate(StatusUpdate<'a>),
    /// A task's artifact grew.
    ArtifactUpdate(ArtifactUpdate<'a>),
}

/// A status update as on the wire.
#[derive(Clone, Copy, Debug)]
pub struct StatusUpdate<'a>(pub &'a Value);

/// An artifact update as on the wire.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactUpdate<'a>(pub &'a Value);

/// Why a value is no item of a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamItemError {
    /// No member of the wrapper is set.
    #[error("none of `task`, `message`, `statusUpdate`, `artifactUpdate` is set; members are [{members}]")]
    NoMember {
        /// What is there.
        members: String,
    },
    /// More than one member is set.
    #[error("more than one of `task`, `message`, `statusUpdate`, `artifactUpdate` is set: {members}")]
    ManyMembers {
        /// Which.
        members: String,
    },
    /// The form of A2A 0.3, where `kind` tells what it is.
    #[error("this is the form of A2A 0.3 (`kind`: `{kind}`), without the wrapper of 1.0")]
    Legacy {
        /// The value of `kind`.
        kind: String,
    },
    /// A member lacks what it must have.
    #[error("`{member}` lacks {lacks}")]
    Incomplete {
        /// The member of the wrapper.
        member: &'static str,
        /// What it lacks.
        lacks: &'static str,
    },
}

const MEMBERS: [&str; 4] = ["task", "message", "statusUpdate", "artifactUpdate"];

// === impl StreamItem ===

impl<'a> StreamItem<'a> {
    /// Reads one item; the required members that name a task or message must be there.
    ///
    /// # Errors
    /// When the value is no `StreamResponse` of 1.0.
    pub fn read(value: &'a Value) -> Result<Self, StreamItemError> {
        let set: Vec<&'static str> =
            MEMBERS.into_iter().filter(|m| value.get(m).is_some_and(|v| !v.is_null())).collect();
        match set.as_slice() {
            [] => Err(no_member(value)),
            [member] => Self::of_member(member, &value[*member]),
            many => Err(StreamItemError::ManyMembers { members: many.join(", ") }),
        }
    }

    /// The id of the task that it belongs to; a message may name one.
    #[must_use]
    pub fn task_id(&self) -> Option<&'a str> {
        match self {
            Self::Task(task) => Some(task.id()),
            Self::Message(message) => message.get("taskId").and_then(Value::as_str),
            Self::StatusUpdate(update) => update.0.get("taskId").and_then(Value::as_str),
            Self::ArtifactUpdate(update) => update.0.get("taskId").and_then(Value::as_str),
        }
    }

    /// The status that it shows.
    #[must_use]
    pub fn status(&self) -> Option<StatusView<'a>> {
        match self {
            Self::Task(task) => Some(task.status()),
            Self::StatusUpdate(update) => Some(update.status()),
            Self::Message(_) | Self::ArtifactUpdate(_) => None,
        }
    }

    /// The name of its member.
    #[must_use]
    pub const fn member(&self) -> &'static str {
        match self {
            Self::Task(_) => "task",
            Self::Message(_) => "message",
            Self::StatusUpdate(_) => "statusUpdate",
            Self::ArtifactUpdate(_) => "artifactUpdate",
        }
    }

    fn of_member(member: &'static str, value: &'a Value) -> Result<Self, StreamItemError> {
        let text = |name: &str| value.get(name).is_some_and(|v| v.as_str().is_some_and(|t| !t.is_empty()));
        let need = |ok: bool, lacks: &'static str| {
            if ok { Ok(()) } else { Err(StreamItemError::Incomplete { member, lacks }) }
        };
        match member {
            "task" => {
                need(text("id"), "`id`")?;
                need(value.get("status").is_some_and(Value::is_object), "`status`")?;
                Ok(Self::Task(TaskView(value)))
            }
            "message" => {
                need(text("messageId"), "`messageId`")?;
                need(value.get("parts").is_some_and(Value::is_array), "`parts`")?;
                Ok(Self::Message(value))
            }
            "statusUpdate" => {
                need(text("taskId"), "`taskId`")?;
                need(value.get("status").is_some_and(Value::is_object), "`status`")?;
                Ok(Self::StatusUpdate(StatusUpdate(value)))
            }
            _ => {
                need(text("taskId"), "`taskId`")?;
                need(value.get("artifact").is_some_and(Value::is_object), "`artifact`")?;
                Ok(Self::ArtifactUpdate(ArtifactUpdate(value)))
            }
        }
    }
}

// === impl StatusUpdate ===

impl<'a> StatusUpdate<'a> {
    /// The status.
    #[must_use]
    pub fn status(self) -> StatusView<'a> {
        StatusView(self.0.get("status").unwrap_or(&Value::Null))
    }
}

// === impl ArtifactUpdate ===

impl<'a> ArtifactUpdate<'a> {
    /// The artifact, or the piece of it.
    #[must_use]
    pub fn artifact(self) -> &'a Value {
        self.0.get("artifact").unwrap_or(&Value::Null)
    }

    /// Whether its parts are appended to the artifact of the same id.
    #[must_use]
    pub fn appends(self) -> bool {
        self.0.get("append").and_then(Value::as_bool).unwrap_or(false)
    }
}

fn no_member(value: &Value) -> StreamItemError {
    if let Some(kind) = value.get("kind").and_then(Value::as_str) {
        return StreamItemError::Legacy { kind: kind.to_owned() };
    }
    let members = value.as_object().map(|m| m.keys().cloned().collect::<Vec<_>>().join(", "));
    StreamItemError::NoMember { members: members.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_member_that_is_set_says_what_it_is() {
        let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
        assert!(matches!(StreamItem::read(&task), Ok(StreamItem::Task(t)) if t.id() == "t"));
        let update = json!({"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}, "task": null});
        assert!(matches!(StreamItem::read(&update), Ok(StreamItem::StatusUpdate(_))));
    }

    #[test]
    fn other_forms_are_told_apart() {
        let read = |v: Value| StreamItem::read(&v).map(|i| i.member()).unwrap_err().to_string();
        assert!(read(json!({"kind": "task", "id": "t"})).contains("A2A 0.3"));
        assert!(read(json!({"id": "t", "status": {}})).contains("[id, status]"));
        assert!(read(json!({"task": {"id": "t", "status": {}}, "message": {"x": 1}})).contains("more than one"));
        assert!(read(json!({"statusUpdate": {"taskId": "t"}})).contains("`status`"));
        assert!(read(json!(7)).contains("[]"));
    }
}
