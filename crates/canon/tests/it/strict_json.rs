//! Bytes that somebody else wrote: each refusal with its place and kind.

use ostiary_canon::json::{Integers, JsonErrorKind as Kind, Limits, parse_strict};
use serde_json::json;

const SMALL: Limits = Limits { bytes: 64, depth: 3, integers: Integers::Double, values: 6 };

/// What is refused, where, and why.
#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, line: u32, column: u32, kind: Kind) {
    let bytes = bytes.as_ref();
    let error = parse_strict(bytes, SMALL).expect_err(&String::from_utf8_lossy(bytes));
    assert_eq!((error.line, error.column, error.kind), (line, column, kind), "{}", String::from_utf8_lossy(bytes));
}

fn duplicate(key: &str) -> Kind {
    Kind::DuplicateKey { key: key.to_owned() }
}

fn unexpected(found: char, expected: &'static str) -> Kind {
    Kind::Unexpected { found, expected }
}

fn early(expected: &'static str) -> Kind {
    Kind::EndsEarly { expected }
}

#[test]
fn a_key_twice_is_refused_at_every_depth_and_in_every_spelling() {
    refused(r#"{"a":1,"a":1}"#, 1, 8, duplicate("a"));
    refused(r#"{"a":1,"\u0061":2}"#, 1, 8, duplicate("a"));
    refused("[{\"x\":{\n  \"é\":1, \"\\u00E9\":2}}]", 2, 10, duplicate("é"));
    refused(r#"{"\ud83d\ude00":1,"😀":2}"#, 1, 19, duplicate("😀"));
    refused(r#"{"\/":1,"/":2}"#, 1, 9, duplicate("/"));
    // one key in two objects is none twice
    assert!(parse_strict(br#"[{"a":1},{"a":{"a":1}}]"#, SMALL).is_ok());
}

#[test]
fn size_and_depth_are_bounded() {
    let exact = format!("\"{}\"", "x".repeat(62));
    assert!(parse_strict(exact.as_bytes(), SMALL).is_ok());
    refused(format!("{exact} "), 1, 1, Kind::TooLarge { bytes: 65, limit: 64 });
    assert!(parse_strict(br#"[{"a":[]}]"#, SMALL).is_ok());
    refused(r#"[{"a":[[]]}]"#, 1, 8, Kind::TooDeep { limit: 3 });
    assert!(parse_strict(b"[1,2,[],{},null]", SMALL).is_ok());
    refused("[1,2,[],{},null,3]", 1, 17, Kind::TooMany { limit: 6 });
    // The deepest document that any limit allows, and one far deeper, both end without harm.
    let deepest = Limits::DOCUMENT.with_depth(u8::MAX);
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(parse_strict(nested(255).as_bytes(), deepest).is_ok());
    assert!(parse_strict(nested(256).as_bytes(), deepest).is_err());
    assert!(parse_strict("[".repeat(1_000_000).as_bytes(), deepest).is_err());
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    refused(b"\xEF\xBB\xBF{}", 1, 1, Kind::ByteOrderMark);
    refused(b"[1,\n \"\xFF\"]", 2, 3, Kind::NotUtf8);
    refused(b"\"\xED\xA0\x80\"", 1, 2, Kind::NotUtf8);
    refused(b"\"\xC0\xAF\"", 1, 2, Kind::NotUtf8);
    refused(b"\"\xC3", 1, 2, Kind::NotUtf8);
    // UTF-16 has no place in JSON
    refused(b"\xFF\xFE{\0}\0", 1, 1, Kind::NotUtf8);
}

#[test]
fn nothing_may_follow_the_value() {
    assert!(parse_strict(b" \t\r\n{} \t\r\n", SMALL).is_ok());
    refused("{} {}", 1, 4, Kind::TrailingBytes);
    refused("1\n2", 2, 1, Kind::TrailingBytes);
    refused("null\0", 1, 5, Kind::TrailingBytes);
    refused("01", 1, 2, Kind::TrailingBytes);
}

#[test]
fn truncated_documents_say_what_was_expected() {
    refused("", 1, 1, early("a value"));
    refused("  ", 1, 3, early("a value"));
    refused("{", 1, 2, early("a key in quotes"));
    refused("{\"a", 1, 4, early("the closing quote of a string"));
    refused("{\"a\"", 1, 5, early("`:`"));
    refused("{\"a\":", 1, 6, early("a value"));
    refused("{\"a\":1", 1, 7, early("`,` or `}`"));
    refused("[1", 1, 3, early("`,` or `]`"));
    refused("[1,", 1, 4, early("a value"));
    refused("tru", 1, 4, early("`true`, `false` or `null`"));
    refused("-", 1, 2, early("a digit"));
    refused("1.", 1, 3, early("a digit"));
    refused("1e+", 1, 4, early("a digit"));
    refused("\"\\", 1, 3, early("an escape"));
}

#[test]
fn what_is_not_json_is_refused_where_it_stands() {
    refused("{a:1}", 1, 2, unexpected('a', "a key in quotes"));
    refused("{'a':1}", 1, 2, unexpected('\'', "a key in quotes"));
    refused("{\"a\":1,}", 1, 8, unexpected('}', "a key in quotes"));
    refused("[1,]", 1, 4, unexpected(']', "a value"));
    refused("[1 2]", 1, 4, unexpected('2', "`,` or `]`"));
    refused("{\"a\" 1}", 1, 6, unexpected('1', "`:`"));
    refused("\n\n <html>", 3, 2, unexpected('<', "a value"));
    refused("[NaN]", 1, 2, unexpected('N', "a value"));
    refused("[.5]", 1, 2, unexpected('.', "a value"));
    refused("[+1]", 1, 2, unexpected('+', "a value"));
    refused("[-x]", 1, 3, unexpected('x', "a digit"));
    refused("trUe", 1, 3, unexpected('U', "`true`, `false` or `null`"));
    refused("/* */1", 1, 1, unexpected('/', "a value"));
    // a column counts characters
    refused("[\"日本\" x]", 1, 7, unexpected('x', "`,` or `]`"));
}

#[test]
fn strings_are_what_they_say() {
    let read = parse_strict(br#""\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00""#, SMALL).unwrap();
    assert_eq!(read, json!("\"\\/\u{8}\u{c}\n\r\t\0é😀"));
    refused("\"a\tb\"", 1, 3, Kind::ControlCharacter { code: 9 });
    refused("\"a\nb\"", 1, 3, Kind::ControlCharacter { code: 10 });
    refused(r#""\x41""#, 1, 2, Kind::BadEscape);
    refused(r#""\u12""#, 1, 2, Kind::BadEscape);
    refused(r#""\u12G4""#, 1, 2, Kind::BadEscape);
    refused(r#""\u+123""#, 1, 2, Kind::BadEscape);
    refused(r#""\ud800""#, 1, 2, Kind::LoneSurrogate);
    refused(r#""\udc00\ud800""#, 1, 2, Kind::LoneSurrogate);
    refused(r#""\ud800\u0041""#, 1, 2, Kind::LoneSurrogate);
    refused(r#""\ud800x""#, 1, 2, Kind::LoneSurrogate);
    refused("\"\\u00é\"", 1, 2, Kind::BadEscape);
}

#[test]
fn an_integer_is_refused_rather_than_changed() {
    let lost = |text: &str| Kind::IntegerNotExact { text: text.to_owned() };
    refused("{\"id\":\n 9007199254740993}", 2, 2, lost("9007199254740993"));
    refused("[-9223372036854775808]", 1, 2, lost("-9223372036854775808"));
    refused("1e999", 1, 1, Kind::NumberOutOfRange { text: "1e999".to_owned() });
    // Where it is only looked at, 64 bits are kept exactly, and more are still refused.
    let wide = Limits { integers: Integers::Wide, ..SMALL };
    let kept = parse_strict(b"[9007199254740993,-9223372036854775808,18446744073709551615]", wide).unwrap();
    assert_eq!(kept, json!([9_007_199_254_740_993_u64, i64::MIN, u64::MAX]));
    assert!(parse_strict(b"18446744073709551616", wide).is_err());
}

#[test]
fn messages_name_the_place_and_never_print_control_characters() {
    let error = parse_strict(b"{\"\\u001b[31m\":1,\"\\u001b[31m\":2}", SMALL).unwrap_err();
    assert_eq!(error.to_string(), "line 1, column 17: the key `\\u{1b}[31m` occurs twice in one object");
}
