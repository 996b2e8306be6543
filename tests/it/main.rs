//! End-to-end tests, one binary: agents of other people, the real binary, the real store.

mod export;
mod fasta2a;
mod postgres;
mod outputs;
mod sdk_agent;
mod signatures;
mod store;
