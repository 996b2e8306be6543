//! Strict JSON: parsing bytes that somebody else wrote, and the canonical form of RFC 8785.
//!
//! Why a reader of our own: a digest is a promise about *one* document, so whatever two readers could understand
//! differently is refused here, with a place: duplicate keys (also in two spellings, `"a"` and `"\u0061"`), a byte
//! order mark, bytes that are not UTF-8, lone surrogates, trailing bytes, and numbers that would silently become
//! another number. `serde_json` keeps the last of two equal keys and rounds large integers.

mod canonical;
mod error;
mod number;
mod reader;

pub use canonical::{CanonError, canonicalize, digest};
pub use error::{JsonError, JsonErrorKind};
pub use reader::parse_strict;

/// How much of a document is read before it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the whole document.
    pub bytes: usize,
    /// Most arrays and objects inside each other; a `u8`, so that the reader's stack stays bounded.
    pub depth: u8,
    /// Which integers are accepted.
    pub integers: Integers,
    /// Most values of all kinds together: each takes many times the two bytes that it can be written with.
    pub values: u32,
}

/// Which integers a document may hold; none is ever rounded.
///
/// Numbers with a fraction or an exponent are read as the nearest double, as RFC 8785 wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Those that RFC 8785 prints with the digits they were written with: all up to 2^53. Others belong into strings.
    Double,
    /// Also all of 64 bits, kept exactly: for documents that are looked at but not signed.
    Wide,
}

// === impl Limits ===

impl Limits {
    /// For what is digested or signed: cards, schemas, statements.
    pub const DOCUMENT: Self = Self { bytes: 4 << 20, depth: 64, integers: Integers::Double, values: 200_000 };
    /// For what an agent answers: looked at, never digested as JSON.
    pub const WIRE: Self = Self { bytes: 16 << 20, depth: 96, integers: Integers::Wide, values: 150_000 };

    /// The same limits with another size.
    #[must_use]
    pub const fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    /// The same limits with another number of values.
    #[must_use]
    pub const fn with_values(self, values: u32) -> Self {
        Self { values, ..self }
    }

    /// The same limits with another depth.
    #[must_use]
    pub const fn with_depth(self, depth: u8) -> Self {
        Self { depth, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DOCUMENT
    }
}
