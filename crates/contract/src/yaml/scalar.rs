//! Plain scalars by the YAML 1.2 core schema, as far as JSON can carry them.

use serde_json::Number;

use super::node::Value;

/// A plain scalar that means a number which JSON cannot carry.
pub(super) struct OutOfRange;

/// What an unquoted scalar means.
pub(super) fn resolve(text: &str) -> Result<Value, OutOfRange> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_integer(text) => integer(text)?,
        _ if is_special(text) => return Err(OutOfRange),
        _ if is_float(text) => float(text)?,
        _ => Value::Text(text.to_owned()),
    })
}

fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let radix = |prefix, ok: fn(u8) -> bool| {
        text.strip_prefix(prefix).is_some_and(|rest: &str| !rest.is_empty() && rest.bytes().all(ok))
    };
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        || radix("0x", |b| b.is_ascii_hexdigit())
        || radix("0o", |b| matches!(b, b'0'..=b'7'))
}

fn integer(text: &str) -> Result<Value, OutOfRange> {
    let parsed = if let Some(hex) = text.strip_prefix("0x") {
        i128::from_str_radix(hex, 16)
    } else if let Some(octal) = text.strip_prefix("0o") {
        i128::from_str_radix(octal, 8)
    } else {
        text.parse()
    };
    let number = parsed.ok().and_then(Number::from_i128).ok_or(OutOfRange)?;
    Ok(Value::Number(number))
}

/// `.inf` and `.nan`, which JSON does not have.
fn is_special(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN")
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn is_float(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((m, e)) => (m, Some(e.strip_prefix(['+', '-']).unwrap_or(e))),
        None => (rest, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_ok && exponent.is_none_or(|e| !e.is_empty() && digits(e))
}

fn float(text: &str) -> Result<Value, OutOfRange> {
    let parsed = text.parse::<f64>().ok().and_then(Number::from_f64);
    parsed.map(Value::Number).ok_or(OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Option<serde_json::Value> {
        let value = resolve(text).ok()?;
        Some(crate::yaml::Node { at: crate::problem::Position::default(), value }.to_json())
    }

    #[test]
    fn a_semantic_version_stays_text_and_a_float_does_not() {
        assert_eq!(json("3.4.0"), Some("3.4.0".into()));
        assert_eq!(json("1.0"), Some(1.0.into()));
        assert_eq!(json("2026-07-28"), Some("2026-07-28".into()));
        assert_eq!(json("4xx"), Some("4xx".into()));
        assert_eq!(json("-"), Some("-".into()));
        assert_eq!(json("."), Some(".".into()));
        assert_eq!(json("1e3"), Some(1000.0.into()));
        assert_eq!(json("0x10"), Some(16.into()));
        assert_eq!(json("no"), Some("no".into()));
    }

    #[test]
    fn numbers_that_json_cannot_carry_are_refused() {
        for text in [".inf", "-.INF", ".nan", "99999999999999999999", "1e999"] {
            assert_eq!(json(text), None, "{text}");
        }
    }
}
