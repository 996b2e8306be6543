//! Who is told of every step, in order: how a sidecar passes on what it holds.

use std::sync::Arc;

use bytes::Bytes;
use ostiary_admission::{Index, ViewScope, wire::Sent};
use ostiary_canon::Revision;

/// Follows a router's copy. Called in order, after a step was applied, from the task that keeps the copy: must not block.
pub trait Downstream: Send + Sync {
    /// The copy is now this index, whole, and `head` is the verified head that signs it.
    fn replaced(&self, scope: &ViewScope, index: &Arc<Index>, revision: Revision, head: &Bytes);

    /// These changes were applied. Without a head the step only lowers trust.
    fn stepped(&self, scope: &ViewScope, changes: &[Sent], to: Revision, head: Option<&Bytes>);

    /// The same revision, a newer verified head.
    fn confirmed(&self, scope: &ViewScope, revision: Revision, head: &Bytes);
}
