//! What replicas have given out.

use super::Answer;
use crate::grants::{Given, Replica};

/// One row for each replica: the bounds of what it has given out. Writing one makes no revision and no audit entry.
pub trait Grants {
    /// Writes a replica's row, and forgets rows that were not written for [`FORGOTTEN_AFTER`](crate::grants::FORGOTTEN_AFTER).
    fn put_grants(&self, given: Given) -> Answer<'_, ()>;
    /// The rows of all replicas, by their ids.
    fn grants(&self) -> Answer<'_, Vec<Replica>>;
}
