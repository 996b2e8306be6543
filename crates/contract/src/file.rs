//! The types of every file of a bundle, one file kind a module.

pub mod authorization;
pub mod case;
pub mod contract;
pub mod coverage;
pub mod drift;
pub mod error;
pub mod evidence;
pub mod invariants;
pub mod machine;
pub mod operations;
pub mod reasons;
pub mod skill;
pub mod snapshot;
pub mod temporal;
pub mod tools;
