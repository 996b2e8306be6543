//! The committed OpenAPI document is the one that the routes make. `BLESS=1` writes it.

use std::{fs, path::Path};

#[test]
#[expect(clippy::disallowed_methods, reason = "how a person tells a test to write what it compares")]
fn committed_document_is_that_of_the_routes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let mut made = ostiary_server::http::document().to_pretty_json().expect("JSON");
    made.push('\n');
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &made).expect("docs/ can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "docs/openapi.json is not what the routes make; run with BLESS=1 and look at the difference"
    );
}

#[test]
fn every_operation_says_what_it_is_and_may_refuse() {
    let document = serde_json::to_value(ostiary_server::http::document()).expect("JSON");
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            let refuses = operation["responses"].get("4XX").is_some();
            assert!(refuses || !path.starts_with("/api/"), "{method} {path} never refuses");
        }
    }
}
