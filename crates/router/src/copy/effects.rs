//! What a message leads to. The order in which it is done matters and stands at each field.

use bytes::Bytes;
use ostiary_admission::wire::Sent;
use ostiary_canon::{AgentId, Revision};
use ostiary_proto::admission::v1::{RefusalReason, watch_admissions_request::Message as Request};

use crate::{downstream::RelayedHead, view::Held};

/// What is to be done, in the order of the fields.
#[derive(Default)]
pub(crate) struct Effects {
    /// First: decisions read this from now on.
    pub(crate) held: Option<Held>,
    /// Then: which dispatches under way must be asked about again.
    pub(crate) touched: Touched,
    /// Then: on disk, before it is acknowledged, or a restart could go back behind an acknowledgement.
    pub(crate) keep: Option<Keep>,
    /// Then: said to whoever follows this router.
    pub(crate) tell: Option<Tell>,
    /// Then: said to the control plane; an acknowledgement waits for those who follow.
    pub(crate) send: Vec<Request>,
    /// Last: the connection is given up.
    pub(crate) end: Option<Fault>,
    /// How many entries were not understood and are denied.
    pub(crate) not_understood: usize,
    /// A message that was already known, or a head that lags; for metrics.
    pub(crate) ignored: bool,
}

/// Which dispatches a step concerns.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Touched {
    /// None.
    #[default]
    Nothing,
    /// Those to these agents.
    Agents(Vec<AgentId>),
    /// All.
    Everything,
}

/// What is kept on disk.
pub(crate) enum Keep {
    /// All of it anew.
    Whole,
    /// One more step, as it was sent.
    Step {
        /// Where it starts.
        from: Revision,
        /// Where it leads.
        to: Revision,
        /// As sent.
        entries: Vec<Bytes>,
        /// As sent; empty for none.
        head: Bytes,
    },
    /// A newer head over the same.
    Head,
}

/// What followers are told.
pub(crate) enum Tell {
    /// The copy was replaced.
    Replaced(RelayedHead),
    /// A step was applied.
    Stepped {
        /// What changed.
        changes: Vec<Sent>,
        /// Where it led.
        to: Revision,
        /// Its head, where there was one.
        head: Option<RelayedHead>,
    },
    /// A newer head.
    Confirmed(RelayedHead),
}

/// Why a connection is given up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the head does not verify: {0}")]
    Signature(String),
    #[error("a step raises trust and no head covers it")]
    RaiseWithoutHead(Revision),
    #[error("the entries of revision {0} do not give the root that its head signs")]
    Root(Revision),
    #[error("revision {offered} is older than {known}")]
    Older { offered: Revision, known: Revision },
    #[error("{0}")]
    Gap(String),
    #[error("an entry of revision {revision} is about nothing that can be read: {why}")]
    NotUnderstood { revision: Revision, why: &'static str },
    #[error("the head is of scope `{0}`")]
    Scope(String),
    #[error("no head covered a lowering in time")]
    HeadOverdue,
    #[error("the connection was silent for too long")]
    Silent,
}

// === impl Fault ===

impl Fault {
    /// All names, for metrics that begin at zero.
    pub(crate) const NAMES: [&'static str; 9] = [
        "signature",
        "raise_without_head",
        "root",
        "older",
        "gap",
        "not_understood",
        "scope",
        "head_overdue",
        "silent",
    ];

    /// What is said about it, and of which revision; nothing where nothing was offered.
    pub(crate) fn refusal(&self, applied: Revision) -> Option<(RefusalReason, Revision)> {
        match self {
            Self::Signature(_) => Some((RefusalReason::Signature, applied)),
            Self::RaiseWithoutHead(revision) => Some((RefusalReason::Signature, *revision)),
            Self::Root(revision) => Some((RefusalReason::Root, *revision)),
            Self::Older { offered, .. } => Some((RefusalReason::Older, *offered)),
            Self::Gap(_) => Some((RefusalReason::Gap, applied)),
            Self::NotUnderstood { revision, .. } => Some((RefusalReason::NotUnderstood, *revision)),
            Self::Scope(_) => Some((RefusalReason::Scope, applied)),
            Self::HeadOverdue | Self::Silent => None,
        }
    }

    /// The name in metrics.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Signature(_) => "signature",
            Self::RaiseWithoutHead(_) => "raise_without_head",
            Self::Root(_) => "root",
            Self::Older { .. } => "older",
            Self::Gap(_) => "gap",
            Self::NotUnderstood { .. } => "not_understood",
            Self::Scope(_) => "scope",
            Self::HeadOverdue => "head_overdue",
            Self::Silent => "silent",
        }
    }
}
