//! The revisions of MCP, and what each demands of a tool list.

use std::{fmt, str::FromStr};

/// A revision that the product knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// 2025-06-18: structured output begins; no schema dialect is stated.
    V2025_06_18,
    /// 2025-11-25: icons, rules for names, 2020-12 as the default dialect.
    V2025_11_25,
    /// 2026-07-28: stateless; any schema as `outputSchema`, headers from parameters.
    V2026_07_28,
}

/// A text that names no revision we know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no known MCP revision; one of 2025-06-18, 2025-11-25, 2026-07-28")]
pub struct UnknownRevision(pub String);

// === impl Revision ===

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// Its name in the protocol.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether it says which names a tool should have (server/tools, "Tool Names").
    #[must_use]
    pub fn has_name_rule(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether a schema that names no dialect is 2020-12 and must be valid for it (SEP-1613); before, nothing is stated.
    #[must_use]
    pub fn states_dialect(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether the root of an `outputSchema` must be of type object; SEP-2106 lifted that.
    #[must_use]
    pub fn output_is_object(self) -> bool {
        self < Self::V2026_07_28
    }

    /// Whether `execution.taskSupport` means something; only in the revision of the experimental tasks.
    #[must_use]
    pub fn has_task_support(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether results carry `resultType`, `ttlMs` and `cacheScope`, and parameters may become headers.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, UnknownRevision> {
        let found = Self::ALL.into_iter().find(|r| r.as_str() == text);
        found.ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for revision in Revision::ALL {
            assert_eq!(revision.to_string().parse(), Ok(revision));
        }
        assert!("2024-11-05".parse::<Revision>().is_err());
    }
}
