//! Whether regular expressions can be read, each looked at once a list.

use std::collections::HashMap;

use serde_json::json;

/// Different patterns that are looked at in one list, and their longest: reading one costs time, and a list may be
/// hostile. What is beyond is taken as readable.
const MOST: usize = 1_000;
const MOST_BYTES: usize = 1_000;

/// The patterns of a list.
#[derive(Default)]
pub(super) struct Patterns(HashMap<String, bool>);

// === impl Patterns ===

impl Patterns {
    /// Whether our validator reads this pattern.
    pub(super) fn reads(&mut self, pattern: &str) -> bool {
        if let Some(known) = self.0.get(pattern) {
            return *known;
        }
        if pattern.len() > MOST_BYTES || self.0.len() >= MOST {
            return true;
        }
        let reads = jsonschema::validator_for(&json!({"pattern": pattern})).is_ok();
        self.0.insert(pattern.to_owned(), reads);
        reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ecma_262_writes_is_read_and_nonsense_is_not() {
        let mut patterns = Patterns::default();
        for good in ["^[a-z]+$", r"^\d{4}-\d{2}$", "(?=a)b", r"\p{L}", r"^\/$", "(?<year>a)", r"[\w.-]+@x", ""] {
            assert!(patterns.reads(good) && patterns.reads(good), "{good}");
        }
        for bad in ["(", "[a", "*", "a{2,1}"] {
            assert!(!patterns.reads(bad) && !patterns.reads(bad), "{bad}");
        }
    }

    #[test]
    fn a_flood_of_patterns_is_bounded() {
        let mut patterns = Patterns::default();
        assert!((0..MOST + 50).all(|n| patterns.reads(&format!("a{n}"))));
        assert!(patterns.0.len() == MOST && patterns.reads("("));
    }
}
