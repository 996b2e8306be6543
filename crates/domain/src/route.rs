//! Who is dispatched to: one row an agent, compare-and-set (L-11).

use jiff::Timestamp;
use ostiary_canon::{AgentId, Revision};
use serde::{Deserialize, Serialize};

use crate::names::{RowVersion, VersionRef};

/// The route of one agent: at most one of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The agent.
    pub agent: AgentId,
    /// Who is dispatched to.
    pub active: Option<VersionRef>,
    /// Who is tried in a cohort.
    pub canary: Option<VersionRef>,
    /// Who was dispatched to before, and may be again in one step.
    pub previous: Option<Previous>,
    /// The revision that last changed it.
    pub revision: Revision,
    /// How often the row was written.
    pub row: RowVersion,
}

/// The version that was ACTIVE before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previous {
    /// Which.
    pub version: VersionRef,
    /// The end of the rollback window, exclusive.
    pub until: Timestamp,
}

/// A change of the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteChange {
    /// A version enters its cohort.
    StartCanary(VersionRef),
    /// The canary leaves.
    AbortCanary(VersionRef),
    /// The canary becomes ACTIVE; the old ACTIVE stays near until then.
    Promote {
        /// The canary.
        version: VersionRef,
        /// The end of the rollback window.
        rollback_until: Timestamp,
    },
    /// The previous version takes its place again.
    Rollback {
        /// The ACTIVE version that is left.
        from: VersionRef,
    },
    /// A version leaves the route, wherever it is.
    Remove(VersionRef),
}

/// The route does not allow the change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// There is one canary at most.
    #[error("`{0}` is already the canary")]
    CanaryTaken(VersionRef),
    /// The version is not the canary.
    #[error("`{0}` is not the canary")]
    NotCanary(VersionRef),
    /// The version is not ACTIVE.
    #[error("`{0}` is not the active version")]
    NotActive(VersionRef),
    /// Nothing to go back to.
    #[error("there is no previous version within its rollback window")]
    NoPrevious,
}

// === impl Route ===

impl Route {
    /// An agent's route before anything was dispatched.
    #[must_use]
    pub const fn empty(agent: AgentId) -> Self {
        Self { agent, active: None, canary: None, previous: None, revision: Revision(0), row: RowVersion(0) }
    }

    /// The route after `change`, at `now`.
    ///
    /// # Errors
    /// When the change does not fit who is where.
    pub fn apply(mut self, change: RouteChange, now: Timestamp) -> Result<Self, RouteError> {
        match change {
            RouteChange::StartCanary(version) => match self.canary {
                Some(other) => return Err(RouteError::CanaryTaken(other)),
                None => self.canary = Some(version),
            },
            RouteChange::AbortCanary(version) => {
                self.leave_canary(version)?;
            }
            RouteChange::Promote { version, rollback_until } => {
                let promoted = self.leave_canary(version)?;
                let old = self.active.replace(promoted);
                self.previous = old.map(|version| Previous { version, until: rollback_until });
            }
            RouteChange::Rollback { from } => {
                if self.active.as_ref() != Some(&from) {
                    return Err(RouteError::NotActive(from));
                }
                let previous = self.previous.take().filter(|p| now < p.until).ok_or(RouteError::NoPrevious)?;
                self.active = Some(previous.version);
            }
            RouteChange::Remove(version) => self.remove(&version),
        }
        Ok(self)
    }

    /// Everybody on the route.
    pub fn versions(&self) -> impl Iterator<Item = &VersionRef> {
        [self.active.as_ref(), self.canary.as_ref(), self.previous.as_ref().map(|p| &p.version)].into_iter().flatten()
    }

    fn leave_canary(&mut self, version: VersionRef) -> Result<VersionRef, RouteError> {
        match self.canary.take() {
            Some(canary) if canary == version => Ok(canary),
            _ => Err(RouteError::NotCanary(version)),
        }
    }

    fn remove(&mut self, version: &VersionRef) {
        self.active.take_if(|v| v == version);
        self.canary.take_if(|v| v == version);
        self.previous.take_if(|p| p.version == *version);
    }
}
