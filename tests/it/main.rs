//! End-to-end tests, one binary: agents of other people, the real binary, the real store.

mod ci;
mod coverage;
mod export;
mod fasta2a;
mod gateways;
mod hostile;
mod laboratory;
mod mcp;
mod outputs;
mod own_agent;
mod postgres;
mod promises;
mod sdk_agent;
mod sidecars;
mod signatures;
mod steady;
mod store;
mod targets;
