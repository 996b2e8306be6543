//! The `ostiary` binary.
fn main() {}
