//! MCP tool lists as pure, presence-keeping views, for the three revisions in use.
//!
//! Nothing here connects to a server: a snapshot is a document. Start with [`snapshot::recognise`], which says what kind
//! of document it is and where its tools stand; then [`tool::Tool`] for one tool and [`schema::Schema`] for what its
//! schemas say. What is wrong with any of it is judged in `verify`.

pub mod hint;
pub mod reference;
pub mod revision;
pub mod schema;
pub mod snapshot;
pub mod tool;

pub use hint::{Declared, Hint, HintKind};
pub use revision::Revision;
pub use schema::{Dialect, Schema};
pub use snapshot::{Form, NotTools, Snapshot, recognise};
pub use tool::Tool;
