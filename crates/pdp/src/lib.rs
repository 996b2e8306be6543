//! A policy decision point: answers routers from one view of what is admitted, over whatever they speak.
//!
//! The control plane is one over its own index; a sidecar is one over the copy that its router library keeps. Both serve
//! the same questions, the same watch streams, Envoy's `ext_authz` and HTTP forward-auth. Must not know where the view
//! comes from, nor who signs it. Start with [`Hub`], which a host publishes into, and [`Api`], which it serves.

mod api;
pub mod ext_authz;
pub mod forward_auth;
mod gateway;
mod grants;
mod hub;
mod ports;
mod watchers;

pub use api::{Api, SnapshotStream, WatchStream};
pub use hub::{Hub, HubCounters};
pub use ports::{Clock, Decided, Freshen, Guard, HeadSource, Mismatches, Nobody};
pub use watchers::{Floor, Pending, Proof};
