//! What happened, as people are told of it.

pub mod list;
