//! Heads for routers, signed with the server's key: one signature for each scope, revision and lease, whoever asks.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use ostiary_admission::{HEAD_PAYLOAD_TYPE, Head, ViewScope};
use ostiary_domain::Signer;
use ostiary_pdp::HeadSource;

/// Signs heads, and remembers the newest of each scope.
pub struct Heads {
    signer: Arc<dyn Signer>,
    newest: Mutex<HashMap<ViewScope, (Head, Bytes)>>,
}

/// Scopes that are remembered; past that all are forgotten, which costs a signature each.
const SCOPES: usize = 4096;

// === impl Heads ===

impl Heads {
    /// Signs with `signer`.
    #[must_use]
    pub fn new(signer: Arc<dyn Signer>) -> Self {
        Self { signer, newest: Mutex::default() }
    }
}

impl HeadSource for Heads {
    fn signed(&self, head: &Head) -> Option<Bytes> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = newest.get(&head.scope)
            && says_the_same(known, head)
        {
            return Some(bytes.clone());
        }
        let bytes = match self.signer.sign(HEAD_PAYLOAD_TYPE, &head.payload()) {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(%error, scope = %head.scope, "head is not signed; routers' leases run out");
                return None;
            }
        };
        if newest.len() >= SCOPES {
            newest.clear();
        }
        newest.insert(head.scope.clone(), (head.clone(), bytes.clone()));
        Some(bytes)
    }
}

/// Whether two heads differ at most in when they were issued.
fn says_the_same(a: &Head, b: &Head) -> bool {
    (a.revision, a.root, a.entries, a.lease_until) == (b.revision, b.root, b.entries, b.lease_until)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use jiff::{SignedDuration, Timestamp};
    use ostiary_admission::VerifiedHead;
    use ostiary_canon::{
        Digest, Revision,
        dsse::{Keyring, SigningKey},
    };
    use ostiary_domain::ports::SignError;

    use super::*;
    use crate::system::KeySigner;

    #[derive(Debug)]
    struct Counting(KeySigner, AtomicUsize);

    impl Signer for Counting {
        fn sign(&self, payload_type: &str, payload: &[u8]) -> Result<Bytes, SignError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.sign(payload_type, payload)
        }

        fn sign_bytes(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
            self.0.sign_bytes(message)
        }

        fn key_id(&self) -> String {
            self.0.key_id()
        }
    }

    #[test]
    fn one_signature_for_each_scope_revision_and_lease() {
        let key = SigningKey::from_seed([7; 32]);
        let keys = Keyring::trusting([key.verifying_key()]);
        let signer = Arc::new(Counting(KeySigner::new(key), AtomicUsize::new(0)));
        let heads = Heads::new(signer.clone());
        let head = Head {
            scope: ViewScope::All,
            revision: Revision(7),
            root: Digest::of(b"root"),
            entries: 3,
            lease_until: Timestamp::UNIX_EPOCH,
            issued_at: Timestamp::UNIX_EPOCH,
        };
        let later = Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_secs(1)).expect("a time");
        let first = heads.signed(&head).expect("signed");
        assert_eq!(VerifiedHead::read(&first, &keys).expect("verifies").head(), &head);
        assert_eq!(heads.signed(&Head { issued_at: later, ..head.clone() }), Some(first), "says the same");
        let others = [
            Head { lease_until: later, ..head.clone() },
            Head { revision: Revision(8), ..head.clone() },
            Head { root: Digest::of(b"another"), ..head.clone() },
            Head { scope: ViewScope::Namespace("acme".into()), ..head },
        ];
        for (n, other) in others.iter().enumerate() {
            let signed = heads.signed(other).expect("signed");
            assert_eq!(VerifiedHead::read(&signed, &keys).expect("verifies").head(), other);
            assert_eq!(signer.1.load(Ordering::Relaxed), n + 2);
        }
    }
}
