//! The published vectors of RFC 8785 (tests/data/rfc8785).

use std::{fs, path::Path};

use ostiary_canon::{
    Digest,
    json::{self, CanonError, Limits},
};
use serde_json::{Value, json};

fn data() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rfc8785")
}

fn canonical(text: &str) -> String {
    let value = json::parse_strict(text.as_bytes(), Limits::DOCUMENT).unwrap();
    String::from_utf8(json::canonicalize(&value).unwrap()).unwrap()
}

#[test]
fn the_reference_vectors_come_out_byte_for_byte() {
    let mut seen = 0;
    for entry in fs::read_dir(data().join("input")).unwrap() {
        let input = entry.unwrap().path();
        let output = data().join("output").join(input.file_name().unwrap());
        let expected = fs::read_to_string(output).unwrap();
        assert_eq!(canonical(&fs::read_to_string(&input).unwrap()), expected, "{}", input.display());
        seen += 1;
    }
    assert_eq!(seen, 8, "all vectors were read");
}

#[test]
fn the_number_table_of_appendix_b_holds_in_both_directions() {
    let table = fs::read_to_string(data().join("numbers.tsv")).unwrap();
    assert_eq!(table.lines().count(), 24);
    for line in table.lines() {
        let (bits, expected) = line.split_once('\t').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        assert_eq!(json::canonicalize(&json!(double)).unwrap(), expected.as_bytes(), "{bits}");
        let read = json::parse_strict(expected.as_bytes(), Limits::DOCUMENT).unwrap();
        // Zero has two bit patterns and one text.
        assert_eq!(read.as_f64().unwrap(), double, "{expected}");
    }
}

#[test]
fn keys_are_sorted_by_utf16_code_units_not_by_code_points() {
    // U+10000 is D800 DC00 in UTF-16 and so comes before U+E000, after it in UTF-8.
    assert_eq!(canonical("{\"\u{E000}\":1,\"\u{10000}\":2}"), "{\"\u{10000}\":2,\"\u{E000}\":1}");
    assert_eq!(canonical(r#"{"b":1,"\u0061":2,"":3,"aa":4}"#), r#"{"":3,"a":2,"aa":4,"b":1}"#);
    // escapes sort by what they mean
    assert_eq!(canonical(r#"{"\\":1,"Z":2,"\n":3}"#), r#"{"\n":3,"Z":2,"\\":1}"#);
}

#[test]
fn equal_documents_in_other_spellings_have_one_digest() {
    let digest = |text: &str| json::digest(&json::parse_strict(text.as_bytes(), Limits::DOCUMENT).unwrap()).unwrap();
    let base = digest(r#"{"a":1,"b":[10,"\u00e9/"]}"#);
    assert_eq!(base, Digest::of("{\"a\":1,\"b\":[10,\"é/\"]}".as_bytes()));
    for same in [" { \"b\" : [ 1e1 , \"é\\/\" ] ,\r\n\t\"a\" : 1.0 } ", r#"{"b":[10.0,"é/"],"\u0061":100e-2}"#] {
        assert_eq!(digest(same), base, "{same}");
    }
    for other in [r#"{"a":1,"b":["é/",10]}"#, r#"{"a":"1","b":[10,"é/"]}"#, "{\"a\":1,\"b\":[10,\"e\u{301}/\"]}"] {
        assert_ne!(digest(other), base, "{other}");
    }
}

#[test]
fn an_integer_that_a_double_cannot_print_has_no_canonical_form() {
    let wide = json::parse_strict(br#"{"a":[{"x/y":9007199254740993}]}"#, Limits::WIRE).unwrap();
    match json::canonicalize(&wide) {
        Err(CanonError::IntegerNotExact { pointer, number }) => {
            assert_eq!((&*pointer, number.to_string()), ("/a/0/x~1y", "9007199254740993".to_owned()));
        }
        other => panic!("{other:?}"),
    }
    for fits in [json!(9_007_199_254_740_992_u64), json!(-9_007_199_254_740_992_i64), json!(1.5e300)] {
        assert!(json::digest(&fits).is_ok(), "{fits}");
    }
    for lost in [json!(u64::MAX), json!(i64::MIN), json!(i64::MAX)] {
        assert!(json::digest(&lost).is_err(), "{lost}");
    }
}

#[test]
fn the_order_of_members_in_memory_does_not_matter() {
    let one: Value = serde_json::from_str(r#"{"z":{"b":1,"a":2},"y":3}"#).unwrap();
    let two: Value = serde_json::from_str(r#"{"y":3,"z":{"a":2,"b":1}}"#).unwrap();
    assert_ne!(one.to_string(), two.to_string(), "maps keep the order they were read in, so the test can fail");
    assert_eq!(json::canonicalize(&one).unwrap(), json::canonicalize(&two).unwrap());
}
