//! Credentials that show by their form alone.

use super::{Hit, Pattern, masked, pattern, synthetic};
use crate::problem::Code;

struct Format {
    rule: &'static str,
    what: &'static str,
    /// One of these, in lower case, is on every line that can match.
    needles: &'static [&'static str],
    pattern: Pattern,
    /// Which group holds the value: 0 = all of it, whose form alone is proof; else a part that may call itself synthetic.
    value: usize,
}

macro_rules! format {
    ($rule:literal, $what:literal, [$($needle:literal),*], $pattern:literal, $value:literal) => {
        Format {
            rule: $rule,
            what: $what,
            needles: &[$($needle),*],
            pattern: Pattern::new(|| pattern($pattern)),
            value: $value,
        }
    };
}

static FORMATS: [Format; 10] = [
    format!(
        "private_key",
        "a private key",
        ["private key"],
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
        0
    ),
    format!(
        "aws_access_key",
        "looks like an AWS access key",
        ["akia", "asia", "abia", "acca"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        0
    ),
    format!("google_api_key", "looks like a Google API key", ["aiza"], r"\bAIza[0-9A-Za-z_-]{35}", 0),
    format!(
        "github_token",
        "looks like a GitHub or GitLab token",
        ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,})",
        0
    ),
    format!(
        "slack_token",
        "looks like a Slack token or webhook",
        ["xox", "hooks.slack.com/services/"],
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/[A-Za-z0-9]",
        0
    ),
    format!(
        "payment_key",
        "looks like a payment provider's live key",
        ["sk_live_", "rk_live_"],
        r"\b[rs]k_live_[A-Za-z0-9]{16,}",
        0
    ),
    format!(
        "model_api_key",
        "looks like a model provider's API key",
        ["sk-"],
        r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
        0
    ),
    format!(
        "package_token",
        "looks like a package registry token",
        ["npm_", "pypi-"],
        r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,})",
        0
    ),
    format!(
        "json_web_token",
        "a signed token",
        ["eyj"],
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        0
    ),
    format!("password_in_url", "a password in a URL", ["://"], r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@", 1),
];

static AUTHORIZATION: Pattern = Pattern::new(|| {
    pattern(r#"(?i)(?:authorization["']?\s*[:=]\s*["']?(?:bearer|basic)|\bbearer)\s+([A-Za-z0-9._~+/=-]{12,})"#)
});

/// Everything on the line that shows by its form; one hit a rule.
pub(super) fn hits(line: &str, lower: &str) -> Vec<Hit> {
    let mut found: Vec<Hit> = FORMATS.iter().filter_map(|format| format.hit(line, lower)).collect();
    // A token is reported once, not also as the header that carries it.
    if found.is_empty() && (lower.contains("bearer") || lower.contains("authorization")) {
        found.extend(AUTHORIZATION.captures_iter(line).find_map(|captures| {
            let value = captures.get(1)?;
            let mixed = value.as_str().bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
            let hit = Hit {
                rule: "authorization_header",
                what: "a credential in an authorization header",
                start: value.start(),
                code: Code::SecretFound,
            };
            (mixed && !synthetic(value.as_str())).then_some(hit)
        }));
    }
    found
}

// === impl Format ===

impl Format {
    fn hit(&self, line: &str, lower: &str) -> Option<Hit> {
        if !self.needles.iter().any(|needle| lower.contains(needle)) {
            return None;
        }
        self.pattern.captures_iter(line).find_map(|captures| {
            let value = captures.get(self.value)?;
            let hit = Hit { rule: self.rule, what: self.what, start: value.start(), code: Code::SecretFound };
            // What has the form of a credential is refused whatever it calls itself; only what is crossed out is none.
            let none =
                if self.value == 0 { masked(&value.as_str().to_ascii_lowercase()) } else { synthetic(value.as_str()) };
            (!none).then_some(hit)
        })
    }
}
