//! The agent's own clock and ids: the one place that reads either.

use jiff::Timestamp;

/// Now, as the agent's machine sees it.
#[expect(clippy::disallowed_methods, reason = "the sample is the candidate, not the harness: it lives in real time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// RFC 3339 in UTC with milliseconds, the form that A2A asks for.
pub(crate) fn stamp(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// A new id nobody can guess.
#[expect(clippy::disallowed_methods, reason = "an agent as others are: it has no ports for its randomness")]
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}-{}", ulid::Ulid::generate().to_string().to_lowercase())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_stamp_has_milliseconds_and_ends_in_z() {
        let at = "2026-11-30T10:00:00.1234567Z".parse().unwrap();
        assert_eq!(super::stamp(at), "2026-11-30T10:00:00.123Z");
    }
}
