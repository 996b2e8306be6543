//! The places between two steps of a gate where a process may die, by name.
//!
//! Tests kill or fail the process at each of them and then assert that the version is in exactly one legal state and
//! that the gate goes on or is cleanly repeated. In production nothing happens there.

use std::{fmt, str::FromStr};

/// Declares the failpoints with their names and the list of all.
macro_rules! failpoints {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// One place between two steps of a gate.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Failpoint {
            $($(#[$doc])* $name,)*
        }

        impl Failpoint {
            /// All failpoints, in the order in which a gate passes them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The failpoint's stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

failpoints! {
    /// In the transaction of a submission, all written, nothing committed.
    SubmitWritten = "submit.written";
    /// The submission is committed and nobody has been told.
    SubmitCommitted = "submit.committed";
    /// A lease is committed and the worker has not heard of it.
    JobClaimed = "job.claimed";
    /// The worker has driven all scenarios and uploaded nothing.
    RunDriven = "run.driven";
    /// The server has the recordings and has judged nothing.
    RunUploaded = "run.uploaded";
    /// The decision is made and nothing is signed.
    GateJudged = "gate.judged";
    /// The evidence is signed and nothing is stored.
    EvidenceSigned = "evidence.signed";
    /// The transaction of the gate holds its guards and has written nothing.
    CommitGuarded = "commit.guarded";
    /// The version has its new state, evidence and audit are missing.
    CommitVersionWritten = "commit.version_written";
    /// The evidence is written, the audit is missing.
    CommitEvidenceWritten = "commit.evidence_written";
    /// All is written, nothing committed.
    CommitWritten = "commit.written";
    /// Committed, and nobody has been told.
    CommitDone = "commit.done";
    /// The caller has its answer, the index of routers is not yet published.
    IndexNotPublished = "index.not_published";
}

/// The process stopped here. Only a test's failpoints say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped at failpoint `{}`", .0.as_str())]
pub struct Crashed(pub Failpoint);

/// A text that names no failpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no failpoint")]
pub struct UnknownFailpoint(pub String);

/// What happens at failpoints.
pub trait Failpoints: fmt::Debug + Send + Sync {
    /// Called at `point`. A test's implementation kills the process, or answers an error that unwinds like a crash.
    ///
    /// # Errors
    /// Only from a test's implementation.
    fn hit(&self, point: Failpoint) -> Result<(), Crashed>;
}

/// Production: nothing happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFailpoints;

// === impl NoFailpoints ===

impl Failpoints for NoFailpoints {
    fn hit(&self, _: Failpoint) -> Result<(), Crashed> {
        Ok(())
    }
}

// === impl Failpoint ===

impl FromStr for Failpoint {
    type Err = UnknownFailpoint;

    fn from_str(text: &str) -> Result<Self, UnknownFailpoint> {
        let found = Self::ALL.iter().copied().find(|p| p.as_str() == text);
        found.ok_or_else(|| UnknownFailpoint(text.to_owned()))
    }
}

impl fmt::Display for Failpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
