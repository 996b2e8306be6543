//! The audit log: one entry a revision, each bound to the one before.

pub mod list;
pub mod verify;
