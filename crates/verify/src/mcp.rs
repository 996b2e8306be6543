//! MCP tool snapshots judged without a server: is this a whole list of usable tools, and do its parts say the same?
//!
//! [`lint`] is a pure function over one document; each tool is judged by itself, so that a bad one never sinks the list.
//! The checks of the declaration layer say the same about the snapshots of a bundle. Hints and descriptions are claims
//! of the server about itself: they are held against each other and never grant anything (N-01, S-04).

mod alone;
mod check;
mod claim;
mod header;
mod hints;
mod lint;
mod list;
mod members;
mod pattern;
mod schema;
mod text;

pub use alone::{Alone, SNAPSHOT};
pub(crate) use check::checks;
pub use lint::{ANNOTATIONS, Aspect, HintReport, Issue, Lint, ToolReport, lint};
pub(crate) use lint::{Linted, lint_all};
