//! The registry kept in PostgreSQL, shared by any number of servers.
//!
//! Implements the ports of `ostiary-domain`: reads rows, lets the domain decide, writes the changes with their guards in one
//! transaction. It must not decide anything itself, and nothing but SQL is particular to it: the conformance suite of
//! the ports passes here as it does on SQLite, whose crate has the same files.
//!
//! What is particular to many writers stands in one place, `transaction`: who waits for whom, what is tried again, and
//! where the time comes from. Start with [`PostgresStore::open`], then `transaction`, then `gate`.

mod approval;
mod audit;
#[cfg(feature = "cluster")]
pub mod cluster;
mod drift;
mod evidence;
mod feed;
mod gate;
mod grants;
mod hints;
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
mod settings;
mod store;
mod submit;
mod transaction;
mod version;
mod waiver;
mod webhook;

pub use hints::Hints;
pub use ostiary_domain::ports::StorePorts as Ports;
pub use settings::{Settings, SettingsError, TimeSource};
pub use store::{OpenError, PostgresStore};
