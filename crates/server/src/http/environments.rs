//! Verification environments: registered by operators, named by publishers.

pub mod get;
pub mod list;
pub mod put;
