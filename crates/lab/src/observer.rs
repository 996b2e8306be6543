//! What watches a candidate's effects from outside, and says what it cannot see.

pub mod egress;
pub(crate) mod observed;
pub mod sql;
