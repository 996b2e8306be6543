//! Contract bundles: uploaded once, named by digest for ever.

pub mod get;
pub mod upload;
