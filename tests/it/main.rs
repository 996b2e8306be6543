//! End-to-end tests, one binary: agents of other people, the real binary, the real store.

mod fasta2a;
mod sdk_agent;
mod signatures;
mod store;
