//! The canonical form of RFC 8785 and its digest.

use serde_json::{Number, Value};

use super::number;
use crate::Digest;

/// Why a value has no canonical form.
#[derive(Debug, thiserror::Error)]
pub enum CanonError {
    /// RFC 8785 prints numbers as doubles; this integer would become another one, and two documents one digest.
    #[error("the integer {number} at `{pointer}` would lose digits in RFC 8785; write it as a string")]
    IntegerNotExact {
        /// The place, as JSON pointer.
        pointer: String,
        /// The number.
        number: Number,
    },
    /// The value cannot be written as JSON.
    #[error("no canonical form")]
    Write(#[source] serde_json::Error),
}

/// The canonical bytes of `value` by RFC 8785: keys sorted by UTF-16 code units, numbers as ECMAScript prints them, no
/// white space.
///
/// # Errors
/// When an integer cannot be held by a double: silently rounding it would give two documents one digest.
pub fn canonicalize(value: &Value) -> Result<Vec<u8>, CanonError> {
    if let Some((pointer, number)) = inexact(value) {
        return Err(CanonError::IntegerNotExact { pointer, number: number.clone() });
    }
    serde_json_canonicalizer::to_vec(value).map_err(CanonError::Write)
}

/// SHA-256 of the canonical bytes of `value`.
///
/// # Errors
/// As [`canonicalize`].
pub fn digest(value: &Value) -> Result<Digest, CanonError> {
    canonicalize(value).map(|bytes| Digest::of(&bytes))
}

/// The first number that would change, with its pointer (RFC 6901).
fn inexact(value: &Value) -> Option<(String, &Number)> {
    match value {
        Value::Number(n) if !number::keeps_digits(n) => Some((String::new(), n)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| inexact(item).map(|(rest, n)| (format!("/{at}{rest}"), n)))
        }
        Value::Object(members) => members.iter().find_map(|(key, item)| {
            inexact(item).map(|(rest, n)| (format!("/{}{rest}", key.replace('~', "~0").replace('/', "~1")), n))
        }),
        _ => None,
    }
}
