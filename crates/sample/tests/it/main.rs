//! The planning agent over real HTTP: each promise kept, and each lie told.

#![expect(clippy::unwrap_used, reason = "an assumption that fails is a failed test")]

mod authorization;
mod honest;
mod lies;
mod streams;
mod support;
mod tls;
