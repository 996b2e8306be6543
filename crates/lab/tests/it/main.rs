//! Each lie told in front of an honest agent, on the wire and over its recording; and the honest twin.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod behind;
mod faults;
mod lies;
mod passing;
mod story;
mod tcp_faults;
