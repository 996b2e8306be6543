//! Revisions: how far what was changed has come.

pub mod applied;
