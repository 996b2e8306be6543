//! Reports in the formats that CI systems, code scanners and pull requests read.
//!
//! Pure: the same report gives the same bytes. Every format shows the same verdict, by one rule of what counts
//! (`weight.rs`): JUnit has a failure exactly when the verdict is FAIL, and an error but no failure exactly when it is
//! INCONCLUSIVE. What an agent said stands in these texts, so each format escapes as its reader needs it.

use std::collections::BTreeMap;

use ostiary_record::Report;

mod junit;
mod markdown;
mod sarif;
mod weight;
mod xml;

pub use junit::{junit, junit_broken};
pub use markdown::{markdown, markdown_broken};
pub use sarif::{sarif, sarif_broken};
pub use weight::said;

/// A report, with what a reader needs to find the way back.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What was verified: a contract, a card, a snapshot.
    pub name: &'a str,
    /// Where the documents lie that findings name.
    pub documents: &'a Documents,
    /// What was found.
    pub report: &'a Report,
}

/// Where documents lie in the reader's own tree, by the names that findings give them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    paths: BTreeMap<String, String>,
    home: Option<String>,
}

/// One of several documents that could not be judged.
#[derive(Clone, Copy, Debug)]
pub struct Broken<'a> {
    /// What should have been verified.
    pub name: &'a str,
    /// Why it was not.
    pub why: &'a str,
}

// === impl Documents ===

impl Documents {
    /// Documents whose promises stand in `home`, which is shown where a finding names none of them.
    #[must_use]
    pub fn at_home(home: impl Into<String>) -> Self {
        Self { paths: BTreeMap::new(), home: Some(home.into()) }
    }

    /// With a document and its path.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, path: impl Into<String>) -> Self {
        self.paths.insert(name.into(), path.into());
        self
    }

    fn path(&self, name: &str) -> Option<&str> {
        self.paths.get(name).map(String::as_str)
    }
}
