//! Rules over all scenarios and checks at once: what a forgotten step of "add a check" would break.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{collections::BTreeSet, fs, path::Path};

use ostiary_record::{Outcome, ReasonCode};
use ostiary_verify::{Control, Harness, Isolation, Reads, catalogue_page, judge::ENGINE_REASONS};

/// The text of all Rust files under a directory.
fn sources(dir: &Path, out: &mut String) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

fn own_sources() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    sources(&root.join("src"), &mut text);
    sources(&root.join("tests"), &mut text);
    text
}

#[test]
fn names_are_unique() {
    let harness = Harness::standard();
    // a check may share the name of the scenario that it alone reads
    for mut ids in [
        harness.checks().map(|c| c.spec().id).collect::<Vec<_>>(),
        harness.scenarios().map(|s| s.spec().id).collect::<Vec<_>>(),
    ] {
        ids.sort_unstable();
        assert!(ids.len() > 8);
        assert!(ids.windows(2).all(|w| w[0] != w[1]), "one of {ids:?} is there twice");
    }
}

#[test]
fn every_check_names_promises_reasons_a_liar_and_a_gate_of_its_layer() {
    let text = own_sources();
    for check in Harness::standard().checks() {
        let spec = check.spec();
        let id = spec.id;
        assert!(!spec.covers.is_empty() && spec.covers.iter().all(|r| is_requirement(r)), "{id}: covers");
        assert!(!spec.reasons.is_empty(), "{id}: a check that can give no reason cannot fail");
        let fails = |r: &&ReasonCode| !ENGINE_REASONS.contains(r);
        assert!(spec.reasons.iter().any(|r| fails(&r)), "{id}: no reason of its own");
        for reason in spec.reasons.iter().filter(fails) {
            let layer = reason.row().layer;
            assert!(layer.is_none_or(|l| l == spec.layer), "{id}: {reason} is not of layer {}", spec.layer);
        }
        assert!(spec.gate >= spec.layer.blocks() || spec.gate == spec.layer.blocks(), "{id}: gate");
        assert!(spec.summary.ends_with('.'), "{id}: the summary is no sentence");
        let liar = format!("fn {}(", spec.liar);
        assert!(text.contains(&liar), "{id}: there is no test `{}`", spec.liar);
        assert!(spec.version > 0, "{id}: version");
    }
}

fn is_requirement(id: &str) -> bool {
    let Some((letter, number)) = id.split_once('-') else { return false };
    letter.len() == 1
        && letter.bytes().all(|b| b.is_ascii_uppercase())
        && number.len() == 2
        && number.parse::<u8>().is_ok()
}

#[test]
fn checks_read_scenarios_that_exist_and_that_their_gate_drives() {
    let harness = Harness::standard();
    for check in harness.checks() {
        let spec = check.spec();
        for id in spec.reads.scenarios() {
            let scenario = harness.scenario(id).unwrap_or_else(|| panic!("{}: no scenario `{id}`", spec.id));
            assert!(
                scenario.spec().gate <= spec.gate,
                "{}: `{id}` is driven from {} on",
                spec.id,
                scenario.spec().gate
            );
        }
        if let Reads::Each(ids) | Reads::Any(ids) = spec.reads {
            assert!(!ids.is_empty(), "{}: reads nothing", spec.id);
        }
    }
}

#[test]
fn every_scenario_is_read_and_its_controls_end() {
    let harness = Harness::standard();
    let read: BTreeSet<&str> = harness.checks().flat_map(|c| c.spec().reads.scenarios()).copied().collect();
    for scenario in harness.scenarios() {
        let spec = scenario.spec();
        assert!(read.contains(spec.id), "`{}` is driven and read by no check", spec.id);
        assert!(harness.control_depth(spec.id) <= 4, "`{}`: controls in a circle", spec.id);
        if let Control::By(id) = spec.control {
            let control = harness.scenario(id).unwrap_or_else(|| panic!("{}: no control `{id}`", spec.id)).spec();
            assert!(control.gate <= spec.gate, "{}: its control is driven later", spec.id);
            assert!(control.isolation <= spec.isolation, "{}: its control is driven after it", spec.id);
        }
        assert!(spec.repeats > 0 && spec.budget.calls > 0, "{}", spec.id);
        assert!(spec.isolation == Isolation::Shared || spec.repeats == 1, "{}: what is alone is driven once", spec.id);
    }
}

#[test]
fn reasons_of_the_engine_never_fail_a_candidate_but_for_flipping() {
    // what the engine gives by itself says something about the run, not about the agent
    for reason in ENGINE_REASONS {
        assert!(reason.row().layer.is_none() || *reason == ReasonCode::CardUnavailable, "{reason}");
    }
    assert_eq!(Outcome::aggregate([]), Outcome::Inconclusive);
}

#[expect(clippy::disallowed_methods, reason = "the developer's switch to rewrite generated files")]
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "docs/{name} is not what the code says; run with BLESS=1");
}

#[test]
fn the_page_of_reason_codes_is_what_the_code_says() {
    let page = catalogue_page::reason_codes();
    for code in ReasonCode::ALL {
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
    }
    compare("reason-codes.md", &page);
}

#[test]
fn the_page_of_negatives_is_what_the_code_says() {
    let page = catalogue_page::negatives_page();
    assert!(page.lines().filter(|line| line.starts_with("| `")).count() > 20);
    assert!(!page.contains("|  |"), "a negative that no check catches");
    compare("negatives.md", &page);
}

#[test]
fn the_page_of_checks_is_what_the_code_says() {
    let page = catalogue_page::checks_page();
    for check in Harness::standard().checks() {
        assert!(page.contains(&format!("| `{}` v", check.spec().id)), "{}", check.spec().id);
    }
    compare("checks.md", &page);
}
