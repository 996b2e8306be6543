//! What an error must not show (E-03): stack traces, credentials, internal hosts, files and queries, fields that a contract
//! forbids.
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
    /// A file of the machine that the agent runs on.
    FilePath,
    /// A query, or what a database says of one.
    Query,
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
        r"stack backtrace:\s*\n\s*\d+: ",
        r"\bException in thread \x22[^\x22\n]+\x22",
        r"\bCaused by: [\w.$]+(?:Exception|Error)\b",
        r"\b\w+Error: [^\n]*\n\s+at \S+",
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
        r"(?i)\bbasic\s+[A-Za-z0-9+/]{16,}={0,2}",
        r"(?i)\b(?:password|passwd|pwd|secret|api[-_]?key|access[-_]?token)(?:\s*=\s*|\x22\s*:\s*\x22)['\x22]?[^\s'\x22,;}]{6,}",
        "⟨credential:[^⟩]*⟩",
    ])
});

/// Addresses of RFC 1918, loopback and link-local, and names under suffixes that no public resolver knows.
static INTERNAL: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"\b(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01])|127\.\d{1,3}|169\.254)\.\d{1,3}\.\d{1,3}(?::\d+)?\b",
        r"(?i)\blocalhost:\d+\b",
        r"(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:svc|cluster\.local|internal|intranet|lan|corp|consul|docker)\b",
        r"\[?\b(?:f[cd][0-9a-f]{2}|fe80)(?::[0-9a-f]{0,4}){2,7}",
    ])
});

/// Files under the folders where programs and their users live, and drives of Windows. A path of a URL has no such ending.
static FILES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"(?:^|[\s\x22'(=:])/(?:home|root|srv|app|usr|opt|var|etc|tmp|mnt|data|workspace|Users)/[\w.@/+-]*\w\.\w{1,8}\b",
        r"(?:^|[\s\x22'(=])[A-Za-z]:\\\\?[\w .-]+\\\\?[\w\\\\ .-]+",
        r"\b(?:node_modules|site-packages|dist-packages)/",
        r"\bfile:///\S+",
    ])
});

/// Queries with their grammar, and the words in which the common databases complain.
static QUERIES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    compile(&[
        r"\bSELECT\s[\s\S]{1,400}?\sFROM\s+[\w\x22`.]+",
        r"(?i)\bselect\s[\s\S]{1,400}?\sfrom\s+[\w\x22`.]+\s+(?:where|limit|order by|group by)\b",
        r"(?i)\binsert\s+into\s+[\w\x22`.]+\s*(?:\(|values\b)",
        r"(?i)\bupdate\s+[\w\x22`.]+\s+set\s+[\w\x22`.]+\s*=",
        r"(?i)\bdelete\s+from\s+[\w\x22`.]+\s+where\b",
        r"\bSQLSTATE\b|\bORA-\d{5}\b|(?i)\bsyntax error at or near\b|\bviolates (?:unique|foreign key|not-null|check) constraint\b",
        r"(?i)\b(?:UNIQUE|FOREIGN KEY|NOT NULL) constraint failed\b|\bno such (?:table|column): ",
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
        if hit(&QUERIES, text) {
            push(LeakKind::Query);
        }
        // a stack shows files, too; it is told as the one thing that it is
        if hit(&FILES, text) && !hit(&STACK, text) {
            push(LeakKind::FilePath);
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
            Self::FilePath => "file_path",
            Self::Query => "query",
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
            "stack backtrace:\n   0: agent::run\n   1: main",
            "Exception in thread \"main\" java.lang.IllegalStateException: no",
            "failed; Caused by: org.example.PlanException",
            "TypeError: x is undefined\n    at Planner.run",
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
        assert_eq!(kinds("dial tcp [fd00:1:2::3]:5432"), [LeakKind::InternalHost]);
        assert_eq!(kinds("login failed, password=hunter22"), [LeakKind::Credential]);
        assert_eq!(kinds("authorization: Basic cGxhbjpzZWNyZXQtd29yZA=="), [LeakKind::Credential]);
    }

    #[test]
    fn files_and_queries_are_seen() {
        for file in [
            "cannot open /srv/agent/config/plan.yaml",
            "ENOENT: no such file, open '/home/agent/.env.local'",
            r"cannot open C:\agents\plan\config.json",
            "in node_modules/@a2a-js/sdk",
        ] {
            assert_eq!(kinds(file), [LeakKind::FilePath], "{file}");
        }
        for query in [
            "near \"x\": SELECT id, state FROM tasks WHERE tenant = $1",
            "INSERT INTO drafts (id) VALUES ($1)",
            "UPDATE tasks SET state = 'x'",
            "duplicate key value violates unique constraint \"drafts_pkey\"",
            "UNIQUE constraint failed: drafts.id",
            "no such table: drafts",
        ] {
            assert_eq!(kinds(query), [LeakKind::Query], "{query}");
        }
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
            "Cannot GET /noSuchOperation",
            "/params/message/parts/0: exactly one of text, raw, url, data",
            "select a skill from the card, then update it and set a title",
            "invalid password or token; password: required field",
            "see https://agent.example.test/usr/guide.html",
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
