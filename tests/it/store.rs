//! What the registry keeps and decides, against the rest of the house. The conformance suite of the store's ports runs in
//! each store's own crate.

mod policy;
