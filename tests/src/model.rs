//! What each liar must be caught for: the tests compare reports with this, never with texts.

use ostiary_lab::proxy::Lie;
use serde_json::Value;

/// A broken promise: layer and reason code.
pub type Caught = (&'static str, &'static str);

/// What a lie of the proxy in front of an honest agent must be caught for: exactly these, and nothing else.
#[must_use]
pub const fn caught(lie: Lie) -> &'static [Caught] {
    match lie {
        Lie::ReopenTerminal => &[("protocol", "TERMINAL_STATE_REOPENED")],
        Lie::ChangeContentType => &[("schema", "CONTENT_MODE_MISMATCH")],
        Lie::DropArtifact => &[("schema", "ARTIFACT_MISSING")],
        Lie::CutStream => &[("protocol", "STREAM_TRUNCATED")],
        Lie::StepTimeBack => &[("protocol", "TIMESTAMP_BACKWARDS")],
        Lie::DuplicateEvent => &[("protocol", "DUPLICATE_EVENT_MISHANDLED")],
        Lie::LeakStackTrace => &[("authorization", "ERROR_DATA_LEAK")],
        Lie::ServeForeignTask => &[("authorization", "CROSS_TENANT_ACCESS")],
        Lie::AcceptAnyVersion => &[("protocol", "VERSION_NOT_ENFORCED")],
        Lie::AcceptMessageToTerminal => &[("protocol", "TERMINAL_TASK_MESSAGE_ACCEPTED")],
        Lie::IgnoreCancel => &[("protocol", "CANCEL_NOT_EFFECTIVE")],
        Lie::IgnoreCredential => &[
            ("authorization", "CREDENTIAL_EXPIRED_ACCEPTED"),
            ("authorization", "CREDENTIAL_FOREIGN_ACCEPTED"),
            ("authorization", "CREDENTIAL_NOT_REQUIRED"),
        ],
        Lie::ServeUndeclaredStream => &[("protocol", "UNDECLARED_CAPABILITY_SERVED")],
        Lie::ReplayEvents => &[("protocol", "TIMESTAMP_BACKWARDS"), ("temporal", "DUPLICATE_WINDOW_EXCEEDED")],
        Lie::LoseSnapshot => &[("protocol", "STREAM_ORDER_INVALID")],
        Lie::StaleSnapshot => &[("protocol", "STREAM_SNAPSHOT_STALE"), ("protocol", "TIMESTAMP_BACKWARDS")],
        Lie::LoseEvent => &[("protocol", "STREAMS_DISAGREE")],
        Lie::CloseTogether => &[("protocol", "STREAM_CLOSED_WITH_ANOTHER")],
        Lie::CancelOnDisconnect => &[("protocol", "DISCONNECT_ENDS_TASK")],
        Lie::AppendToUnknown => &[("protocol", "ARTIFACT_CHUNK_INVALID")],
        Lie::AppendPhantom => &[("protocol", "ARTIFACT_ASSEMBLY_MISMATCH")],
        Lie::SwitchContext => &[("protocol", "TASK_CONTEXT_CHANGED")],
        Lie::AnswerAsNewTask => &[("protocol", "RESPONSE_MALFORMED")],
        Lie::AcceptAnyContext => &[("protocol", "ERROR_NOT_REFUSED"), ("protocol", "TASK_CONTEXT_CHANGED")],
        Lie::AcceptUnknownTask => &[("protocol", "ERROR_NOT_REFUSED")],
        Lie::CompleteAlways => &[("protocol", "CAPABILITY_NOT_KEPT")],
        Lie::TellFullHistory => &[("protocol", "HISTORY_LENGTH_EXCEEDED")],
        Lie::ReverseList => &[("protocol", "TASK_LIST_INVALID")],
        Lie::RequireExtension => &[
            ("declaration", "CARD_CHANGED"),
            ("declaration", "REQUIRED_EXTENSION_UNSUPPORTED"),
            ("protocol", "EXTENSION_NOT_ENFORCED"),
        ],
        Lie::ChangeCard => &[("declaration", "CARD_CHANGED")],
    }
}

/// The counting failures of a report: layer and reason code, sorted, each once.
#[must_use]
pub fn failures(report: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let mut found: Vec<(String, String)> = report["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|f| f["verdict"] == "FAIL" && f["severity"] == "error")
        .map(|f| (text(f, "layer"), text(f, "reason_code")))
        .collect();
    found.sort();
    found.dedup();
    found
}
