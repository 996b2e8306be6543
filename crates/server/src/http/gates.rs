//! Gates: asked for again, and looked at.

pub mod list;
pub mod request;
