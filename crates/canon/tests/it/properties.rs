//! Properties over generated documents.

use ostiary_canon::{
    dsse::{Envelope, Keyring, SigningKey},
    intoto::{Authorization, Statement, TestResult},
    json::{self, Limits},
    sigstore,
};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

/// Any value that RFC 8785 can print.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        (-(1_i64 << 53)..=1_i64 << 53).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |double| Number::from_f64(double).map(Value::Number)),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same document with every object's members in another order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Object(members) => {
            let members: Vec<_> = members.iter().map(|(key, value)| (key.clone(), reversed(value))).collect();
            Value::Object(members.into_iter().rev().collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn the_canonical_form_is_a_fixed_point(value in document()) {
        let once = json::canonicalize(&value).unwrap();
        let read = json::parse_strict(&once, Limits::DOCUMENT).unwrap();
        prop_assert_eq!(json::canonicalize(&read).unwrap(), once);
    }

    #[test]
    fn the_canonical_form_is_blind_to_order(value in document()) {
        prop_assert_eq!(json::canonicalize(&reversed(&value)).unwrap(), json::canonicalize(&value).unwrap());
    }

    #[test]
    fn what_serde_writes_is_read_back_unchanged(value in document()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let read = json::parse_strict(text.as_bytes(), Limits::DOCUMENT).unwrap();
            prop_assert_eq!(json::canonicalize(&read).unwrap(), json::canonicalize(&value).unwrap());
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        _ = json::parse_strict(&bytes, Limits::DOCUMENT);
    }

    #[test]
    fn no_text_of_json_characters_makes_the_reader_panic(text in "[\\[\\]{}:,\"\\\\u0-9a-fA-F.eE+ \\n-]{0,64}") {
        let strict = json::parse_strict(text.as_bytes(), Limits::WIRE);
        // What the strict reader takes, the lenient one takes too.
        if strict.is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn any_payload_survives_its_envelope(payload in prop::collection::vec(any::<u8>(), 0..256), kind in any::<String>()) {
        let key = SigningKey::from_seed([1; 32]);
        let envelope = Envelope::parse(key.sign(&kind, payload.clone()).to_json().as_bytes()).unwrap();
        let verified = Keyring::trusting([key.verifying_key()]).verify(&envelope).unwrap();
        prop_assert_eq!((verified.payload(), verified.payload_type()), (&payload[..], &*kind));
    }

    #[test]
    fn any_bytes_are_no_envelope(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        prop_assert!(Envelope::parse(&bytes).is_err());
        prop_assert!(sigstore::Bundle::parse(&bytes).is_err());
    }

    #[test]
    fn a_damaged_envelope_is_refused_or_says_what_was_signed(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let key = SigningKey::from_seed([1; 32]);
        let signed = key.sign("text/plain", &b"what was signed"[..]);
        let bundle = sigstore::Bundle::of(&signed).remove(0).to_json();
        for (n, text) in [signed.to_json(), bundle].into_iter().enumerate() {
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            let read = if n == 0 {
                Envelope::parse(&bytes).ok()
            } else {
                sigstore::Bundle::parse(&bytes).ok().map(|bundle| bundle.envelope().clone())
            };
            let verified = read.and_then(|read| Keyring::trusting([key.verifying_key()]).verify(&read).ok());
            if let Some(verified) = verified {
                prop_assert_eq!((verified.payload(), verified.payload_type()), (&b"what was signed"[..], "text/plain"));
            }
        }
    }

    #[test]
    fn one_changed_bit_of_an_envelope_is_never_verified(
        payload in prop::collection::vec(any::<u8>(), 1..64),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
        what in 0..3,
    ) {
        let key = SigningKey::from_seed([1; 32]);
        let mut envelope = key.sign("text/plain", payload);
        let bytes = match what {
            0 => &mut envelope.payload,
            1 => &mut envelope.signatures[0].sig,
            _ => {
                // Another type of the same length.
                envelope.payload_type = "text/plaim".to_owned();
                &mut envelope.payload
            }
        };
        let at = at.index(bytes.len());
        bytes[at] ^= if what == 2 { 0 } else { 1 << bit };
        prop_assert!(Keyring::trusting([key.verifying_key()]).verify(&envelope).is_err());
    }

    #[test]
    fn no_document_makes_the_readers_of_signed_things_panic(value in document()) {
        let bytes = value.to_string().into_bytes();
        prop_assert!(Envelope::parse(&bytes).is_err());
        prop_assert!(Statement::<Authorization>::parse(&bytes).is_err());
        prop_assert!(Statement::<TestResult>::parse(&bytes).is_err());
    }

    #[test]
    fn a_broken_document_is_refused_inside_its_own_bytes(value in document(), cut in any::<prop::sample::Index>()) {
        let text = Value::Array(vec![value]).to_string();
        let cut = cut.index(text.len());
        let error = json::parse_strict(&text.as_bytes()[..cut], Limits::DOCUMENT).unwrap_err();
        prop_assert_eq!(error.line, 1);
        prop_assert!(error.column as usize <= cut + 1);
    }
}
