//! Agents: who they are and who is dispatched to.

pub mod get;
pub mod list;
pub mod put;
