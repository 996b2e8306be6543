//! Who is told of every step, in order: how a sidecar passes on what it holds.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{Index, ViewScope, wire::Sent};
use ostiary_canon::{Digest, Revision};

/// Follows a router's copy. Called in order, after a step was applied, from the task that keeps the copy: must not block.
pub trait Downstream: Send + Sync {
    /// The copy is now this index, whole, and `head` signs it.
    fn replaced(&self, scope: &ViewScope, index: &Arc<Index>, head: &RelayedHead);

    /// These changes were applied to it. Without a head the step only lowers trust.
    fn stepped(&self, scope: &ViewScope, changes: &[Sent], to: Revision, head: Option<&RelayedHead>);

    /// A newer head over the same entries, perhaps of a later revision.
    fn confirmed(&self, scope: &ViewScope, head: &RelayedHead);

    /// The newest revision up to `applied` on which whoever follows decides too: everybody said so, or may not decide on
    /// anything older any more. Only that is acknowledged upstream. Asked after each step and again as time passes.
    fn acknowledged(&self, _scope: &ViewScope, applied: Revision) -> Revision {
        applied
    }
}

/// A verified head, to be passed on as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayedHead {
    /// The DSSE envelope.
    pub envelope: Bytes,
    /// The revision that it signs.
    pub revision: Revision,
    /// The root that it signs.
    pub root: Digest,
    /// Until when the copy may be decided on, by the control plane's clock.
    pub lease_until: Timestamp,
}
