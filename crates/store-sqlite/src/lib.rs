//! The registry kept in one SQLite file, for one process.
//!
//! Implements the ports of `ostiary-domain`: reads rows, lets the domain decide, writes the changes with their guards in one
//! transaction. It must not decide anything itself, and nothing but SQL is particular to it: the conformance suite of
//! the ports passes here as it does on any other store.
//!
//! Start with [`SqliteStore::open`], then `transaction`, then `gate`.

mod approval;
mod audit;
mod drift;
mod evidence;
mod feed;
mod gate;
mod grants;
mod hold;
mod idempotency;
mod job;
mod object;
mod operate;
mod outcomes;
mod policy;
mod registry;
mod route;
mod row;
mod store;
mod submit;
mod transaction;
mod version;
mod waiver;
mod webhook;

pub use ostiary_domain::ports::StorePorts as Ports;
pub use store::{OpenError, SqliteStore};
