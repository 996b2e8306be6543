//! Heads: whose, how old, and whether the copy is what they sign.

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::VerifiedHead;
use ostiary_canon::{Digest, Revision};

use super::{
    Copy, Floor, applied,
    effects::{Effects, Fault, Keep, Tell},
};
use crate::{downstream::RelayedHead, view::Trouble};

/// A head whose signature is good.
#[derive(Clone, Debug)]
pub(super) struct Signed {
    pub(super) revision: Revision,
    pub(super) root: Digest,
    pub(super) entries: u64,
    pub(super) lease_until: Timestamp,
    pub(super) issued_at: Timestamp,
    pub(super) envelope: Bytes,
}

// === impl Copy ===

impl Copy {
    pub(super) fn heartbeat(&mut self, envelope: Bytes, boot: i64) -> Result<Effects, Fault> {
        let signed = self.verify(&envelope)?;
        let revision = signed.revision;
        if self.verified.is_none() {
            return Err(Fault::Gap("a heartbeat before any snapshot".to_owned()));
        }
        let known = self.ledger.revision();
        if revision < known {
            // It was on its way when trust was lowered. What it signs is not held any more, so it confirms nothing.
            return Ok(Effects { ignored: true, ..Effects::default() });
        }
        if signed.root != self.ledger.root() {
            return Err(self.another_root(revision, known));
        }
        // Later with the same root: everything in between was about other scopes.
        let news = revision > known;
        self.ledger.raise(revision);
        self.joins.1 = revision;
        self.confirm(signed, boot);
        let mut effects = Effects {
            held: Some(self.held()),
            keep: Some(Keep::Head),
            tell: Some(Tell::Confirmed(self.relayed(envelope))),
            ..Effects::default()
        };
        if news {
            effects.send.push(applied(revision));
        }
        Ok(effects)
    }

    /// Verifies signature, scope and age of a head; not yet that the copy is what it signs.
    pub(super) fn verify(&self, envelope: &Bytes) -> Result<Signed, Fault> {
        let verified =
            VerifiedHead::read(envelope, &self.rules.trust).map_err(|error| Fault::Signature(error.to_string()))?;
        let head = verified.head();
        if head.scope != self.rules.scope {
            return Err(Fault::Scope(head.scope.to_string()));
        }
        let signed = Signed {
            revision: head.revision,
            root: head.root,
            entries: head.entries,
            lease_until: head.lease_until,
            issued_at: head.issued_at,
            envelope: envelope.clone(),
        };
        match self.floor {
            Some(floor) if signed.revision < floor.revision => {
                Err(Fault::Older { offered: signed.revision, known: floor.revision })
            }
            // Two histories with one number, and this one is not the later.
            Some(floor)
                if signed.revision == floor.revision
                    && signed.root != floor.root
                    && signed.issued_at <= floor.issued_at =>
            {
                Err(Fault::Root(signed.revision))
            }
            _ => Ok(signed),
        }
    }

    /// Refuses what is older than a verified or an acknowledged revision.
    pub(super) fn refuse_older(&self, offered: Revision) -> Result<(), Fault> {
        let floor = self.floor.map(|floor| floor.revision);
        let promised = self.promise.map(|promise| promise.revision);
        match floor.max(promised) {
            Some(known) if offered < known => Err(Fault::Older { offered, known }),
            _ => Ok(()),
        }
    }

    /// The copy is what `signed` signs.
    pub(super) fn confirm(&mut self, signed: Signed, boot: i64) {
        self.floor = Some(Floor { revision: signed.revision, root: signed.root, issued_at: signed.issued_at });
        self.unsigned_since = None;
        self.promise = self.promise.filter(|promise| promise.revision > signed.revision);
        self.trouble = None;
        self.time.reached(signed.issued_at, boot);
        // A lease that was given is not taken back by a head that took a slower way.
        let lease = self.verified.as_ref().map_or(Timestamp::MIN, |old| old.lease_until);
        self.verified = Some(Signed { lease_until: signed.lease_until.max(lease), ..signed });
    }

    /// The newest verified head, for followers.
    pub(super) fn relayed(&self, envelope: Bytes) -> RelayedHead {
        let signed = self.verified.as_ref();
        RelayedHead {
            envelope,
            revision: signed.map_or(Revision(0), |signed| signed.revision),
            root: signed.map_or(Digest::of(b""), |signed| signed.root),
            lease_until: signed.map_or(Timestamp::MIN, |signed| signed.lease_until),
        }
    }

    /// A head over something else than the copy: either steps are missing, or the copy is not what was sent.
    fn another_root(&mut self, revision: Revision, known: Revision) -> Fault {
        if revision > known && self.unsigned_since.is_none() {
            return Fault::Gap(format!("the head is of revision {revision}, the copy of {known}"));
        }
        self.trouble = Some(Trouble::NotVerified);
        Fault::Root(revision)
    }
}
