//! The gates: judge a run, sign what was found, and let one guarded transaction move the version.
//!
//! Gather → decide → act. What decides is pure and elsewhere: `verify::judge` says what recordings show,
//! `domain::judge_gate` whether the gate opens, `domain::consequence` what follows. Here the facts are brought together
//! and the result is signed and committed. Start with [`Gatekeeper::judge_run`].

mod admit;
mod card;
mod commit;
mod facts;
mod judge;
pub mod lenience;
mod measure;
mod options;
mod revalidate;
mod run;
mod statement;
mod waived;

use std::sync::Arc;

use ostiary_domain::{Conflict, Crashed, StoreError, ports::SignError};

use crate::{app::App, recordings::RecordingsError};

pub use admit::Clerk;
pub use revalidate::Inspector;
pub use run::RunError;

/// Judges, signs, commits.
#[derive(Clone, Debug)]
pub struct Gatekeeper {
    app: Arc<App>,
}

/// Why a gate was not judged to its end.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// What was uploaded is no run for this job.
    #[error("the run cannot be judged: {0}")]
    Run(#[from] RunError),
    /// The store refused or did not answer.
    #[error("failed to use the store")]
    Store(#[from] StoreError),
    /// The recording could not be kept.
    #[error("failed to keep the recording")]
    Recordings(#[from] RecordingsError),
    /// The key could not be used.
    #[error("failed to sign")]
    Sign(#[from] SignError),
    /// A statement of ours contradicts itself.
    #[error("failed to state what was found: {0}")]
    Statement(String),
    /// Judging panicked: a fault of a check.
    #[error("judging broke off: {0}")]
    Judge(String),
    /// A test stopped us.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

// === impl Gatekeeper ===

impl Gatekeeper {
    /// A gatekeeper over an app.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

// === impl GateError ===

impl GateError {
    /// Whether the lease under which it was tried is gone.
    #[must_use]
    pub const fn lease_lost(&self) -> bool {
        matches!(self, Self::Store(StoreError::Conflict(Conflict::Lease(_))))
    }
}
