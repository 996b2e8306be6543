//! The control plane: takes submissions, judges recordings, signs evidence, answers routers.
//!
//! It authenticates, wires and serves. What a version may become, whether a gate opens and whether a dispatch is allowed
//! is decided by pure code elsewhere (`domain`, `verify`, `admission`); here facts are brought to it and its answers are
//! carried out. Must not hold a rule of its own about agents, and must not drive a candidate: workers do, and workers
//! hold no key.
//!
//! Start with [`Server::start`], then the path of a submission: `http/versions/submit.rs` → `jobs.rs` → `gate.rs` →
//! `feed.rs` → `grpc/admission.rs`.

pub mod app;
pub mod auth;
pub mod config;
mod courier;
pub mod database;
mod drift;
pub mod driven;
pub mod entropy;
pub mod error;
#[cfg(feature = "failpoints")]
pub mod failpoint;
pub mod feed;
pub mod gate;
pub mod granted;
pub mod grpc;
pub mod heads;
pub mod http;
pub mod jobs;
pub mod metrics;
pub mod projection;
pub mod proof;
pub mod recordings;
pub mod report;
pub mod secret_file;
pub mod server;
pub mod snapshot;
pub mod system;
pub mod tasks;
pub mod wake;

pub use config::{Config, ConfigError, RolesOf, TokenConfig};
pub use server::{Running, Server, StartError};
