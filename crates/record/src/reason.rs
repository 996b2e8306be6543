//! The closed catalogue of reason codes (V-02): stable texts, one layer each, with meaning, retry class and remedy.
//!
//! Codes are never renamed. Adding one: a row in `catalogue.rs`, a test that produces it, a changelog line; the page
//! `docs/reason-codes.md` is generated from here.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::layer::Layer;

pub use catalogue::ReasonCode;

mod catalogue;

/// What the documentation says about one code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonRow {
    /// The stable text.
    pub text: &'static str,
    /// Its layer; `None` = the layer of the check that gives it.
    pub layer: Option<Layer>,
    /// What it means.
    pub meaning: &'static str,
    /// Whether running again can help.
    pub retry: Retry,
    /// What to do.
    pub remedy: &'static str,
}

/// Whether running the same verification again can give another verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Not without a change of the agent or its contract.
    Never,
    /// When what was missing is there: an observer, a permission, a reachable target.
    WhenProvided,
    /// It may, unchanged.
    May,
}

/// A text that is no code of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no reason code of the catalogue")]
pub struct UnknownReason(pub String);

// === impl ReasonCode ===

impl ReasonCode {
    /// The stable text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().text
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReasonCode {
    type Err = UnknownReason;

    fn from_str(text: &str) -> Result<Self, UnknownReason> {
        let found = Self::ALL.iter().copied().find(|c| c.as_str() == text);
        found.ok_or_else(|| UnknownReason(text.to_owned()))
    }
}

impl Serialize for ReasonCode {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ReasonCode {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
