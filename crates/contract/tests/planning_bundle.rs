//! The bundle that ships with the product loads, is pinned, and its examples agree with its schemas.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ostiary_contract::{Bundle, CaseKind, CaseSet, Environment, Files};

fn bundles() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bundles")
}

fn read(directory: &Path, inside: &str, out: &mut Files) {
    for entry in fs::read_dir(directory).expect("the bundle is there") {
        let entry = entry.expect("readable");
        let name = entry.file_name().into_string().expect("UTF-8");
        let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
        if entry.file_type().expect("known").is_dir() {
            read(&entry.path(), &path, out);
        } else {
            out.insert(path, Bytes::from(fs::read(entry.path()).expect("readable")));
        }
    }
}

fn bundle() -> Bundle {
    let mut files = Files::new();
    read(&bundles().join("planning-agent"), "", &mut files);
    Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_shipped_bundle_loads_complete_and_pinned() {
    let bundle = bundle();
    assert_eq!(bundle.pins(), []);
    assert!(bundle.card.is_some() && bundle.machine.is_some() && bundle.authorization.is_some());
    assert_eq!(bundle.tools.iter().map(|s| s.tools.len()).sum::<usize>(), 2);
    assert_eq!(bundle.coverage.activate[0].to_string(), "a2a-jsonrpc-1.0/user/standard");
    for set in [CaseSet::Positive, CaseSet::Negative, CaseSet::Regression] {
        assert!(bundle.cases.iter().any(|c| c.set == set), "{set:?}");
    }
    assert!(bundle.cases.iter().any(|c| matches!(c.kind, CaseKind::Judge(_))));
    assert!(bundle.cases.iter().any(|c| matches!(c.kind, CaseKind::Live(_))));
}

#[test]
fn its_fixtures_satisfy_its_schemas_and_a_wrong_one_does_not() {
    let bundle = bundle();
    for (fixture, schema) in [("work-request-valid.json", "work-request"), ("work-plan-draft.json", "work-plan")] {
        let (_, schema) = bundle.schema(&format!("{schema}.schema.json")).expect("the schema");
        let validator = bundle.validator(schema).expect("compiles across files");
        let (_, value) = bundle.fixture(fixture).expect("the fixture");
        assert!(validator.is_valid(value), "{fixture}");
        let mut wrong = value.clone();
        wrong["items"][0]["title"] = 7.into();
        assert!(!validator.is_valid(&wrong), "{fixture} with a number as title");
    }
}

#[test]
fn its_environment_is_read() {
    let name = "planning-agent.environment.yaml";
    let bytes = fs::read(bundles().join(name)).expect("the environment");
    let environment = Environment::parse(name, &bytes).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(environment.facts().subjects.len(), 4);
    assert_eq!(environment.facts().cleared_effects, ["read", "write"]);
}
