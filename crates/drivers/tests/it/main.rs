//! The drivers against servers written by hand: nothing between the bytes of a test and the bytes on the wire.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod channel;
mod client;
mod fetch;
mod grpc;
mod grpc_server;
mod hostile;
mod secure;
mod server;
mod setup;
mod stdio;
