//! The committed JSON Schemas are those of the types, and they agree with the decoders on real files.

use std::{fs, path::PathBuf};

use ostiary_contract::{schema, yaml};
use serde_json::Value;

fn root(inside: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(inside)
}

#[expect(clippy::disallowed_methods, reason = "a switch of the developer's, for tests only")]
fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

fn schema_of(name: &str) -> Value {
    schema::all().into_iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no schema {name}")).1
}

#[test]
fn committed_schemas_are_generated_from_the_types() {
    let directory = root("schemas");
    let bless = bless();
    let mut stale = Vec::new();
    for (name, value) in schema::all() {
        let path = directory.join(name);
        let text = format!("{}\n", serde_json::to_string_pretty(&value).expect("a schema is JSON"));
        if bless {
            fs::create_dir_all(&directory).expect("made");
            fs::write(&path, &text).expect("written");
        } else if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "not as generated, run again with BLESS=1: {stale:?}");
    let known: Vec<&str> = schema::all().into_iter().map(|(name, _)| name).collect();
    for entry in fs::read_dir(&directory).expect("the directory is committed") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        assert!(known.contains(&name.as_str()), "{name} belongs to no file kind");
    }
}

/// Each file of the shipped bundle with the schema of its kind.
const FILES: &[(&str, &str)] = &[
    ("bundles/planning-agent/contract.yaml", "contract"),
    ("bundles/planning-agent/a2a-task-machine.yaml", "task-machine"),
    ("bundles/planning-agent/behavior-invariants.yaml", "behavior-invariants"),
    ("bundles/planning-agent/reason-codes.yaml", "reason-codes"),
    ("bundles/planning-agent/skills.yaml", "skills"),
    ("bundles/planning-agent/errors.yaml", "errors"),
    ("bundles/planning-agent/operations.yaml", "operations"),
    ("bundles/planning-agent/authorization.yaml", "authorization"),
    ("bundles/planning-agent/temporal.yaml", "temporal"),
    ("bundles/planning-agent/coverage.yaml", "coverage"),
    ("bundles/planning-agent/drift.yaml", "drift"),
    ("bundles/planning-agent/cases/negative/cross-tenant.yaml", "case"),
    ("bundles/planning-agent/cases/negative/standard.yaml", "case"),
    ("bundles/planning-agent/cases/regression/reopened-after-completion.yaml", "case"),
    ("bundles/planning-agent.environment.yaml", "environment"),
    ("crates/contract/tests/examples/contract.yaml", "contract"),
    ("crates/contract/tests/examples/skills.yaml", "skills"),
    ("crates/contract/tests/examples/errors.yaml", "errors"),
    ("crates/contract/tests/examples/drift.yaml", "drift"),
    ("crates/contract/tests/examples/coverage.yaml", "coverage"),
    ("crates/contract/tests/examples/evidence.json", "evidence"),
    ("crates/contract/tests/examples/case-output-mismatch.yaml", "case"),
    ("crates/contract/tests/examples/case-readonly-claim.yaml", "case"),
    ("crates/contract/tests/examples/case-required-extension.yaml", "case"),
];

#[test]
fn real_files_satisfy_their_schema_and_an_unknown_key_does_not() {
    for (file, kind) in FILES {
        let bytes = fs::read(root(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let value = yaml::read(file, &bytes, yaml::Limits::default()).expect("YAML").to_json();
        let schema = schema_of(&format!("{kind}.schema.json"));
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert_eq!(errors, [""; 0], "{file}");
        let mut wrong = value;
        wrong["no_such_key"] = 1.into();
        assert!(!validator.is_valid(&wrong), "{file} with an unknown key");
    }
}
