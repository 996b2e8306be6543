//! What a router embeds: a verified, never older copy of what is admitted, and a local decision that fails closed.
//!
//! Must not know how the control plane stores or judges anything. Start with [`Router`], then [`RouterConfig`] for what
//! it can be told, then [`Dispatch`] for what it hands out.

mod config;
mod copy;
mod dispatch;
mod downstream;
mod drift;
mod outcomes;
mod ports;
#[cfg(test)]
mod ports_for_tests;
mod router;
mod signal;
mod status;
mod time;
mod view;

pub use config::{ConfigError, InFlight, RouterConfig, Token};
pub use dispatch::{Dispatch, Revoked};
pub use downstream::Downstream;
pub use ostiary_admission::{Decision, DecisionReason, Observed, Outcome, Query, ViewScope};
pub use ostiary_canon::{Digest, Revision, dsse::Keyring};
pub use ports::{Entropy, Ports, System, Time};
pub use router::{CouldNotDecide, Router};
pub use signal::{Signal, Subject};
pub use status::{Phase, ScopeStatus, Status};
pub use time::{Bounds, Echoed, Range};
pub use tonic::transport::Endpoint;
pub use view::Trouble;
