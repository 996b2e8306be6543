//! Contract bundles: uploaded once, named by digest for ever.

pub mod upload;
