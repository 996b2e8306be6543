//! Heads: only what a trusted key signed as a head is one (S-05).

use jiff::Timestamp;
use ostiary_admission::{HEAD_LIMIT, HEAD_PAYLOAD_TYPE, Head, HeadError, VerifiedHead, ViewScope};
use ostiary_canon::{
    Digest, Revision,
    dsse::{DsseError, Envelope, Keyring, SigningKey},
    json,
};

use crate::fixture::{hours, now};

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed([seed; 32])
}

fn ring() -> Keyring {
    Keyring::trusting([key(1).verifying_key()])
}

fn head() -> Head {
    Head {
        scope: ViewScope::Namespace("acme".into()),
        revision: Revision(42),
        root: Digest::of(b"root"),
        entries: 3,
        lease_until: now() + hours(1),
        issued_at: "2026-08-12T12:00:00.123456789Z".parse().unwrap(),
    }
}

fn signed(payload_type: &str, payload: Vec<u8>) -> Vec<u8> {
    key(1).sign(payload_type, payload).to_json().into_bytes()
}

#[test]
fn a_signed_head_comes_back_as_it_went() {
    for scope in [ViewScope::All, ViewScope::Namespace("acme".into())] {
        let head = Head { scope, ..head() };
        let read = VerifiedHead::read(&signed(HEAD_PAYLOAD_TYPE, head.payload()), &ring()).unwrap();
        assert_eq!(read.head(), &head);
        assert_eq!(read.keys(), [key(1).key_id()]);
    }
}

#[test]
fn the_payload_is_canonical_json() {
    let extreme = Head { lease_until: Timestamp::MIN, issued_at: Timestamp::MAX, scope: ViewScope::All, ..head() };
    for head in [head(), extreme] {
        let value = serde_json::from_slice(&head.payload()).unwrap();
        assert_eq!(json::canonicalize(&value).unwrap(), head.payload());
    }
}

#[test]
fn who_signed_and_as_what_both_count() {
    let payload = head().payload();
    let stranger = key(2).sign(HEAD_PAYLOAD_TYPE, payload.clone()).to_json();
    let error = VerifiedHead::read(stranger.as_bytes(), &ring()).unwrap_err();
    assert!(matches!(error, HeadError::Signature(DsseError::UnknownKey(_))), "{error}");
    let mut revoking = ring();
    revoking.revoke(key(1).verifying_key(), now());
    let error = VerifiedHead::read(&signed(HEAD_PAYLOAD_TYPE, payload.clone()), &revoking).unwrap_err();
    assert!(matches!(error, HeadError::Signature(DsseError::Revoked { .. })), "{error}");
    let error = VerifiedHead::read(&signed("application/vnd.in-toto+json", payload), &ring()).unwrap_err();
    assert!(matches!(error, HeadError::PayloadType(_)), "{error}");
}

#[test]
fn each_changed_byte_is_found() {
    let honest = key(1).sign(HEAD_PAYLOAD_TYPE, head().payload());
    for at in 0..honest.payload.len() {
        let mut payload = honest.payload.clone();
        payload[at] ^= 1;
        let forged = Envelope { payload, ..honest.clone() }.to_json();
        assert!(VerifiedHead::read(forged.as_bytes(), &ring()).is_err(), "byte {at}");
    }
}

#[test]
fn a_signed_payload_that_is_no_head_is_refused() {
    let text = String::from_utf8(head().payload()).unwrap();
    let shapes = [
        text.replace("acme", "Not A Namespace"),
        text.replace("\"entries\":3,", ""),
        text.replace("\"entries\":3,", "\"entries\":3,\"exceptions\":[],"),
        text.replace("\"entries\":3,", "\"entries\":-3,"),
        text.replace("\"entries\":3,", "\"entries\":3,\"entries\":3,"),
        text.replace("\"revision\":42", "\"revision\":9007199254740992"),
        text.replace("sha256:", "sha1:"),
        text.replace("2026-08-12T12", "2026-08-12 at 12"),
        String::new(),
        "null".to_owned(),
    ];
    for shape in shapes {
        let error = VerifiedHead::read(&signed(HEAD_PAYLOAD_TYPE, shape.clone().into_bytes()), &ring()).unwrap_err();
        assert!(matches!(error, HeadError::Shape(_) | HeadError::Json(_)), "{shape}: {error}");
    }
}

#[test]
fn more_bytes_than_a_head_has_are_not_looked_at() {
    let error = VerifiedHead::read(&vec![b' '; HEAD_LIMIT + 1], &ring()).unwrap_err();
    assert!(matches!(error, HeadError::Size(_)));
    assert!(matches!(VerifiedHead::read(b"{}", &ring()), Err(HeadError::Envelope(_))));
}

#[test]
fn scopes_are_everything_or_one_namespace() {
    assert_eq!("*".parse(), Ok(ViewScope::All));
    assert!(ViewScope::All.holds("acme"));
    let one: ViewScope = "acme".parse().unwrap();
    assert!(one.holds("acme") && !one.holds("acme2"));
    for text in ["", "**", "a/b", "a b", "ACME!"] {
        assert!(text.parse::<ViewScope>().is_err(), "{text}");
    }
}
