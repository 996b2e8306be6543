//! The scan for what must never be in a bundle (B-03): credentials, and data of real people.
//!
//! Reports file, line and rule, and never the value: a report is read by more people than a secret may be. Works on
//! lines of text, so that it also sees files that do not parse.

use std::{collections::BTreeSet, sync::LazyLock};

use crate::problem::{Code, PER_FILE, Position, Problem, push_bounded};

mod assigned;
mod formats;
mod personal;

/// Something found on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hit {
    /// The rule's stable name.
    rule: &'static str,
    /// What it looks like.
    what: &'static str,
    /// Byte offset in the line.
    start: usize,
    code: Code,
}

/// Scans one file.
#[must_use]
pub fn scan(file: &str, bytes: &[u8]) -> Vec<Problem> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if found.len() > PER_FILE {
            break;
        }
        // A cheap look first: nearly every line holds nothing that any rule could begin with.
        let lower = line.to_ascii_lowercase();
        let mut hits = formats::hits(line, &lower);
        if hits.is_empty() {
            hits.extend(assigned::hit(line, &lower));
        }
        hits.extend(personal::hits(line));
        for hit in hits {
            push_bounded(&mut found, problem(file, n, line, hit));
        }
    }
    found
}

/// Takes the values out of other problems' messages where a secret stands on the same line, or anywhere in the file when
/// a problem names no line: what is refused as a secret must not be printed as a bad value.
pub(crate) fn hide_values(problems: &mut [Problem]) {
    let secret = |p: &Problem| matches!(p.code, Code::SecretFound | Code::SecretInline | Code::PersonalData);
    let lines: BTreeSet<(String, Option<u32>)> = problems
        .iter()
        .filter(|p| secret(p))
        .flat_map(|p| [(p.file.clone(), p.line), (p.file.clone(), None)])
        .collect();
    for problem in problems.iter_mut().filter(|p| !secret(p)) {
        if lines.contains(&(problem.file.clone(), problem.line)) {
            "not shown, because a secret stands near it".clone_into(&mut problem.message);
            problem.hint = None;
        }
    }
}

fn problem(file: &str, line_index: usize, line: &str, hit: Hit) -> Problem {
    let cap = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let at = Position { line: cap(line_index + 1), column: cap(line[..hit.start].chars().count() + 1) };
    let message = format!("{} (rule {})", hit.what, hit.rule);
    let hint = match hit.code {
        Code::PersonalData => "use synthetic data: mail domains of RFC 2606, numbers whose check digit is wrong",
        _ => "remove it, and revoke it if it was ever valid; environments refer to secrets by name",
    };
    Problem::new(file, hit.code, message).at(at).hint(hint)
}

/// Whether a value says of itself that it is none: a reference, a mask, or a word set apart from the rest. A word that
/// merely occurs somewhere in a random text says nothing.
fn synthetic(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "fixture",
        "example",
        "synthetic",
        "dummy",
        "placeholder",
        "sample",
        "fake",
        "redacted",
        "changeme",
        "change",
        "mock",
        "test",
        "your",
        "not",
    ];
    let lower = value.to_ascii_lowercase();
    let reference =
        lower.starts_with("${") || lower.starts_with("{{") || lower.starts_with('<') || lower.starts_with('$');
    reference || masked(&lower) || lower.split(|c: char| !c.is_ascii_alphabetic()).any(|word| WORDS.contains(&word))
}

/// Whether a value is crossed out.
fn masked(lower: &str) -> bool {
    lower.contains("xxxx") || lower.contains("****")
}

/// A regular expression that is part of the program.
type Pattern = LazyLock<regex_lite::Regex>;

fn pattern(text: &str) -> regex_lite::Regex {
    regex_lite::Regex::new(text).expect("the expression is part of the program and tested")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joined here, so that this file itself holds nothing that looks like a secret to other people's scanners.
    fn secret(parts: &[&str]) -> String {
        parts.concat()
    }

    #[track_caller]
    fn check(line: &str, rule: Option<&str>) {
        let found = scan("f.yaml", format!("first: line\n{line}\n").as_bytes());
        let rules: Vec<&str> = found.iter().filter_map(|p| p.message.split("(rule ").nth(1)).collect();
        let expect: Vec<String> = rule.iter().map(|r| format!("{r})")).collect();
        assert_eq!(rules, expect, "{line}: {found:?}");
        for problem in &found {
            assert_eq!(problem.line, Some(2));
        }
    }

    fn liars() -> Vec<(String, &'static str)> {
        let body = "Zk3vQ9xT1mB7rY5wN2cH8dL4pJ6sF0aGuEoI";
        let jwt = ["eyJhbGciOiJFZERTQSJ9", "eyJzdWIiOiJhbGljZSJ9", "c2lnbmF0dXJlLW9mLWE"].join(".");
        vec![
            (secret(&["-----BEGIN ", "EC PRIVATE", " KEY-----"]), "private_key"),
            (secret(&["key: AKIA", "Z7QWX3NRT5KLMPV2"]), "aws_access_key"),
            (secret(&["key: AIza", &body[..35]]), "google_api_key"),
            (secret(&["note: gh", "p_", body]), "github_token"),
            (secret(&["note: xo", "xb-123456789012-", "abcdefghijkl"]), "slack_token"),
            (secret(&["url: https://hooks.sl", "ack.com/services/T000/B000/abc"]), "slack_token"),
            (secret(&["k: sk_li", "ve_", &body[..24]]), "payment_key"),
            (secret(&["k: \"", &jwt, "\""]), "json_web_token"),
            (secret(&["Authorization: Bear", "er ", &body[..24]]), "authorization_header"),
            (secret(&["Authorization: Bas", "ic ", "dXNlcjpzZWNyZXQ="]), "authorization_header"),
            (secret(&["dsn: postgres://app:", "hunter2", "@db/app"]), "password_in_url"),
            (secret(&["api_key: ", body]), "secret_assignment"),
            (secret(&["\"clientSecret\": \"", body, "\""]), "secret_assignment"),
            (secret(&["password: ", "Tr0ub4dor&3"]), "password_assignment"),
            (secret(&["password: ", "correct", "horse"]), "password_assignment"),
            (secret(&["db_password=", "hunter", "2"]), "password_assignment"),
            (secret(&["aws_secret: wJalrXUtnFEMI", "K7MDENGbPxRfiCYEXAMPLEKEY"]), "secret_assignment"),
            (secret(&["key: AKIA", "IOSFODNN7EXAMPLE"]), "aws_access_key"),
            (secret(&["card: \"4111", "111111111111\""]), "payment_card"),
            (secret(&["account: GB82 WEST 1234", " 5698 7654 32"]), "bank_account"),
            (secret(&["ssn: 078-05", "-1120"]), "national_id"),
            (secret(&["phone: \"+81 3", "-1234-5678\""]), "phone_number"),
            (secret(&["mail: jane.doe", "@", "megacorp.com"]), "email_address"),
            (secret(&["card: 4539 1488", " 0343 6467"]), "payment_card"),
        ]
    }

    #[test]
    fn every_kind_of_secret_is_found_once_on_its_line() {
        for (line, rule) in liars() {
            check(&line, Some(rule));
        }
    }

    #[test]
    fn the_report_never_shows_the_value() {
        for (line, _) in liars() {
            let end = line.trim_end_matches('"');
            let value = &end[end.len() - 5..];
            for problem in scan("f.yaml", line.as_bytes()) {
                assert!(!problem.to_string().contains(value), "{problem}");
            }
        }
    }

    #[test]
    fn synthetic_values_references_and_names_pass() {
        for line in [
            "artifact_digest: sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "token: token-fixture-0001-abcdef123456",
            "password: changeme",
            "token_env: PLAN_TOKEN_9f8e7d6c5b4a",
            "sensitive_fields_forbidden: [stack_trace, access_token, internal_host]",
            "  - expired_task_credential",
            "\"access_token\": { \"type\": \"string\" }",
            "\"tokenUrl\": \"https://login.example.test/oauth2/token?v=2\"",
            "idempotency_key: /request_id",
            "\"scheme\": \"Bearer\", \"bearerFormat\": \"JWT\"",
            "Authorization: Bearer ${PLAN_TOKEN}",
            "dsn: postgres://app:${PASSWORD}@db/app",
            "url: https://agents.example.com:443/a@b",
            "mail: user@example.com, ops@planning.example.test, x@y.invalid",
            "mail: security@megacorp.com",
            "password: changeme",
            "password: required",
            "note: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "card: 4111 1111 1111 1112",
            "account: GB82 WEST 1234 5698 7654 33",
            "phone: \"+1 202-555-0143\"",
            "version: 078-05-1120",
            "mail: git@github.com",
            "at: 1790000000000",
            "id: 45391488034364671234567",
            "digest: sha256:4539148803436467",
            "secret_rotation: every-quarter",
            "\"protected\": \"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ\"",
        ] {
            check(line, None);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_scanned_all_the_same() {
        let mut bytes = b"\xff\xfe\n".to_vec();
        bytes.extend(secret(&["-----BEGIN ", "PRIVATE", " KEY-----"]).bytes());
        assert_eq!(scan("x", &bytes).len(), 1);
    }
}
