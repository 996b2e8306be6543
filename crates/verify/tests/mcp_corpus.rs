//! M-04, N-01, S-04, J-01, J-04 on a corpus: each snapshot of `tests/corpus/mcp` must give exactly what the file beside it
//! says. What is in `honest/` must not fail, published servers among it; each file in `liar/` must, or show nothing.
//! `BLESS=1` rewrites the expectations; read the difference before committing it.
//!
//! A name like `x.2026-07-28.json` is judged by that revision, any other by the one that the document shows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use ostiary_protocol::mcp::Revision;
use ostiary_record::{Outcome, ReasonCode, Severity};
use ostiary_verify::mcp::{Lint, lint};

fn snapshots(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/mcp").join(kind);
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    found.sort();
    found
}

fn revision(path: &Path) -> Option<Revision> {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem.rsplit_once('.').and_then(|(_, revision)| revision.parse().ok())
}

fn judge(path: &Path) -> Lint {
    lint(&fs::read(path).unwrap(), revision(path))
}

const fn value(hint: Option<bool>) -> &'static str {
    match hint {
        Some(true) => "true",
        Some(false) => "false",
        None => "-",
    }
}

fn told(lint: &Lint) -> String {
    let mut out = format!("{} {} by {}\n", lint.verdict(), lint.form, lint.revision);
    for tool in &lint.tools {
        let name = tool.name.as_deref().unwrap_or("-");
        let hints: Vec<String> = tool.hints.iter().map(|(n, h)| format!("{n}={}", value(h.effective))).collect();
        writeln!(out, "tool {} {} {name} {}", tool.verdict, tool.pointer, hints.join(" ")).unwrap();
    }
    for issue in &lint.issues {
        let severity = match issue.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let reason = issue.reason.map_or("-", ReasonCode::as_str);
        writeln!(out, "{severity} {reason} {} {}: {}", issue.detail, issue.pointer, issue.observed).unwrap();
    }
    out
}

#[expect(clippy::disallowed_methods, reason = "the developer's switch to rewrite expectations")]
fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Compares with the file beside the snapshot; says what is wrong.
fn compare(path: &Path, lint: &Lint) -> Option<String> {
    let (expected, told) = (path.with_extension("expected"), told(lint));
    if bless() {
        fs::write(&expected, &told).unwrap();
    }
    let committed = fs::read_to_string(&expected).unwrap_or_default();
    (committed != told).then(|| format!("{}:\n{told}", path.display()))
}

#[test]
fn no_honest_snapshot_fails() {
    let paths = snapshots("honest");
    let published = paths.iter().filter(|p| p.to_str().is_some_and(|p| p.contains("published-"))).count();
    assert!(paths.len() > 20 && published >= 7, "{} honest, {published} published", paths.len());
    let mut wrong = Vec::new();
    for path in &paths {
        let lint = judge(path);
        if lint.verdict() != Outcome::Pass {
            wrong.push(format!("{} is honest: {}", path.display(), told(&lint)));
        }
        wrong.extend(compare(path, &lint));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_liar_is_told_as_what_it_is() {
    let paths = snapshots("liar");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for path in &paths {
        let lint = judge(path);
        if lint.verdict() == Outcome::Pass {
            wrong.push(format!("{} passes", path.display()));
        }
        if !lint.is_list() && lint.issues.len() != 1 {
            wrong.push(format!("{} gets {} verdicts instead of one", path.display(), lint.issues.len()));
        }
        seen.extend(lint.issues.iter().filter(|i| i.fails()).filter_map(|i| i.reason));
        wrong.extend(compare(path, &lint));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let of_tools = ReasonCode::ALL.iter().filter(|c| c.as_str().starts_with("TOOL_"));
    let only_warn = [ReasonCode::ToolNameInvalid, ReasonCode::ToolDescriptionContradicts];
    // what only two lists tell: its liar is in `mcp::live`
    let only_live = [ReasonCode::ToolListChanged];
    let elsewhere = |c: &&ReasonCode| only_warn.contains(*c) || only_live.contains(*c);
    let unseen: Vec<_> = of_tools.filter(|c| !seen.contains(c) && !elsewhere(c)).collect();
    assert!(unseen.is_empty(), "no liar for {unseen:?}");
}

#[test]
fn good_tools_beside_bad_ones_keep_their_verdict() {
    let path = snapshots("liar").into_iter().find(|p| p.ends_with("bad-beside-good.json")).unwrap();
    let lint = judge(&path);
    let of = |name: &str| lint.tools.iter().find(|t| t.name.as_deref() == Some(name)).unwrap().verdict;
    assert_eq!((of("good"), of("also_good"), of("no_schema")), (Outcome::Pass, Outcome::Pass, Outcome::Fail));
}
