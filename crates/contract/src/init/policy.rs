//! Who may call, what is to be activated, and by when things must have happened.

use std::fmt::Write as _;

use super::{MARK, Source, text::scalar};
use crate::bundle::Files;

pub(super) fn write(source: &Source<'_>, files: &mut Files) {
    if source.card.is_some() {
        files.insert("authorization.yaml".to_owned(), authorization(source).into());
        files.insert("coverage.yaml".to_owned(), coverage(source).into());
    }
    files.insert("temporal.yaml".to_owned(), TEMPORAL.into());
}

/// The profile under which a drafted bundle is to be admitted: subjects only where credentials are asked for.
pub(super) fn profile(source: &Source<'_>, protocol: &str) -> String {
    if source.public() { protocol.to_owned() } else { format!("{protocol}/user/standard") }
}

fn authorization(source: &Source<'_>) -> String {
    if source.public() {
        return "# The card declares no security: anybody may call, and no credential may be asked for.\npublic: true\n".to_owned();
    }
    let mut out = format!(
        "# Who may do what to whose objects. Subjects are those of the environment file.\n\
         {MARK}check the rows; each is executed with a real credential\n\
         authorization:\n  matrix:\n"
    );
    for (subject, owner, operation, expected) in [
        ("user-a", "tenant-fixture-a", "get", "allow"),
        ("user-a", "tenant-fixture-b", "get", "not_found_policy"),
        ("expired-a", "tenant-fixture-a", "get", "re_authenticate"),
    ] {
        let _ = writeln!(
            out,
            "    - subject: {subject}\n      tenant: tenant-fixture-a\n      object: {{ kind: task, tenant: {owner} }}\n      \
             operation: {operation}\n      expected: {expected}"
        );
    }
    out
}

fn coverage(source: &Source<'_>) -> String {
    let (drivable, other) = source.protocols();
    let mut out =
        String::from("# The profiles that the version is to be admitted for: one for each interface of the card.\n");
    if drivable.is_empty() {
        let _ = writeln!(out, "activate: [] {MARK}the card declares no interface that can be driven here");
    } else {
        out.push_str("activate:\n");
    }
    for protocol in &drivable {
        let _ = writeln!(out, "  - {}", profile(source, protocol));
    }
    for protocol in &other {
        let what = "is declared and cannot be driven here; a router will not be told to use it";
        let _ = writeln!(out, "{MARK}{} {what}", scalar(protocol));
    }
    out
}

const TEMPORAL: &str = "\
# By when things must have happened.
temporal_contract:
  # DECIDE: these are generous guesses; promise what consumers can rely on
  acknowledge_within_ms: 10000
  task_within_ms: 60000
";
