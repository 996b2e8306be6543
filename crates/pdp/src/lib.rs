//! A policy decision point: answers routers from one view of what is admitted, over whatever they speak.
//!
//! The control plane is one over its own index; a sidecar is one over the copy that its router library keeps. Both serve
//! the same questions, the same watch streams, Envoy's `ext_authz` and HTTP forward-auth. Must not know where the view
//! comes from, nor who signs it. Start with [`Hub`](crate) once it is here.

pub mod ext_authz;
pub mod forward_auth;
mod gateway;
