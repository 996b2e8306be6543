//! `temporal.yaml`: by when things must have happened.

use crate::decode::file_type;

file_type! {
    /// `temporal.yaml`.
    pub struct TemporalFile {
        /// The contract.
        temporal_contract: Temporal,
    }
}

file_type! {
    /// Deadlines and windows; what is absent is not promised.
    #[derive(Default)]
    pub struct Temporal {
        /// From a request to its first sign of life.
        acknowledge_within_ms: Option<u64>,
        /// From a request to the first progress.
        first_progress_within_ms: Option<u64>,
        /// The longest silence between two signs of progress.
        progress_gap_within_ms: Option<u64>,
        /// The longest single step.
        step_within_ms: Option<u64>,
        /// The longest whole task.
        task_within_ms: Option<u64>,
        /// From a cancel to its effect.
        cancellation_effect_within_ms: Option<u64>,
        /// Whether effects stop once a cancel is acknowledged.
        no_new_side_effect_after_cancel_ack: Option<bool>,
        /// How many events back a repetition may come after a reconnect.
        duplicate_event_window: Option<u32>,
        /// Whether each event of a stream carries an id, the same in every stream: as `id:` of a server-sent event, or in
        /// the event's metadata.
        event_ids: Option<bool>,
        /// The member of the metadata that holds the id; `eventId` where nothing is said.
        event_id_member: Option<String>,
        /// How long a finished task can be read back.
        terminal_retention_ms: Option<u64>,
        /// How a consumer should retry.
        retry: Option<RetryPolicy>,
        /// How the agent itself repeats a push notification that its receiver did not take.
        push_retry: Option<RetryPolicy>,
    }
}

file_type! {
    /// How something is tried again.
    pub struct RetryPolicy {
        /// Most attempts in all.
        max_attempts: u32,
        /// The shortest wait before a further attempt.
        backoff_ms: u64,
    }
}
