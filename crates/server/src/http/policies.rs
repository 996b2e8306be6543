//! Policies: what each gate requires, by digest, and which one is in force.

pub mod current;
pub mod get;
pub mod put;
