//! What a proxy does with what passes.

use ostiary_record::FaultPlan;
use serde::{Deserialize, Serialize};

use super::{lie::Lie, memory::Memory};

/// What a proxy does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Passes everything as it is and remembers what passed.
    #[default]
    Record,
    /// Tells one lie.
    Lie {
        /// Which.
        lie: Lie,
        /// From when on; `None` = at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only_after: Option<Trigger>,
    },
    /// Disturbs exchanges by a plan; what passes undisturbed passes as it is.
    Fault {
        /// The plan.
        plan: FaultPlan,
    },
}

/// What must have passed before a lie begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// So many requests, counted from the proxy's start.
    Requests(u64),
    /// A task that reached a terminal state.
    FinishedTask,
}

// === impl Policy ===

impl Policy {
    /// Tells a lie at once.
    #[must_use]
    pub const fn lie(lie: Lie) -> Self {
        Self::Lie { lie, only_after: None }
    }

    /// The plan of faults, if it is one.
    pub(super) fn faults(&self) -> Option<FaultPlan> {
        match self {
            Self::Fault { plan } => Some(plan.clone()),
            Self::Record | Self::Lie { .. } => None,
        }
    }

    /// The lie to tell now, if any.
    pub(super) fn now(&self, memory: &Memory) -> Option<Lie> {
        match self {
            Self::Record | Self::Fault { .. } => None,
            Self::Lie { lie, only_after: None } => Some(*lie),
            Self::Lie { lie, only_after: Some(Trigger::Requests(n)) } => (memory.requests > *n).then_some(*lie),
            Self::Lie { lie, only_after: Some(Trigger::FinishedTask) } => memory.any_finished().then_some(*lie),
        }
    }
}

impl From<Lie> for Policy {
    fn from(lie: Lie) -> Self {
        Self::lie(lie)
    }
}
