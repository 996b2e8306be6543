//! Stored runs: what is read back is judged alike, and what is no run is refused with its reason.

use ostiary_verify::{
    Harness, JudgeOptions, judge,
    recording_file::{RecordingError, bundle_of, read, write},
};
use serde_json::{Value, json};

use crate::support::{OK, bundle, declared, request, run, world};

fn stored() -> (Harness, Vec<u8>) {
    let bundle = bundle(&[("coverage.yaml", "coverage_policy: {}\n")]);
    let harness = Harness::of(Vec::new(), vec![declared()]);
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    (harness, write(&run))
}

fn edited(edit: impl FnOnce(&mut Value)) -> Result<ostiary_record::Run, RecordingError> {
    let mut value: Value = serde_json::from_slice(&stored().1).unwrap();
    edit(&mut value);
    read(value.to_string().as_bytes())
}

#[test]
fn a_stored_run_carries_its_bundle_and_is_judged_alike() {
    let (harness, bytes) = stored();
    let run = read(&bytes).unwrap();
    assert_eq!(write(&run), bytes);
    let bundle = bundle_of(&run).unwrap();
    assert_eq!(bundle.digest, self::bundle(&[("coverage.yaml", "coverage_policy: {}\n")]).digest);
    let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
    let parsed: ostiary_record::Report = serde_json::from_value(serde_json::to_value(&report).unwrap()).unwrap();
    assert_eq!(parsed, report, "reports can be read back");
}

#[test]
fn what_is_no_run_is_refused_with_its_reason() {
    let (_, bytes) = stored();
    assert!(matches!(read(&bytes[..bytes.len() / 2]), Err(RecordingError::Json(_))));
    assert!(matches!(read(b"[]"), Err(RecordingError::Shape(_))));
    assert!(matches!(read("[".repeat(10_000).as_bytes()), Err(RecordingError::Json(_))));
    assert!(matches!(read(b"{\"format\": \"a\", \"format\": \"b\"}"), Err(RecordingError::Json(_))));
    assert!(
        matches!(edited(|v| v["format"] = json!("ostiary.run/2")), Err(RecordingError::Format(f)) if f == "ostiary.run/2")
    );
    let shuffled = edited(|v| v["recordings"][0]["events"].as_array_mut().unwrap().swap(0, 1));
    assert!(matches!(shuffled, Err(RecordingError::Order(0))));
    let unknown =
        edited(|v| v["not_run"] = json!([{"scenario": "x", "axes": {}, "reason": "NO_SUCH_CODE", "why": ""}]));
    assert!(matches!(unknown, Err(RecordingError::Shape(_))));
}

#[test]
fn a_repetition_that_nobody_accounts_for_is_no_run() {
    let with = |recorded: &[u32], not_run: &[u32]| {
        edited(|v| {
            let all = v["recordings"].as_array_mut().unwrap();
            let mut one = all[0].clone();
            one["scenario"] = json!("s.one");
            all.extend(recorded.iter().map(|n| {
                one["axes"]["repetition"] = json!(n);
                one.clone()
            }));
            let skipped = |n: &u32| {
                let axes = json!({"profile": null, "repetition": n, "case": null, "values": {}});
                json!({"scenario": "s.one", "axes": axes, "reason": "BUDGET_EXCEEDED", "why": "spent"})
            };
            v["not_run"] = not_run.iter().map(skipped).collect();
        })
    };
    for (recorded, not_run) in [(&[][..], &[][..]), (&[0, 1, 2], &[]), (&[0, 2], &[1]), (&[], &[0, 1])] {
        with(recorded, not_run).unwrap_or_else(|e| panic!("{recorded:?} {not_run:?}: {e}"));
    }
    for (recorded, not_run) in [(&[u32::MAX, u32::MAX][..], &[][..]), (&[1], &[]), (&[0, 2], &[]), (&[0, 3], &[1])] {
        let found = with(recorded, not_run);
        assert!(matches!(found, Err(RecordingError::Repetitions(s)) if s == "s.one"), "{recorded:?} {not_run:?}");
    }
}

#[test]
fn a_run_without_its_bundle_says_so() {
    let run = edited(|v| v["recordings"] = json!([])).unwrap();
    assert!(matches!(bundle_of(&run), Err(RecordingError::NoDiscovery)));
    let run = edited(|v| v["recordings"][0]["events"] = json!([])).unwrap();
    assert!(matches!(bundle_of(&run), Err(RecordingError::Bundle(_))));
}
