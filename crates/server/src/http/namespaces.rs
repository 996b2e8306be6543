//! Namespaces: who owns agents, and how hard admission is enforced for them.

pub mod list;
pub mod put;
