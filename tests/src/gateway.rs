//! A control plane with one admitted agent, a sidecar over it, and other people's gateways in front of the agent.

mod client;
mod proxy;
mod registry;

pub use client::{Answer, Client, MESSAGE};
pub use proxy::{Gateway, Where};
pub use registry::{AGENT, PROFILE, Registry, Sidecar, VERSION, registered, token};
