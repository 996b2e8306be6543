//! JSON as Python's `json.dumps(…, sort_keys=True, separators=(",", ":"))` prints it, which the Python SDK signed before
//! it followed RFC 8785: keys in code point order, everything but ASCII escaped, numbers as Python shows them.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Beyond these powers of ten Python prints floats with an exponent.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..16;

/// The bytes of `value`.
pub(super) fn print(value: &Value) -> Vec<u8> {
    let mut out = String::new();
    write(value, &mut out);
    out.into_bytes()
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&printed(number)),
        Value::String(text) => quote(text, out),
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                separate(n, out);
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            // Rust compares text by UTF-8 bytes, which is the order of code points.
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (n, (name, item)) in members.into_iter().enumerate() {
                separate(n, out);
                quote(name, out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

fn separate(n: usize, out: &mut String) {
    if n > 0 {
        out.push(',');
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => escape(other, out),
        }
    }
    out.push('"');
}

fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _: std::fmt::Result = write!(out, "\\u{unit:04x}");
    }
}

/// A number that went through `google.protobuf.Value`: always a double, also where it is whole, as Python's `repr`
/// shows it. A card has numbers only inside `params`.
fn printed(number: &Number) -> String {
    number.as_f64().map_or_else(|| number.to_string(), repr)
}

/// Python's shortest spelling of a float.
fn repr(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !PLAIN_EXPONENTS.contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ if float.fract() == 0.0 => format!("{float:.1}"),
        _ => format!("{float}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_printed_as_python_prints_them() {
        // each as CPython 3.11 prints it
        for (number, text) in [
            (json!(1.0), "1.0"),
            (json!(-0.0), "-0.0"),
            (json!(0.0), "0.0"),
            (json!(0.1), "0.1"),
            (json!(0.0001), "0.0001"),
            (json!(0.00001), "1e-05"),
            (json!(1.5e-7), "1.5e-07"),
            (json!(1234.5), "1234.5"),
            (json!(1e15), "1000000000000000.0"),
            (json!(1.5e16), "1.5e+16"),
            (json!(1e22), "1e+22"),
            (json!(-5), "-5.0"),
        ] {
            assert_eq!(String::from_utf8(print(&number)).unwrap(), text);
        }
    }

    #[test]
    fn keys_come_by_code_point_and_text_is_ascii() {
        // U+FFFD sorts before U+1F600 by code point and after it by UTF-16 unit
        let value = json!({"\u{1F600}": 1, "\u{FFFD}": 2, "b": "\u{7f}\n\"\\"});
        let text = r#"{"b":"\u007f\n\"\\","\ufffd":2.0,"\ud83d\ude00":1.0}"#;
        assert_eq!(String::from_utf8(print(&value)).unwrap(), text);
    }
}
