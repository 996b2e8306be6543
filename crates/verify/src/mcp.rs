//! MCP: tool lists judged without a server (is this a whole list of usable tools, and do its parts say the same?), and
//! servers as they are now ([`live`]).
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
pub mod live;
mod members;
mod pattern;
mod schema;
mod text;

pub use alone::{Alone, SNAPSHOT};
pub use lint::{ANNOTATIONS, Aspect, HintReport, Issue, Lint, ToolReport, lint};
pub(crate) use lint::{Held, Linted, lint_all};

/// All checks of MCP, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn crate::check::Check>> {
    check::checks().into_iter().chain(live::checks()).collect()
}
