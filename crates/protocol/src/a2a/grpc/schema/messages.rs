//! The tables of tasks, messages and requests of `lf.a2a.v1`, and of what errors are made of.

use super::{
    Enum, Field,
    Kind::{self, Bool, Bytes, Int32, Struct, Text, Timestamp},
    Message, Method,
    Rule::{self, List, Map, Plain, Present, Required, RequiredList},
    card,
};

/// All messages of the package.
pub static ALL: [&Message; 44] = [
    &SEND_MESSAGE_CONFIGURATION,
    &TASK,
    &TASK_STATUS,
    &PART,
    &MESSAGE,
    &ARTIFACT,
    &TASK_STATUS_UPDATE_EVENT,
    &TASK_ARTIFACT_UPDATE_EVENT,
    &AUTHENTICATION_INFO,
    &card::AGENT_INTERFACE,
    &card::AGENT_CARD,
    &card::AGENT_PROVIDER,
    &card::AGENT_CAPABILITIES,
    &card::AGENT_EXTENSION,
    &card::AGENT_SKILL,
    &card::AGENT_CARD_SIGNATURE,
    &TASK_PUSH_NOTIFICATION_CONFIG,
    &card::STRING_LIST,
    &card::SECURITY_REQUIREMENT,
    &card::SECURITY_SCHEME,
    &card::API_KEY_SECURITY_SCHEME,
    &card::HTTP_AUTH_SECURITY_SCHEME,
    &card::OAUTH2_SECURITY_SCHEME,
    &card::OPEN_ID_CONNECT_SECURITY_SCHEME,
    &card::MUTUAL_TLS_SECURITY_SCHEME,
    &card::OAUTH_FLOWS,
    &card::AUTHORIZATION_CODE_OAUTH_FLOW,
    &card::CLIENT_CREDENTIALS_OAUTH_FLOW,
    &card::IMPLICIT_OAUTH_FLOW,
    &card::PASSWORD_OAUTH_FLOW,
    &card::DEVICE_CODE_OAUTH_FLOW,
    &SEND_MESSAGE_REQUEST,
    &GET_TASK_REQUEST,
    &LIST_TASKS_REQUEST,
    &LIST_TASKS_RESPONSE,
    &CANCEL_TASK_REQUEST,
    &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &SUBSCRIBE_TO_TASK_REQUEST,
    &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
    &GET_EXTENDED_AGENT_CARD_REQUEST,
    &SEND_MESSAGE_RESPONSE,
    &STREAM_RESPONSE,
    &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
];

/// All methods of the service.
pub static METHODS: [Method; 11] = [
    method("SendMessage", &SEND_MESSAGE_REQUEST, &SEND_MESSAGE_RESPONSE, false),
    method("SendStreamingMessage", &SEND_MESSAGE_REQUEST, &STREAM_RESPONSE, true),
    method("GetTask", &GET_TASK_REQUEST, &TASK, false),
    method("ListTasks", &LIST_TASKS_REQUEST, &LIST_TASKS_RESPONSE, false),
    method("CancelTask", &CANCEL_TASK_REQUEST, &TASK, false),
    method("SubscribeToTask", &SUBSCRIBE_TO_TASK_REQUEST, &STREAM_RESPONSE, true),
    method("CreateTaskPushNotificationConfig", &TASK_PUSH_NOTIFICATION_CONFIG, &TASK_PUSH_NOTIFICATION_CONFIG, false),
    method(
        "GetTaskPushNotificationConfig",
        &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        &TASK_PUSH_NOTIFICATION_CONFIG,
        false,
    ),
    method(
        "ListTaskPushNotificationConfigs",
        &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
        &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
        false,
    ),
    method("GetExtendedAgentCard", &GET_EXTENDED_AGENT_CARD_REQUEST, &card::AGENT_CARD, false),
    method("DeleteTaskPushNotificationConfig", &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST, &EMPTY, false),
];

/// The states of a task.
pub static TASK_STATE: Enum = Enum {
    name: "TaskState",
    names: &[
        "TASK_STATE_UNSPECIFIED",
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
    ],
};

/// `google.rpc.Status`, which `grpc-status-details-bin` holds.
pub(in crate::a2a::grpc) static RPC_STATUS: Message = m(
    "google.rpc.Status",
    &[f(1, "code", Int32, Plain), f(2, "message", Text, Plain), f(3, "details", Kind::Any, List)],
);

/// The details that are read; others are shown as bytes.
pub(in crate::a2a::grpc) static KNOWN_DETAILS: [&Message; 2] = [&ERROR_INFO, &BAD_REQUEST];

static ERROR_INFO: Message =
    m("google.rpc.ErrorInfo", &[f(1, "reason", Text, Plain), f(2, "domain", Text, Plain), f(3, "metadata", Text, Map)]);
static BAD_REQUEST: Message =
    m("google.rpc.BadRequest", &[f(1, "fieldViolations", Kind::Message(&FIELD_VIOLATION), List)]);
static FIELD_VIOLATION: Message = m(
    "google.rpc.BadRequest.FieldViolation",
    &[f(1, "field", Text, Plain), f(2, "description", Text, Plain), f(3, "reason", Text, Plain)],
);
static EMPTY: Message = m("google.protobuf.Empty", &[]);

static ROLE: Enum = Enum { name: "Role", names: &["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"] };

static SEND_MESSAGE_CONFIGURATION: Message = m(
    "SendMessageConfiguration",
    &[
        f(1, "acceptedOutputModes", Text, List),
        f(2, "taskPushNotificationConfig", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG), Plain),
        f(3, "historyLength", Int32, Present),
        f(4, "returnImmediately", Bool, Plain),
    ],
);
static TASK: Message = m(
    "Task",
    &[
        f(1, "id", Text, Required),
        f(2, "contextId", Text, Plain),
        f(3, "status", Kind::Message(&TASK_STATUS), Required),
        f(4, "artifacts", Kind::Message(&ARTIFACT), List),
        f(5, "history", Kind::Message(&MESSAGE), List),
        f(6, "metadata", Struct, Plain),
    ],
);
static TASK_STATUS: Message = m(
    "TaskStatus",
    &[
        f(1, "state", Kind::Enum(&TASK_STATE), Required),
        f(2, "message", Kind::Message(&MESSAGE), Plain),
        f(3, "timestamp", Timestamp, Plain),
    ],
);
static PART: Message = m(
    "Part",
    &[
        f(1, "text", Text, Present),
        f(2, "raw", Bytes, Present),
        f(3, "url", Text, Present),
        f(4, "data", Kind::Value, Present),
        f(5, "metadata", Struct, Plain),
        f(6, "filename", Text, Plain),
        f(7, "mediaType", Text, Plain),
    ],
);
static MESSAGE: Message = m(
    "Message",
    &[
        f(1, "messageId", Text, Required),
        f(2, "contextId", Text, Plain),
        f(3, "taskId", Text, Plain),
        f(4, "role", Kind::Enum(&ROLE), Required),
        f(5, "parts", Kind::Message(&PART), RequiredList),
        f(6, "metadata", Struct, Plain),
        f(7, "extensions", Text, List),
        f(8, "referenceTaskIds", Text, List),
    ],
);
static ARTIFACT: Message = m(
    "Artifact",
    &[
        f(1, "artifactId", Text, Required),
        f(2, "name", Text, Plain),
        f(3, "description", Text, Plain),
        f(4, "parts", Kind::Message(&PART), RequiredList),
        f(5, "metadata", Struct, Plain),
        f(6, "extensions", Text, List),
    ],
);
static TASK_STATUS_UPDATE_EVENT: Message = m(
    "TaskStatusUpdateEvent",
    &[
        f(1, "taskId", Text, Required),
        f(2, "contextId", Text, Required),
        f(3, "status", Kind::Message(&TASK_STATUS), Required),
        f(4, "metadata", Struct, Plain),
    ],
);
static TASK_ARTIFACT_UPDATE_EVENT: Message = m(
    "TaskArtifactUpdateEvent",
    &[
        f(1, "taskId", Text, Required),
        f(2, "contextId", Text, Required),
        f(3, "artifact", Kind::Message(&ARTIFACT), Required),
        f(4, "append", Bool, Plain),
        f(5, "lastChunk", Bool, Plain),
        f(6, "metadata", Struct, Plain),
    ],
);
static AUTHENTICATION_INFO: Message =
    m("AuthenticationInfo", &[f(1, "scheme", Text, Required), f(2, "credentials", Text, Plain)]);
static TASK_PUSH_NOTIFICATION_CONFIG: Message = m(
    "TaskPushNotificationConfig",
    &[
        f(1, "tenant", Text, Plain),
        f(2, "id", Text, Plain),
        f(3, "taskId", Text, Plain),
        f(4, "url", Text, Required),
        f(5, "token", Text, Plain),
        f(6, "authentication", Kind::Message(&AUTHENTICATION_INFO), Plain),
    ],
);
static SEND_MESSAGE_REQUEST: Message = m(
    "SendMessageRequest",
    &[
        f(1, "tenant", Text, Plain),
        f(2, "message", Kind::Message(&MESSAGE), Required),
        f(3, "configuration", Kind::Message(&SEND_MESSAGE_CONFIGURATION), Plain),
        f(4, "metadata", Struct, Plain),
    ],
);
static GET_TASK_REQUEST: Message = m(
    "GetTaskRequest",
    &[f(1, "tenant", Text, Plain), f(2, "id", Text, Required), f(3, "historyLength", Int32, Present)],
);
static LIST_TASKS_REQUEST: Message = m(
    "ListTasksRequest",
    &[
        f(1, "tenant", Text, Plain),
        f(2, "contextId", Text, Plain),
        f(3, "status", Kind::Enum(&TASK_STATE), Plain),
        f(4, "pageSize", Int32, Present),
        f(5, "pageToken", Text, Plain),
        f(6, "historyLength", Int32, Present),
        f(7, "statusTimestampAfter", Timestamp, Plain),
        f(8, "includeArtifacts", Bool, Present),
    ],
);
static LIST_TASKS_RESPONSE: Message = m(
    "ListTasksResponse",
    &[
        f(1, "tasks", Kind::Message(&TASK), RequiredList),
        f(2, "nextPageToken", Text, Required),
        f(3, "pageSize", Int32, Required),
        f(4, "totalSize", Int32, Required),
    ],
);
static CANCEL_TASK_REQUEST: Message =
    m("CancelTaskRequest", &[f(1, "tenant", Text, Plain), f(2, "id", Text, Required), f(3, "metadata", Struct, Plain)]);
static GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = m(
    "GetTaskPushNotificationConfigRequest",
    &[f(1, "tenant", Text, Plain), f(2, "taskId", Text, Required), f(3, "id", Text, Required)],
);
static DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = m(
    "DeleteTaskPushNotificationConfigRequest",
    &[f(1, "tenant", Text, Plain), f(2, "taskId", Text, Required), f(3, "id", Text, Required)],
);
static SUBSCRIBE_TO_TASK_REQUEST: Message =
    m("SubscribeToTaskRequest", &[f(1, "tenant", Text, Plain), f(2, "id", Text, Required)]);
static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: Message = m(
    "ListTaskPushNotificationConfigsRequest",
    &[
        f(1, "taskId", Text, Required),
        f(2, "pageSize", Int32, Plain),
        f(3, "pageToken", Text, Plain),
        f(4, "tenant", Text, Plain),
    ],
);
static GET_EXTENDED_AGENT_CARD_REQUEST: Message = m("GetExtendedAgentCardRequest", &[f(1, "tenant", Text, Plain)]);
static SEND_MESSAGE_RESPONSE: Message = m(
    "SendMessageResponse",
    &[f(1, "task", Kind::Message(&TASK), Present), f(2, "message", Kind::Message(&MESSAGE), Present)],
);
static STREAM_RESPONSE: Message = m(
    "StreamResponse",
    &[
        f(1, "task", Kind::Message(&TASK), Present),
        f(2, "message", Kind::Message(&MESSAGE), Present),
        f(3, "statusUpdate", Kind::Message(&TASK_STATUS_UPDATE_EVENT), Present),
        f(4, "artifactUpdate", Kind::Message(&TASK_ARTIFACT_UPDATE_EVENT), Present),
    ],
);
static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: Message = m(
    "ListTaskPushNotificationConfigsResponse",
    &[f(1, "configs", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG), List), f(2, "nextPageToken", Text, Plain)],
);

pub(super) const fn m(name: &'static str, fields: &'static [Field]) -> Message {
    Message { name, fields }
}

pub(super) const fn f(number: u32, json: &'static str, kind: Kind, rule: Rule) -> Field {
    Field { number, json, kind, rule }
}

const fn method(name: &'static str, request: &'static Message, response: &'static Message, streams: bool) -> Method {
    Method { name, request, response, streams }
}
