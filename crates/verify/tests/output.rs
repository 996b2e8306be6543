//! A report in every format: the same verdict in each, and nothing that a hostile agent says breaks any of them.

use ostiary_record::{
    Counts, Coverage, DigestSource, EventRef, Finding, FindingLine, Layer, Missing, NonEmpty, Outcome, Place,
    ReasonCode, Report, Seq, Severity, Target, Verdict,
    verdict::{DeclarationPointer, Strength},
};
use ostiary_verify::output::{Documents, Subject, junit, junit_broken, markdown, markdown_broken, sarif, sarif_broken};
use serde_json::{Value, json};

const NASTY: &str = "</failure>]]>\u{0}\u{1b}[31m `|` @everyone ![x](http://e.test/i) <script>\r\n\"'&";

fn at() -> NonEmpty<EventRef> {
    NonEmpty::one(EventRef { recording: 0, seq: Seq(1) })
}

fn fail(observed: &str) -> Verdict {
    let (expected, observed) = ("JSON".to_owned(), observed.to_owned());
    Verdict::Fail { reason: ReasonCode::ContentModeMismatch, at: at(), expected, observed, strength: Strength::Proven }
}

fn unknown() -> Verdict {
    let missing = Missing { what: "observer:sql".to_owned(), remedy: "add one".to_owned() };
    Verdict::Inconclusive { reason: ReasonCode::ObserverMissing, missing: NonEmpty::one(missing) }
}

fn void() -> Verdict {
    let because = DeclarationPointer { document: "agent-card.json".to_owned(), pointer: "/x".to_owned() };
    Verdict::NotApplicable { reason: ReasonCode::NotDeclared, because }
}

fn finding(check: &str, layer: Layer, verdict: Verdict) -> Finding {
    let message = match &verdict {
        Verdict::Fail { expected, observed, .. } => format!("expected {expected}; observed {observed}"),
        _ => "one sentence".to_owned(),
    };
    Finding {
        check: check.into(),
        check_version: 1,
        layer,
        profile: Some("a2a-jsonrpc-1.0/user/standard".parse().expect("a profile")),
        case: None,
        verdict,
        severity: Severity::Error,
        detail: None,
        message,
        place: Place::default(),
        protocol_accepted: None,
        business_outcome: None,
        covers: vec!["S-01".into()],
        consumers_affected: Vec::new(),
    }
}

/// A report over these findings, aggregated as the judge does.
fn report(asked: &[Layer], findings: Vec<Finding>) -> Report {
    let outcome = |layer: &Layer| {
        let of = findings.iter().filter(|f| f.layer == *layer && f.severity == Severity::Error);
        Outcome::aggregate(of.map(|f| f.verdict.outcome()))
    };
    let layers = Layer::ALL.map(|layer| (layer, asked.contains(&layer).then(|| outcome(&layer))));
    let line =
        |finding: Finding| FindingLine { gate: finding.layer.blocks(), reason_code: finding.verdict.reason(), finding };
    Report {
        verdict: Outcome::aggregate(asked.iter().map(outcome)),
        verified_at: "2026-11-30T12:52:56.885302494Z".to_owned(),
        harness_version: "0".to_owned(),
        bundle_digest: None,
        producer_digest: None,
        producer_digest_source: DigestSource::Declared,
        target: Target::default(),
        card_digest: None,
        layers: layers.into(),
        profiles_passed: Vec::new(),
        profiles_failed: Vec::new(),
        counts: Counts::default(),
        evaluation_eligible: false,
        findings: findings.into_iter().map(line).collect(),
        reused: Vec::new(),
        statement: "Verified: nothing | of note. Not verified: the rest.".to_owned(),
        coverage: Coverage::default(),
    }
}

fn xml_of(report: &Report) -> String {
    junit(&[Subject { name: "demo", documents: &Documents::default(), report }], &[])
}

fn sarif_of(report: &Report) -> Value {
    let documents = Documents::at_home("b/contract.yaml").with("agent-card.json", "b/my card.json");
    sarif(&[Subject { name: "demo", documents: &documents, report }], &[])
}

fn markdown_of(report: &Report) -> String {
    markdown(&[Subject { name: "demo", documents: &Documents::default(), report }], &[])
}

fn number(xml: &str, attribute: &str) -> u32 {
    let after = xml.split_once(&format!("{attribute}=\"")).and_then(|(_, rest)| rest.split_once('"'));
    after.and_then(|(number, _)| number.parse().ok()).expect("a number")
}

#[test]
fn junit_fails_with_fail_and_errs_with_inconclusive_and_else_is_green() {
    let schema = [Layer::Schema];
    let one = |verdict| vec![finding("a", Layer::Schema, verdict)];
    let pass = Verdict::Pass { seen: at() };
    let warned = || {
        let warning = finding("w", Layer::Schema, fail("x")).as_severity(Severity::Warning);
        vec![finding("a", Layer::Schema, Verdict::Pass { seen: at() }), warning]
    };
    let foreign = vec![finding("a", Layer::Protocol, unknown()), finding("b", Layer::Schema, pass.clone())];
    for (what, findings, expected) in [
        ("PASS", one(pass), (1, 0, 0, 0)),
        ("FAIL", one(fail("x")), (1, 1, 0, 0)),
        ("INCONCLUSIVE", one(unknown()), (1, 0, 1, 0)),
        ("all void: could not tell", one(void()), (2, 0, 1, 1)),
        ("nothing at all", vec![], (1, 0, 1, 0)),
        ("a warning", warned(), (2, 0, 0, 0)),
        ("a layer nobody asked for", foreign, (2, 0, 0, 0)),
    ] {
        let report = report(&schema, findings);
        let xml = xml_of(&report);
        let counted = ["tests", "failures", "errors", "skipped"].map(|name| number(&xml, name));
        assert_eq!(counted, <[u32; 4]>::from(expected), "{what}: {xml}");
        let verdict = match (counted[1], counted[2]) {
            (0, 0) => Outcome::Pass,
            (0, _) => Outcome::Inconclusive,
            _ => Outcome::Fail,
        };
        assert_eq!(verdict, report.verdict, "{what}");
        assert_eq!(xml.matches("<failure").count(), counted[1] as usize, "{what}");
        assert_eq!(xml.matches("<error").count(), counted[2] as usize, "{what}");
    }
}

#[test]
fn one_case_a_check_profile_and_case_however_often_it_was_found() {
    let mut other = finding("a", Layer::Schema, fail("z"));
    other.case = Some("standard/refusal".into());
    let findings = vec![finding("a", Layer::Schema, fail("x")), finding("a", Layer::Schema, fail("y")), other];
    let xml = xml_of(&report(&[Layer::Schema], findings));
    assert_eq!(number(&xml, "tests"), 2, "{xml}");
    assert!(xml.contains("(and 1 more)"), "{xml}");
    assert!(xml.contains("name=\"a [a2a-jsonrpc-1.0/user/standard] standard/refusal\""), "{xml}");
    assert!(xml.contains("type=\"CONTENT_MODE_MISMATCH\""), "{xml}");
}

#[test]
fn no_format_is_broken_by_what_an_agent_says() {
    let report = report(&[Layer::Schema], vec![finding("a", Layer::Schema, fail(NASTY))]);
    let xml = xml_of(&report);
    assert!(!xml.contains("</failure>]]>") && !xml.contains('\u{0}') && !xml.contains('\u{1b}'), "{xml}");
    assert_eq!(xml.matches("</failure>").count(), 1);
    let log = sarif_of(&report);
    assert_eq!(serde_json::from_str::<Value>(&log.to_string()).unwrap(), log);
    let page = markdown_of(&report);
    let row = page.lines().find(|line| line.contains("CONTENT_MODE_MISMATCH")).unwrap();
    let unescaped = row.replace("\\|", "");
    assert_eq!(unescaped.matches('|').count(), 5, "four cells: {row}");
    assert!(row.contains("observed ``</failure>") && !row.contains('\u{1b}'), "in a code span: {row}");
}

#[test]
fn sarif_shows_what_somebody_must_look_at_with_help_and_place() {
    let mut broken = finding("a", Layer::Schema, fail("x")).at_pointer("agent-card.json", "/skills/0");
    broken.place.line = Some(7);
    let elsewhere = finding("b", Layer::Schema, fail("x"));
    let warning = finding("c", Layer::Schema, fail("x")).as_severity(Severity::Warning);
    let note = finding("d", Layer::Schema, fail("x")).as_severity(Severity::Note);
    let pass = finding("e", Layer::Schema, Verdict::Pass { seen: at() });
    let findings = vec![
        broken,
        elsewhere,
        finding("f", Layer::Schema, unknown()),
        warning,
        note,
        pass,
        finding("g", Layer::Schema, void()),
    ];
    let log = sarif_of(&report(&[Layer::Schema], findings));
    let run = &log["runs"][0];
    let levels: Vec<&str> = run["results"].as_array().unwrap().iter().filter_map(|r| r["level"].as_str()).collect();
    assert_eq!(levels, ["error", "error", "warning", "warning", "note"]);
    let rules = &run["tool"]["driver"]["rules"];
    for result in run["results"].as_array().unwrap() {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
    }
    let place = |n: usize| run["results"][n]["locations"][0].clone();
    assert_eq!(
        place(0)["physicalLocation"],
        json!({"artifactLocation": {"uri": "b/my%20card.json"}, "region": {"startLine": 7}})
    );
    assert_eq!(place(0)["logicalLocations"][0]["fullyQualifiedName"], "agent-card.json#/skills/0");
    assert_eq!(place(1), json!({"physicalLocation": {"artifactLocation": {"uri": "b/contract.yaml"}}}));
}

#[test]
fn a_fingerprint_stays_when_only_the_run_differs() {
    let print = |finding: Finding| {
        let log = sarif_of(&report(&[Layer::Schema], vec![finding]));
        log["runs"][0]["results"][0]["partialFingerprints"]["ostiary/v1"].as_str().unwrap().to_owned()
    };
    let first = print(finding("a", Layer::Schema, fail("task-1")).at_exchange(ostiary_record::ExchangeId(1)));
    assert_eq!(first, print(finding("a", Layer::Schema, fail("task-2")).at_exchange(ostiary_record::ExchangeId(9))));
    assert_ne!(first, print(finding("b", Layer::Schema, fail("task-1"))));
    assert_ne!(first, print(finding("a", Layer::Schema, fail("task-1")).with_detail("other")));
    let mut other_case = finding("a", Layer::Schema, fail("task-1"));
    other_case.case = Some("one".into());
    assert_ne!(first, print(other_case));
}

#[test]
fn markdown_has_the_layers_then_failures_then_the_rest_and_the_statement_last() {
    let twice = || finding("b", Layer::Schema, fail("x"));
    let findings = vec![finding("a", Layer::Schema, unknown()), twice(), twice(), finding("v", Layer::Schema, void())];
    let page = markdown_of(&report(&[Layer::Schema], findings));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let order = [
        "## Ostiary: FAIL for `demo`",
        "| schema | **FAIL** |",
        "| temporal | not asked for |",
        "### Failed",
        "`CONTENT_MODE_MISMATCH` ×2",
        "### Could not tell",
        "Not applicable: `v`",
        "Verified: nothing \\| of note.",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{places:?}: {page}");
}

#[test]
fn a_command_that_could_not_run_is_no_green_document() {
    let xml = junit_broken("cannot connect & \"stuff\"");
    assert_eq!((number(&xml, "tests"), number(&xml, "errors")), (1, 1), "{xml}");
    assert!(xml.contains("cannot connect &amp; \"stuff\""), "{xml}");
    let log = sarif_broken("no");
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(markdown_broken("no `way`").contains("could not run"));
}
