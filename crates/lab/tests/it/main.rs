//! The laboratory on real sockets and files: each lie told in front of an honest agent, on the wire and over its recording,
//! with the honest twin; each fault; the doubles; the observers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod behind;
mod callback;
mod egress;
mod faults;
mod lies;
mod oidc;
mod passing;
mod sql;
mod story;
mod tcp_faults;
mod web;
