//! The bundle that ships with the product loads, is pinned, and its examples agree with its schemas.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ostiary_contract::{Bundle, CaseKind, CaseSet, Environment, Files, file::authorization::ExpectedAccess};
use proptest::prelude::*;

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

fn files() -> Files {
    let mut files = Files::new();
    read(&bundles().join("planning-agent"), "", &mut files);
    files
}

fn bundle() -> Bundle {
    Bundle::load(&files()).unwrap_or_else(|problems| panic!("{problems}"))
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

#[test]
fn its_manifest_names_every_capability_and_says_what_is_unknown() {
    let bundle = bundle();
    let manifest = ostiary_contract::manifest(&bundle, None, None);
    let ids: Vec<&str> = manifest["capabilities"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|c| c["capability_id"].as_str())
        .collect();
    let tools = ["tool:plan-store/work_plan_create_draft", "tool:plan-store/work_plan_lookup"];
    assert_eq!(ids, ["skill:work-planning", tools[0], tools[1]]);
    let skill = &manifest["capabilities"][0];
    for key in [
        "declaration_hash",
        "target_interface",
        "protocol_version",
        "schemas",
        "authorization_conditions",
        "external_effects",
        "cases",
        "state_transitions",
        "expected_readback",
    ] {
        assert!(!skill[key].is_null() && skill[key] != "unknown", "{key}: {}", skill[key]);
    }
    assert_eq!(skill["cases"]["positive"], serde_json::json!(["create-draft-plan"]));
    assert_eq!(manifest["consumer_expectations"][0]["path"], "pacts/task-router.json");
    assert_eq!(
        (&manifest["verification_environment"], &manifest["result_locator"]),
        (&"unknown".into(), &"unknown".into())
    );
    assert_eq!(manifest["mechanical_invariants"].as_array().map(Vec::len), Some(5));
    assert_eq!(manifest["quality_evaluation"], "unknown");
    let name = "planning-agent.environment.yaml";
    let bytes = fs::read(bundles().join(name)).expect("the environment");
    let environment = Environment::parse(name, &bytes).expect("valid");
    let of_run = ostiary_contract::manifest(&bundle, Some(&environment), Some("report.json"));
    assert_eq!(of_run["verification_environment"]["name"], "local");
    assert_eq!(of_run["result_locator"], "report.json");
}

#[test]
fn its_matrix_says_all_five_answers_to_an_access() {
    let policy = bundle().authorization.expect("a policy");
    let expected: Vec<ExpectedAccess> = policy.matrix.iter().map(|row| row.expected).collect();
    let all = [
        ExpectedAccess::Allow,
        ExpectedAccess::NotFoundPolicy,
        ExpectedAccess::ReAuthenticate,
        ExpectedAccess::ApprovalRequired,
        ExpectedAccess::Deny,
    ];
    assert_eq!(expected, all);
}

proptest! {
    /// Damage of one file never panics, and where the bundle still loads its digest tells the damage.
    #[test]
    fn a_damaged_file_is_refused_or_renames_the_bundle(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let whole = files();
        let path = file.get(&whole.keys().cloned().collect::<Vec<_>>()).clone();
        let mut bytes = whole[&path].to_vec();
        let n = at.index(bytes.len());
        if cut {
            bytes.truncate(n);
        } else {
            bytes[n] = byte;
        }
        let same = bytes == whole[&path];
        let mut damaged = whole.clone();
        damaged.insert(path.clone(), Bytes::from(bytes));
        match Bundle::load(&damaged) {
            Ok(bundle) => prop_assert_eq!(bundle.digest == Bundle::digest_of(&whole), same),
            Err(problems) => prop_assert!(!problems.0.is_empty() && !same),
        }
    }
}
