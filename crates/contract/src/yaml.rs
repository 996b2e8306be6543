//! YAML with positions and bounds: text in, a tree of values that JSON could carry out.
//!
//! A contract file is read by people and hashed by machines, so the parts of YAML that make one text mean two things are
//! refused: tags, merge keys, duplicate keys, several documents. Aliases are expanded within a budget.

pub use node::{Entry, Node, Value};
pub(crate) use reader::clip;
pub use reader::read;

mod node;
mod reader;
mod scalar;

/// The bounds of one YAML file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Levels of nesting.
    pub depth: u32,
    /// Values after the expansion of aliases.
    pub nodes: usize,
    /// Values that come from aliases.
    pub alias_nodes: usize,
    /// Bytes of text that come from aliases.
    pub alias_bytes: usize,
}

// === impl Limits ===

impl Default for Limits {
    /// A hundred times the largest contract file known to us, and far below what would hurt: 1 MiB, 40 levels, 50,000
    /// values, 2,000 of them with 256 KiB of text from aliases.
    fn default() -> Self {
        Self { bytes: 1 << 20, depth: 40, nodes: 50_000, alias_nodes: 2_000, alias_bytes: 256 << 10 }
    }
}
