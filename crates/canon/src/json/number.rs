//! Numbers: read without ever turning an integer into another one.
//!
//! The rule: an integer is accepted when RFC 8785 prints it with the very digits it was written with. All up to 2^53
//! are; beyond, only those that the shortest spelling of a double happens to be. So no two integers share a digest, and
//! what is canonical can always be read again.

use serde_json::Number;

use super::{Integers, JsonErrorKind};

/// Longest number text repeated in a message.
const SHOWN: usize = 40;

/// Up to here every integer is a double.
const ALL_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// The value of a number that the grammar already accepted; `integer` = neither fraction nor exponent.
pub(super) fn value(text: &str, integer: bool, accepted: Integers) -> Result<Number, JsonErrorKind> {
    if integer { whole(text, accepted) } else { nearest_double(text) }
}

/// Whether RFC 8785 prints `number` with its own digits.
pub(super) fn keeps_digits(number: &Number) -> bool {
    if number.is_f64() {
        return true;
    }
    let small = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)).is_some_and(|n| n <= ALL_EXACT);
    small || printed(number).is_some_and(|text| text == number.to_string())
}

fn whole(text: &str, accepted: Integers) -> Result<Number, JsonErrorKind> {
    if text == "-0" {
        // As a double it would be "-0.0" in ordinary output, yet RFC 8785 prints both as 0.
        return Ok(Number::from(0_u8));
    }
    let narrow = text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
    match narrow {
        Ok(number) if accepted == Integers::Wide || keeps_digits(&number) => Ok(number),
        Ok(_) => Err(JsonErrorKind::IntegerNotExact { text: shortened(text) }),
        // Wider than 64 bits: only a double is left to hold it.
        Err(_) => {
            let number = nearest_double(text)?;
            let same = printed(&number).is_some_and(|printed| printed == text);
            if same { Ok(number) } else { Err(JsonErrorKind::IntegerNotExact { text: shortened(text) }) }
        }
    }
}

fn nearest_double(text: &str) -> Result<Number, JsonErrorKind> {
    // The standard library rounds correctly, which is what makes the canonical form a fixed point.
    let double: f64 = text.parse().unwrap_or(f64::INFINITY);
    Number::from_f64(double).ok_or_else(|| JsonErrorKind::NumberOutOfRange { text: shortened(text) })
}

/// The number as RFC 8785 prints it.
fn printed(number: &Number) -> Option<String> {
    serde_json_canonicalizer::to_string(&number.as_f64()?).ok()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_kept_or_refused_but_never_changed() {
        for (text, double, wide) in [
            ("0", true, true),
            ("-0", true, true),
            ("9007199254740991", true, true),
            ("9007199254740992", true, true),
            ("9007199254740993", false, true),
            ("-9007199254740993", false, true),
            ("9007199254740994", true, true),
            // a double holds 2^63, but prints it as 9223372036854776000
            ("9223372036854775808", false, true),
            ("9223372036854776000", true, true),
            ("-9223372036854775808", false, true),
            ("18446744073709551615", false, true),
            ("18446744073709552000", true, true),
            ("295147905179352830000", true, true),
            ("295147905179352825856", false, false),
            ("1000000000000000000000", false, false),
        ] {
            assert_eq!(value(text, true, Integers::Double).is_ok(), double, "{text} as double");
            let read = value(text, true, Integers::Wide);
            assert_eq!(read.is_ok(), wide, "{text} wide");
        }
    }

    #[test]
    fn what_overflows_a_double_is_out_of_range() {
        let long = "9".repeat(400);
        for (text, integer) in [("1e309", false), ("-1e309", false), (&*long, true)] {
            let refused = value(text, integer, Integers::Wide);
            assert!(matches!(refused, Err(JsonErrorKind::NumberOutOfRange { .. })), "{text}: {refused:?}");
        }
        assert_eq!(value("1e-400", false, Integers::Double).ok().and_then(|n| n.as_f64()), Some(0.0));
    }
}
