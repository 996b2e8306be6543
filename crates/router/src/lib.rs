//! What a router embeds: a verified, never older copy of what is admitted, and a local decision that fails closed.
//!
//! Must not know how the control plane stores or judges anything. Start with [`Router`], then [`RouterConfig`] for what
//! it can be told, then [`Dispatch`] for what it hands out.

mod config;
mod copy;
mod disk;
mod dispatch;
mod downstream;
mod drift;
mod keeper;
mod layer;
mod link;
mod metrics;
mod miss;
mod outcomes;
mod ports;
mod reports;
mod router;
mod signal;
mod status;
#[cfg(test)]
mod test_clock;
mod time;
mod view;

pub use config::{ConfigError, InFlight, RouterConfig, Token};
pub use dispatch::{Dispatch, Question, Revoked};
pub use downstream::{Downstream, RelayedHead};
pub use layer::{Admission, AdmissionLayer, Ask, Checked, Severed};
pub use ostiary_admission::{Decision, DecisionReason, Observed, Outcome, Query, ViewScope};
pub use ostiary_canon::{
    Digest, Revision,
    dsse::{Jwks, Keyring},
};
pub use ports::{Entropy, Ports, System, Time};
pub use router::{Choice, CouldNotDecide, Refusal, Router};
pub use signal::{Signal, Subject};
pub use status::{Phase, ScopeStatus, Status};
pub use time::{Bounds, Echoed, Range};
pub use tonic::transport::Endpoint;
pub use view::Trouble;

/// The page for people, whose example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/router-library.md")]
struct Page;
