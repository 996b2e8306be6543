//! The planning agent of the documentation: it turns a work request into one draft plan.
//!
//! It speaks A2A 1.0 over JSON-RPC, keeps its drafts, outbox and tasks in a SQLite store of its own, and checks bearer
//! tokens itself. It is written by hand on the plain protocol and shares no code with the verifier, so that "honest"
//! means honest and not "agrees with us". For each lie that the verifier must catch there is a switch ([`Lie`]).
//!
//! It must not know: any other crate of this workspace.
//!
//! Start at [`PlanningAgent::start`]; `agent.rs` holds the operations, `work.rs` what a task does, `store.rs` what is
//! kept. An MCP server in front of the same store belongs beside `http.rs`, once there is one.

mod agent;
mod card;
mod clock;
mod config;
mod http;
mod lies;
mod live;
mod rpc;
mod server;
mod store;
mod task;
mod tls;
mod token;
mod work;

pub use config::{Config, ConfigError, StoreAt};
pub use lies::{Lie, Lies, UnknownLie};
pub use server::{PlanningAgent, Running, StartError};
pub use store::{Ledger, StoreError};
pub use tls::{Authority, TlsError, TlsIdentity};
pub use token::{Trust, TrustError};
