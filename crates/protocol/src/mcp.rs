//! MCP as pure, presence-keeping codecs and views, for the three revisions in use.
//!
//! Nothing here connects to a server. Going out: [`speech::Speech`] makes requests for a revision and a transport. Coming
//! in: [`reply::Reply`] reads what came back, [`era`] says what the two openings show, [`listing::Listing`] puts pages
//! together. A snapshot is a document: [`snapshot::recognise`] says what kind of document it is and where its tools
//! stand; then [`tool::Tool`] for one tool and [`schema::Schema`] for what its schemas say. What is wrong with any of it
//! is judged in `verify`.

pub mod era;
pub mod error;
pub mod hint;
pub mod listing;
pub mod message;
pub mod param_header;
pub mod reference;
pub mod reply;
pub mod result;
pub mod revision;
pub mod schema;
pub mod snapshot;
pub mod speech;
pub mod tool;

pub use era::Opening;
pub use error::{ErrorClass, RpcError};
pub use hint::{Declared, Hint, HintKind};
pub use listing::{Listing, ListingProblem, NextPage};
pub use message::Message;
pub use reply::{Answer, Reply};
pub use result::Handshake;
pub use revision::Revision;
pub use schema::{Dialect, Schema};
pub use snapshot::{Form, NotTools, Snapshot, recognise};
pub use speech::{ClientProfile, Speech, Wire};
pub use tool::Tool;
