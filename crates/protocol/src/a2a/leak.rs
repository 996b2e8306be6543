//! What an error must not show (E-03): stack traces, credentials, internal hosts, fields that a contract forbids.
//!
//! Looks at the error object alone. Text that the caller sent is the caller's to see again, and the interface's own
//! host is public by its card; both are taken out before looking. Findings name rule and place, never the text.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::Value;

/// What was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Which rule.
    pub kind: LeakKind,
    /// JSON pointer into the error object.
    pub pointer: String,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeakKind {
    /// Frames of a stack, or the banner above them.
    StackTrace,
    /// A bearer token, a JSON web token, a private key, a password in a URL.
    Credential,
    /// An address or name that only exists inside somebody's network.
    InternalHost,
    /// A member whose name the contract forbids.
    ForbiddenField,
}

/// What may be shown and what may not, besides the general rules.
#[derive(Clone, Debug, Default)]
pub struct LeakRules {
    /// Texts that are public: the request as sent, hosts of the card.
    pub public: Vec<String>,
    /// Names of members that must not occur, in any spelling of words: `stack_trace` is also `stackTrace`.
    pub forbidden_fields: Vec<String>,
}

/// Banners and frames of the runtimes that agents are written in. Each asks for a file and a line, or for a banner that
/// nothing else prints, so that prose about errors does not match.
static STACK: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"Traceback \(most recent call last\)",
        r#"File "[^"\n]+", line \d+, in "#,
        r"\bat [\w$.<>\[\] ]+ ?\([^()\n]*\.(?:js|mjs|cjs|ts|java|kt|scala|cs|rb|php)(?::\d+)+\)",
        r"\bat (?:async )?(?:file://|node:|/)[^\s()]+:\d+:\d+",
        r"\bat [\w.$]+\([\w$]+\.(?:java|kt|scala):\d+\)",
        r"\bat [\w.`<>]+\([^()\n]*\) in \S+:line \d+",
        r"panicked at [^\n]+:\d+:\d+",
        r"goroutine \d+ \[[a-z ]+\]:",
        r"\S+\.go:\d+ \+0x[0-9a-f]+",
        r"\S+\.rb:\d+:in [`']",
        r"\.rs:\d+:\d+\b.*\n?\s*\d+: ",
    ])
});

/// The forms of credentials. The last one is what a recording shows in place of a credential of ours.
static CREDENTIAL: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
        r"\b(?:sk|ghp|gho|xox[bp]|AKIA)[-_A-Za-z0-9]{16,}",
        "⟨credential:[^⟩]*⟩",
    ])
});

/// Addresses of RFC 1918, loopback and link-local, and names under suffixes that no public resolver knows.
static INTERNAL: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01])|127\.\d{1,3}|169\.254)\.\d{1,3}\.\d{1,3}(?::\d+)?\b",
        r"(?i)\blocalhost:\d+\b",
        r"(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:svc|cluster\.local|internal|intranet|lan|corp)\b",
    ])
});

/// Everything that an error object shows and should not.
#[must_use]
pub fn leaks(error: &Value, rules: &LeakRules) -> Vec<Leak> {
    let mut out = Vec::new();
    let forbidden: Vec<String> = rules.forbidden_fields.iter().map(|f| plain(f)).collect();
    let mut look = Look { rules, forbidden: &forbidden, out: &mut out };
    look.value(error, "");
    out
}

struct Look<'a> {
    rules: &'a LeakRules,
    forbidden: &'a [String],
    out: &'a mut Vec<Leak>,
}

// === impl Look ===

impl Look<'_> {
    fn value(&mut self, value: &Value, pointer: &str) {
        match value {
            Value::String(text) => self.text(text, pointer),
            Value::Array(list) => list.iter().enumerate().for_each(|(n, v)| self.value(v, &format!("{pointer}/{n}"))),
            Value::Object(members) => {
                for (name, inner) in members {
                    let at = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                    if !inner.is_null() && self.forbidden.contains(&plain(name)) {
                        self.out.push(Leak { kind: LeakKind::ForbiddenField, pointer: at.clone() });
                    }
                    self.value(inner, &at);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, pointer: &str) {
        let mut push = |kind| self.out.push(Leak { kind, pointer: pointer.to_owned() });
        let hit = |rules: &[Regex], text: &str| rules.iter().any(|r| r.is_match(text));
        if hit(&STACK, text) {
            push(LeakKind::StackTrace);
        }
        if hit(&CREDENTIAL, text) {
            push(LeakKind::Credential);
        }
        let public = |found: &str| self.rules.public.iter().any(|p| p.contains(found));
        if INTERNAL.iter().any(|r| r.find_iter(text).any(|m| !public(m.as_str()))) {
            push(LeakKind::InternalHost);
        }
    }
}

// === impl LeakKind ===

impl LeakKind {
    /// The rule's name, as contracts spell forbidden fields.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StackTrace => "stack_trace",
            Self::Credential => "access_token",
            Self::InternalHost => "internal_host",
            Self::ForbiddenField => "forbidden_field",
        }
    }
}

fn compile(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().map(|p| Regex::new(p).expect("the patterns above are fixed and tested")).collect()
}

/// A name without the marks that spellings differ in.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kinds(text: &str) -> Vec<LeakKind> {
        leaks(&json!({"message": text}), &LeakRules::default()).into_iter().map(|l| l.kind).collect()
    }

    #[test]
    fn stacks_of_many_runtimes_are_seen() {
        for stack in [
            "Traceback (most recent call last):\n  File \"/app/agent.py\", line 42, in run\n    raise X",
            "Error: x\n    at Planner.run (/app/dist/agent.js:12:7)",
            "Error: x\n    at async file:///app/agent.mjs:12:7",
            "at com.example.Agent.run(Agent.java:71)",
            "at Example.Agent.Run(String id) in /src/Agent.cs:line 42",
            "thread 'main' panicked at src/main.rs:10:5: boom",
            "goroutine 17 [running]:\nmain.run()",
            "/app/agent.rb:10:in `run'",
        ] {
            assert_eq!(kinds(stack), [LeakKind::StackTrace], "{stack}");
        }
    }

    #[test]
    fn credentials_and_hosts_are_seen() {
        assert_eq!(kinds("token eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0xx.c2lnbmF0dXJl"), [LeakKind::Credential]);
        assert_eq!(kinds("sent ⟨credential:allowed-user-a⟩"), [LeakKind::Credential]);
        assert_eq!(kinds("cannot reach postgres://plan:secret@db/plan"), [LeakKind::Credential]);
        assert_eq!(kinds("connect ECONNREFUSED 10.1.2.3:5432"), [LeakKind::InternalHost]);
        assert_eq!(kinds("no route to plan-db.prod.svc.cluster.local"), [LeakKind::InternalHost]);
    }

    #[test]
    fn ordinary_refusals_are_clean() {
        for text in [
            "Task not found",
            "Version 9.9 is not supported; supported are 1.0, 0.3",
            "message.parts: List should have at least 1 item after validation, not 0",
            "Validation failed at /params/message (line 3)",
            "Use a Bearer token",
            "see https://a2a-protocol.org/latest/specification/#54",
            "unknown task 3512472e-9b1c-4c55-8d60, agent 10.0.0",
            "internal error",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn public_hosts_and_the_callers_own_text_may_be_shown() {
        let rules = LeakRules { public: vec!["http://127.0.0.1:41000/rpc".into()], ..LeakRules::default() };
        assert_eq!(leaks(&json!("see 127.0.0.1:41000"), &rules), []);
        assert_eq!(leaks(&json!("see 127.0.0.1:5432"), &rules).len(), 1);
    }

    #[test]
    fn forbidden_members_are_found_in_any_spelling() {
        let rules = LeakRules { forbidden_fields: vec!["stack_trace".into()], ..LeakRules::default() };
        let error = json!({"code": 1, "data": [{"@type": "x", "metadata": {"stackTrace": "…"}}]});
        let found = leaks(&error, &rules);
        assert_eq!(found, [Leak { kind: LeakKind::ForbiddenField, pointer: "/data/0/metadata/stackTrace".into() }]);
        assert_eq!(leaks(&json!({"stack_trace": null}), &rules), []);
    }
}
