//! What stands in for parts that a candidate depends on.

pub mod identity;
pub mod token;
