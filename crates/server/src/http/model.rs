//! What versions, holds, evidence and jobs look like over HTTP.

mod evidence;
mod hold;
mod version;

use ostiary_domain::{Job, ports::Operated};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use evidence::EvidenceView;
pub use hold::{HoldView, ScopeView, hold_kind};
pub use version::{AuthorizationView, NewestView, SubjectView, VersionView, WaivedView, sentence};

/// One run of the queue.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: String,
    /// The gate.
    pub gate: String,
    /// `queued`, `leased`, `done` or `failed`.
    pub state: String,
    /// How often it was handed out.
    pub tries: u32,
    /// What the last try said when it failed.
    pub last_error: Option<String>,
}

/// Every change answers with the revision that routers can be asked to have.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The revision token.
    pub revision: u64,
}

/// A change that queued a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Queued {
    /// The run.
    pub job: Option<String>,
    /// The revision token.
    pub revision: u64,
}
// === impl JobView ===

impl JobView {
    /// A job.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self {
            id: job.id.to_string(),
            gate: job.gate.to_string(),
            state: job.state.as_str().to_owned(),
            tries: job.tries,
            last_error: job.last_error.clone(),
        }
    }
}

// === impl Changed, Queued ===

impl Changed {
    /// What an act changed.
    #[must_use]
    pub const fn of(done: &Operated) -> Self {
        Self { revision: done.revision.0 }
    }
}

impl Queued {
    /// What an act queued.
    #[must_use]
    pub fn of(done: &Operated) -> Self {
        Self { job: done.job.as_ref().map(ToString::to_string), revision: done.revision.0 }
    }
}
fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
