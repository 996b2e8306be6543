//! The eleven abstract operations of A2A 1.0 (§3.1) with their request fields, free of any binding.

use serde_json::{Map, Value, json};

/// An operation with its request, ready to be encoded for any binding.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Send a message and wait for the task or message (§3.1.1).
    SendMessage(SendMessage),
    /// Send a message and stream what happens (§3.1.2).
    SendStreamingMessage(SendMessage),
    /// Read a task (§3.1.3).
    GetTask {
        /// The task.
        id: String,
        /// At most so many messages of its history.
        history_length: Option<u32>,
    },
    /// List the caller's tasks (§3.1.4).
    ListTasks(ListTasks),
    /// Ask for a task to be canceled (§3.1.5).
    CancelTask {
        /// The task.
        id: String,
    },
    /// Follow a running task (§3.1.6).
    SubscribeToTask {
        /// The task.
        id: String,
    },
    /// Register a callback (§3.1.7).
    CreateTaskPushNotificationConfig(PushConfig),
    /// Read a callback (§3.1.8).
    GetTaskPushNotificationConfig {
        /// The task.
        task_id: String,
        /// The callback.
        id: String,
    },
    /// List the callbacks of a task (§3.1.9).
    ListTaskPushNotificationConfigs {
        /// The task.
        task_id: String,
    },
    /// Remove a callback (§3.1.10).
    DeleteTaskPushNotificationConfig {
        /// The task.
        task_id: String,
        /// The callback.
        id: String,
    },
    /// Read the card for authenticated callers (§3.1.11).
    GetExtendedAgentCard,
}

/// A message with its sending options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendMessage {
    /// The message.
    pub message: UserMessage,
    /// Media types that the caller can take; empty = not said.
    pub accepted_output_modes: Vec<String>,
    /// At most so many messages of history in the answer.
    pub history_length: Option<u32>,
    /// Whether to answer right after the task was created; `None` = not said, which means to wait.
    pub return_immediately: Option<bool>,
    /// A callback that is registered with the message; its task is the one that the message leads to.
    pub push: Option<PushConfig>,
    /// Metadata of the request.
    pub metadata: Option<Value>,
}

/// A message of the role user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserMessage {
    /// Its id, made by the sender.
    pub message_id: String,
    /// Its parts, as they go over the wire.
    pub parts: Vec<Value>,
    /// The conversation it belongs to.
    pub context_id: Option<String>,
    /// The task it continues.
    pub task_id: Option<String>,
    /// Extensions that contributed to it.
    pub extensions: Vec<String>,
    /// Metadata of the message.
    pub metadata: Option<Value>,
}

/// Filters of a task list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListTasks {
    /// Only of this conversation.
    pub context_id: Option<String>,
    /// Only in this state, by its name.
    pub status: Option<String>,
    /// Page size.
    pub page_size: Option<u32>,
    /// Where to go on.
    pub page_token: Option<String>,
    /// Whether artifacts are wanted.
    pub include_artifacts: Option<bool>,
}

/// A callback to register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushConfig {
    /// The task.
    pub task_id: String,
    /// The caller's name for it.
    pub id: Option<String>,
    /// Where to call.
    pub url: String,
    /// A token for the receiver.
    pub token: Option<String>,
    /// HTTP authentication scheme and credentials.
    pub authentication: Option<(String, String)>,
}

// === impl Operation ===

impl Operation {
    /// The names of all operations: JSON-RPC method and gRPC method alike.
    pub const NAMES: [&str; 11] = [
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ];

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SendMessage(_) => "SendMessage",
            Self::SendStreamingMessage(_) => "SendStreamingMessage",
            Self::GetTask { .. } => "GetTask",
            Self::ListTasks(_) => "ListTasks",
            Self::CancelTask { .. } => "CancelTask",
            Self::SubscribeToTask { .. } => "SubscribeToTask",
            Self::CreateTaskPushNotificationConfig(_) => "CreateTaskPushNotificationConfig",
            Self::GetTaskPushNotificationConfig { .. } => "GetTaskPushNotificationConfig",
            Self::ListTaskPushNotificationConfigs { .. } => "ListTaskPushNotificationConfigs",
            Self::DeleteTaskPushNotificationConfig { .. } => "DeleteTaskPushNotificationConfig",
            Self::GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// Whether the answer is a stream.
    #[must_use]
    pub const fn streams(&self) -> bool {
        matches!(self, Self::SendStreamingMessage(_) | Self::SubscribeToTask { .. })
    }

    /// The request message in ProtoJSON, with `tenant` where the interface names one (§8.3.2).
    #[must_use]
    pub fn request(&self, tenant: Option<&str>) -> Value {
        let mut out = Map::new();
        put(&mut out, "tenant", tenant);
        match self {
            Self::SendMessage(send) | Self::SendStreamingMessage(send) => put_send(&mut out, send),
            Self::GetTask { id, history_length } => {
                put(&mut out, "id", Some(id));
                put(&mut out, "historyLength", *history_length);
            }
            Self::CancelTask { id } | Self::SubscribeToTask { id } => put(&mut out, "id", Some(id)),
            Self::ListTasks(list) => put_list(&mut out, list),
            Self::CreateTaskPushNotificationConfig(push) => put_push(&mut out, push),
            Self::GetTaskPushNotificationConfig { task_id, id }
            | Self::DeleteTaskPushNotificationConfig { task_id, id } => {
                put(&mut out, "taskId", Some(task_id));
                put(&mut out, "id", Some(id));
            }
            Self::ListTaskPushNotificationConfigs { task_id } => put(&mut out, "taskId", Some(task_id)),
            Self::GetExtendedAgentCard => {}
        }
        Value::Object(out)
    }
}

// === impl PushConfig ===

impl PushConfig {
    /// The configuration in ProtoJSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        put_push(&mut out, self);
        Value::Object(out)
    }
}

// === impl UserMessage ===

impl UserMessage {
    /// The message in ProtoJSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        put(&mut out, "messageId", Some(&self.message_id));
        put(&mut out, "contextId", self.context_id.as_ref());
        put(&mut out, "taskId", self.task_id.as_ref());
        put(&mut out, "role", Some("ROLE_USER"));
        put(&mut out, "parts", Some(self.parts.clone()));
        put(&mut out, "metadata", self.metadata.clone());
        put_list_of(&mut out, "extensions", &self.extensions);
        Value::Object(out)
    }
}

fn put(out: &mut Map<String, Value>, name: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        out.insert(name.to_owned(), json!(value));
    }
}

fn put_list_of(out: &mut Map<String, Value>, name: &str, list: &[String]) {
    put(out, name, (!list.is_empty()).then_some(list));
}

fn put_send(out: &mut Map<String, Value>, send: &SendMessage) {
    put(out, "message", Some(send.message.to_value()));
    let mut configuration = Map::new();
    put_list_of(&mut configuration, "acceptedOutputModes", &send.accepted_output_modes);
    put(&mut configuration, "historyLength", send.history_length);
    put(&mut configuration, "returnImmediately", send.return_immediately);
    put(&mut configuration, "taskPushNotificationConfig", send.push.as_ref().map(PushConfig::to_value));
    put(out, "configuration", (!configuration.is_empty()).then_some(configuration));
    put(out, "metadata", send.metadata.clone());
}

fn put_list(out: &mut Map<String, Value>, list: &ListTasks) {
    put(out, "contextId", list.context_id.as_ref());
    put(out, "status", list.status.as_ref());
    put(out, "pageSize", list.page_size);
    put(out, "pageToken", list.page_token.as_ref());
    put(out, "includeArtifacts", list.include_artifacts);
}

fn put_push(out: &mut Map<String, Value>, push: &PushConfig) {
    // the task of a callback in a message is not known yet
    put(out, "taskId", Some(&push.task_id).filter(|id| !id.is_empty()));
    put(out, "id", push.id.as_ref());
    put(out, "url", Some(&push.url));
    put(out, "token", push.token.as_ref());
    let authentication = push.authentication.as_ref().map(|(s, c)| json!({"scheme": s, "credentials": c}));
    put(out, "authentication", authentication);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_not_sent() {
        let message =
            UserMessage { message_id: "m1".into(), parts: vec![json!({"text": "hi"})], ..UserMessage::default() };
        let send = Operation::SendMessage(SendMessage { message, ..SendMessage::default() });
        assert_eq!(
            send.request(None),
            json!({"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
        );
    }

    #[test]
    fn a_callback_of_a_message_names_no_task() {
        let push = PushConfig { url: "https://a.example.test/".into(), id: Some("p".into()), ..PushConfig::default() };
        let send = Operation::SendMessage(SendMessage { push: Some(push), ..SendMessage::default() });
        let expected = json!({"taskPushNotificationConfig": {"id": "p", "url": "https://a.example.test/"}});
        assert_eq!(send.request(None)["configuration"], expected);
    }

    #[test]
    fn the_tenant_of_the_interface_is_in_every_request() {
        let all = [
            Operation::GetTask { id: "t".into(), history_length: Some(0) },
            Operation::CancelTask { id: "t".into() },
            Operation::ListTasks(ListTasks::default()),
            Operation::GetExtendedAgentCard,
            Operation::CreateTaskPushNotificationConfig(PushConfig::default()),
        ];
        for operation in all {
            assert_eq!(operation.request(Some("acme"))["tenant"], json!("acme"), "{}", operation.name());
            assert_eq!(operation.request(None).get("tenant"), None, "{}", operation.name());
            assert!(Operation::NAMES.contains(&operation.name()));
        }
    }
}
