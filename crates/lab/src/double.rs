//! What stands in for parts that a candidate depends on.

pub mod callback;
pub mod identity;
pub mod key;
pub mod oidc;
mod serve;
pub mod token;
mod verify;
