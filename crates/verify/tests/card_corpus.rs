//! C-01, C-02, C-03, C-04, C-06, C-08, P-02 on a corpus: each card of `tests/corpus/cards` must give exactly what the file beside
//! it says. What is in `honest/` must not fail, each card in `liar/` must, and what is no 1.0 card gets one verdict.
//! `BLESS=1` rewrites the expectations; read the difference before committing it.
//!
//! `x.dev.json` is judged as a development environment does, `x.legacy.json` by its own version. `x.before` is the last
//! known card, `x.plain` the card for callers that send no version.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use ostiary_protocol::a2a::card::CardFormat;
use ostiary_record::{MonoNanos, Monotonic, Outcome, ReasonCode, Report, Severity};
use ostiary_verify::{CardLint, JudgeOptions, format_of};
use proptest::prelude::*;
use serde_json::Value;

struct Still;

impl Monotonic for Still {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}

fn cards(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/cards").join(kind);
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    found.sort();
    found
}

fn lint(options: JudgeOptions, development: bool) -> CardLint {
    CardLint::new(options, development, Arc::new(Still)).unwrap()
}

fn report(lint: &CardLint, card: impl Into<Bytes>, plain: Option<Vec<u8>>) -> Report {
    lint.report(card.into(), plain.map(Bytes::from), "2026-11-30T09:00:00Z".parse().unwrap())
}

/// A card of the corpus, judged as its name says.
fn judge(path: &Path) -> Report {
    let name = path.file_stem().unwrap().to_str().unwrap();
    let (stem, how) = name.split_once('.').unwrap_or((name, ""));
    let beside = |extension: &str| fs::read(path.with_file_name(format!("{stem}.{extension}"))).ok();
    let last_card = beside("before").map(|bytes| serde_json::from_slice(&bytes).unwrap());
    let options = JudgeOptions { legacy_cards: how == "legacy", last_card, ..JudgeOptions::default() };
    report(&lint(options, how == "dev"), fs::read(path).unwrap(), beside("plain"))
}

/// What counts or warns, a line each: code, place, and what was seen.
fn told(path: &Path, report: &Report) -> String {
    let format = format_of(&fs::read(path).unwrap()).map_or("malformed", CardFormat::slug);
    let mut out = format!("{} {format}\n", report.verdict);
    for finding in report.findings.iter().map(|line| &line.finding) {
        let severity = match (finding.severity, finding.verdict.outcome()) {
            (_, Outcome::Pass | Outcome::NotApplicable) => continue,
            (_, Outcome::Inconclusive) => "open",
            (Severity::Error, _) => "error",
            (Severity::Warning, _) => "warning",
            (Severity::Note, _) => "note",
        };
        let reason = finding.verdict.reason().map_or("-", ReasonCode::as_str);
        let pointer = finding.place.pointer.as_deref().unwrap_or("-");
        writeln!(out, "{severity} {reason} {pointer} {}", finding.message).unwrap();
    }
    out
}

#[expect(clippy::disallowed_methods, reason = "the developer's switch to rewrite expectations")]
fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares with the file beside the card; says what is wrong.
fn compare(path: &Path, report: &Report) -> Option<String> {
    let (expected, told) = (path.with_extension("expected"), told(path, report));
    if bless() {
        fs::write(&expected, &told).unwrap();
    }
    let committed = fs::read_to_string(&expected).unwrap_or_default();
    (committed != told).then(|| format!("{}:\n{told}", path.display()))
}

fn failures(report: &Report) -> Vec<ReasonCode> {
    let counted = report.findings.iter().map(|line| &line.finding).filter(|f| f.severity == Severity::Error);
    counted.filter(|f| f.verdict.outcome() == Outcome::Fail).filter_map(|f| f.verdict.reason()).collect()
}

#[test]
fn no_honest_card_fails() {
    let paths = cards("honest");
    assert!(paths.len() >= 40, "{} honest cards", paths.len());
    let mut wrong = Vec::new();
    for path in &paths {
        let report = judge(path);
        if report.verdict != Outcome::Pass {
            wrong.push(format!("{} is honest: {}", path.display(), told(path, &report)));
        }
        wrong.extend(compare(path, &report));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// P-02: a comparison with a file that holds no card was none.
#[test]
fn a_baseline_that_is_no_card_leaves_the_report_open() {
    let path = cards("honest").into_iter().find(|p| p.ends_with("plain.json")).unwrap();
    let against = |last_card: Value| {
        let options = JudgeOptions { last_card: Some(last_card), ..JudgeOptions::default() };
        report(&lint(options, false), fs::read(&path).unwrap(), None).verdict
    };
    assert_eq!(against(serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()), Outcome::Pass);
    for other in [serde_json::json!({"error": "not found"}), serde_json::json!([])] {
        assert_eq!(against(other.clone()), Outcome::Inconclusive, "{other}");
    }
}

#[test]
fn every_liar_is_told_as_what_it_is() {
    let paths = cards("liar");
    assert!(paths.len() >= 100, "{} liars", paths.len());
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for path in &paths {
        let report = judge(path);
        if report.verdict != Outcome::Fail {
            wrong.push(format!("{} does not fail: {}", path.display(), report.verdict));
        }
        let format = format_of(&fs::read(path).unwrap());
        if !format.is_some_and(|f| f.is_v1() || f.is_legacy()) && report.findings.len() != 1 {
            wrong.push(format!("{} gets {} verdicts instead of one", path.display(), report.findings.len()));
        }
        seen.extend(failures(&report));
        wrong.extend(compare(path, &report));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for code in [
        ReasonCode::CardMalformed,
        ReasonCode::CardNotRecognized,
        ReasonCode::CardVersionUnsupported,
        ReasonCode::CardFieldMissing,
        ReasonCode::CardFieldInvalid,
        ReasonCode::InterfaceUrlInsecure,
        ReasonCode::InterfaceUrlUnreachable,
        ReasonCode::InterfaceUnsupported,
        ReasonCode::SkillIdDuplicate,
        ReasonCode::RequiredExtensionUnsupported,
        ReasonCode::SecurityRequirementDropped,
        ReasonCode::CardEndpointsDisagree,
        ReasonCode::CardVersionNotRaised,
        ReasonCode::EndpointMoved,
        ReasonCode::AuthenticationRemoved,
        ReasonCode::CardSignatureMalformed,
        ReasonCode::CardSignatureStripped,
        ReasonCode::CardTextHidden,
        ReasonCode::CardOversized,
    ] {
        assert!(seen.contains(&code), "no liar for {code}");
    }
}

/// Any JSON, in the words of cards so that it comes near to one.
fn near_card() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "1.0",
        "0.3.0",
        "https://a.example.test/rpc",
        "http://[::1",
        "JSONRPC",
        "GRPC",
        ":",
        "text/plain",
        "*/*;",
        "bearer",
        "",
        "\u{202e}x",
        "~1/~0",
        "a.example.test:443",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        words.prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let names = prop::sample::select(vec![
        "name",
        "description",
        "version",
        "url",
        "protocolVersion",
        "supportedInterfaces",
        "protocolBinding",
        "capabilities",
        "extensions",
        "uri",
        "required",
        "skills",
        "id",
        "tags",
        "inputModes",
        "defaultInputModes",
        "securitySchemes",
        "security",
        "securityRequirements",
        "schemes",
        "list",
        "bearer",
        "oauth2SecurityScheme",
        "flows",
        "clientCredentials",
        "scopes",
        "signatures",
        "protected",
        "preferredTransport",
        "additionalInterfaces",
        "transport",
        "type",
        "jsonrpc",
        "provider",
    ]);
    leaf.prop_recursive(6, 96, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..8)
                .prop_map(|m| Value::Object(m.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_json_gets_a_report_and_no_panic(card in near_card(), before in near_card(), legacy: bool, dev: bool) {
        let options = JudgeOptions { legacy_cards: legacy, last_card: Some(before), ..JudgeOptions::default() };
        let report = report(&lint(options, dev), card.to_string().into_bytes(), None);
        prop_assert!(!report.findings.is_empty());
    }

    #[test]
    fn any_bytes_get_a_report_and_no_panic(card in prop::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(!report(&lint(JudgeOptions::default(), false), card, None).findings.is_empty());
    }

    #[test]
    fn a_card_cut_or_changed_anywhere_gets_a_report(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut card = fs::read(&cards("honest")[0]).unwrap();
        let at = at.index(card.len());
        if cut { card.truncate(at) } else { card[at] = byte }
        prop_assert!(!report(&lint(JudgeOptions::default(), false), card, None).findings.is_empty());
    }
}

/// Short in a usual run; a soak raises it.
#[expect(clippy::disallowed_methods, reason = "the switch that proptest itself reads")]
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64)
}
