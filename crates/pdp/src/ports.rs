//! What a decision point needs from whoever hosts it.

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{Decision, Head, Query, ViewScope};
use ostiary_canon::Revision;
use tonic::{Status, metadata::MetadataMap};

/// Control-plane time. A relay gives its estimate, at the end that ends leases first.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;

    /// A time that is over for sure. Whether somebody else may still decide on something is judged by it: who estimates
    /// the time gives the other end here.
    fn passed(&self) -> Timestamp {
        self.now()
    }
}

/// Who may ask. The default denies nobody, for whatever is guarded otherwise, such as a socket.
pub trait Guard: Send + Sync {
    /// Whether the caller may ask about `namespace`; a caller who may ask, but not about it, gets a decision that says so.
    ///
    /// # Errors
    /// UNAUTHENTICATED or PERMISSION_DENIED when it may not ask at all.
    fn may_ask(&self, _caller: &MetadataMap, _namespace: &str) -> Result<bool, Status> {
        Ok(true)
    }

    /// The caller's name, if it may copy all that is in `scope`.
    ///
    /// # Errors
    /// UNAUTHENTICATED or PERMISSION_DENIED when it may not.
    fn may_copy(&self, _caller: &MetadataMap, _scope: &ViewScope) -> Result<String, Status> {
        Ok(String::new())
    }
}

/// Makes the view fresher on request.
#[tonic::async_trait]
pub trait Freshen: Send + Sync {
    /// Waits until the view has reached `revision`, or gives up; the decision says which.
    async fn reach(&self, revision: Revision);

    /// The newest revision that there is anywhere.
    ///
    /// # Errors
    /// UNAVAILABLE when that cannot be found out.
    async fn newest(&self) -> Result<Revision, Status>;
}

/// Where signed heads come from.
pub trait HeadSource: Send + Sync {
    /// The envelope over `head`, or over one of the same scope, revision and root with a lease that is no longer; `None`
    /// when there is none now: a key that cannot be used, an upstream that has not signed this yet.
    fn signed(&self, head: &Head) -> Option<Bytes>;
}

/// Told of every answer to a router; for counters.
pub trait Decided: Send + Sync {
    /// This was answered. Must not wait.
    fn decided(&self, _query: &Query<'_>, _decision: &Decision) {}
}

/// Told when a router holds another card than the admitted one; what comes of it is somebody else's work.
pub trait Mismatches: Send + Sync {
    /// A question about this dispatch was answered with CARD_DIGEST_MISMATCH. Must not wait: a full queue drops it.
    fn mismatched(&self, _query: &Query<'_>, _decision: &Decision) {}
}

/// Asks nothing of anybody: everybody may ask, nothing is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Guard for Nobody {}
impl Decided for Nobody {}
impl Mismatches for Nobody {}

#[tonic::async_trait]
impl Freshen for Nobody {
    async fn reach(&self, _: Revision) {}

    async fn newest(&self) -> Result<Revision, Status> {
        Err(Status::unavailable("this view has nothing to compare itself with"))
    }
}

impl HeadSource for Nobody {
    fn signed(&self, _: &Head) -> Option<Bytes> {
        None
    }
}
