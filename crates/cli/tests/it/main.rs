//! The binary as people and scripts use it: exit codes, JSON, and the whole way from a bundle to a router's answer.

#![expect(clippy::unwrap_used, reason = "an assumption that fails is a failed test")]

mod cards;
mod demo;
mod documents;
mod drift;
mod hostile;
mod mcp;
mod offline;
mod program;
mod registry;
mod verify;
