//! Secrets that show by the key they are assigned to.

use super::{Hit, Pattern, pattern, synthetic};
use crate::problem::Code;

/// Words of which one is in every secret-like key.
const NEEDLES: &[&str] = &["passw", "pwd", "passphrase", "secret", "token", "key", "credential"];

static ASSIGNMENT: Pattern = Pattern::new(|| {
    pattern(
        r#"(?i)["']?([A-Za-z0-9_.-]*(?:passw(?:or)?d|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|credential)s?[A-Za-z0-9_.-]*)["']?\s*[:=]\s*["']?([^\s"',{}\[\]]{6,})"#,
    )
});

/// Keys that name where a secret is, and not the secret.
const REFERENCES: &[&str] = &[
    "env", "file", "path", "url", "uri", "endpoint", "command", "name", "type", "id", "ref", "format", "ms", "policy",
];

/// Words that stand where a password would and are none.
const SAYS_NOTHING: &[&str] = &["string", "required", "optional", "hidden", "unknown", "forbidden", "unsupported"];

/// Bits a character from which on a text of 16 characters is hardly a word: English identifiers stay below 3.4.
const RANDOM_BITS: f64 = 3.5;

/// The first assignment of a secret on the line.
pub(super) fn hit(line: &str, lower: &str) -> Option<Hit> {
    if !NEEDLES.iter().any(|needle| lower.contains(needle)) {
        return None;
    }
    ASSIGNMENT.captures_iter(line).find_map(|captures| {
        let (key, value) = (captures.get(1)?, captures.get(2)?);
        if is_reference(key.as_str()) || synthetic(value.as_str()) || is_plain(value.as_str()) {
            return None;
        }
        let (rule, what) = if is_password(key.as_str()) && !SAYS_NOTHING.contains(&value.as_str()) {
            ("password_assignment", "a password")
        } else if looks_random(value.as_str()) {
            ("secret_assignment", "a random value under a secret's name")
        } else {
            return None;
        };
        Some(Hit { rule, what, start: value.start(), code: Code::SecretFound })
    })
}

/// The last word of a key, in any of the usual spellings: `clientSecret` → `secret`.
fn last_word(key: &str) -> String {
    let mut words = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(c.to_ascii_lowercase());
    }
    words.rsplit(['_', '-', '.']).next().unwrap_or_default().to_owned()
}

/// Whether the key's last word says that the value only points to a secret.
fn is_reference(key: &str) -> bool {
    REFERENCES.contains(&last_word(key).as_str())
}

/// Whether the value is a password, which people choose: no randomness can be asked of it.
fn is_password(key: &str) -> bool {
    matches!(last_word(key).as_str(), "password" | "passwd" | "pwd" | "passphrase")
}

/// Addresses, pointers and digests are no secrets.
fn is_plain(value: &str) -> bool {
    value.contains("://") || value.starts_with('/') || value.starts_with("sha256:")
}

fn looks_random(value: &str) -> bool {
    let mixed = value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic());
    value.len() >= 16 && mixed && bits_per_character(value) >= RANDOM_BITS
}

/// Shannon's entropy over the characters of the text.
fn bits_per_character(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|b| counts[usize::from(b)] += 1);
    let total = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    let share = |count: u32| f64::from(count) / total;
    counts.iter().filter(|c| **c > 0).map(|c| -share(*c) * share(*c).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_text_has_more_bits_than_words() {
        assert!(bits_per_character("aaaaaaaaaaaaaaaa") < 0.1);
        assert!(bits_per_character("every-quarter-of-year") < RANDOM_BITS);
        assert!(bits_per_character("9f8e7Dd6c5Bb4a3K2jx") > RANDOM_BITS);
    }

    #[test]
    fn keys_that_point_to_secrets_are_told_from_secrets() {
        for key in ["token_env", "tokenUrl", "client_secret_env", "key_file", "secretName"] {
            assert!(is_reference(key), "{key}");
        }
        for key in ["token", "clientSecret", "api_key", "envToken"] {
            assert!(!is_reference(key), "{key}");
        }
    }
}
