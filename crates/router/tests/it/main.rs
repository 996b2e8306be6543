//! The router library against the control plane's own decision point, over sockets (L-04, P-03, R-01).
#![expect(clippy::unwrap_used, reason = "helpers outside test functions; a failing set-up fails the test")]

mod asking;
mod clock;
mod cost;
mod cut;
mod honest;
mod layer;
mod partition;
mod plane;
mod proxy;
mod reports;
mod restart;
