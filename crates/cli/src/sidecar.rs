//! A decision point beside its callers: one verified copy, kept by the router library, answers questions, gateways and
//! further routers on this machine.
//!
//! [`relay`] carries what the library verified into a hub; [`answers`] serves from it, and asks the control plane where
//! the copy is silent; [`listen`] and [`http`] put it on sockets; [`doubts`] says why no copy comes.

mod answers;
mod clock;
mod doubts;
mod http;
mod listen;
mod relay;
mod upstream;

pub(crate) use answers::Answers;
pub(crate) use doubts::doubts;
pub(crate) use http::serve as serve_http;
pub(crate) use listen::{Place, Socket, serve as serve_grpc};
pub(crate) use relay::Relay;
pub(crate) use upstream::Upstream;
