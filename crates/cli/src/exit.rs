//! The exit codes of every command: what a script may rely on, whatever the output format.

use std::process::ExitCode;

use ostiary_record::Outcome;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: PASS, compatible, allowed, done.
    Done,
    /// 1: FAIL, breaking, denied, refused by the control plane.
    Failed,
    /// 2: the command was used wrongly.
    Usage,
    /// 3: INCONCLUSIVE, conditional, unknown.
    Inconclusive,
    /// 4: it could not run: unreachable, IO, bad configuration.
    CouldNotRun,
}

// === impl Exit ===

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::CouldNotRun => 4,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Pass => Self::Done,
            Outcome::Fail => Self::Failed,
            // a verification in which nothing applied has shown nothing
            Outcome::Inconclusive | Outcome::NotApplicable => Self::Inconclusive,
        }
    }
}
