//! Holds: a version is kept from some dispatches without changing its state.

pub mod lift;
pub mod list;
pub mod set;
