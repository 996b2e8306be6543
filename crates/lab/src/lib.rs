//! The laboratory around a candidate: what stands in for others, what disturbs it, and what watches it.
//!
//! Does: one reverse proxy in front of a real agent whose policies are data ([`proxy`]), the same lies as a pure
//! function over recordings ([`mutate`]), doubles of the parts that a candidate depends on ([`double`]), and observers of
//! its effects ([`observer`]). Must not know contracts, checks or verdicts: a lie is told without knowing who will catch
//! it. Each part says as data what it cannot see or do.
//!
//! Start with [`proxy::Lie`] and `ostiary_record::ports`. What a lie does to an answer is decided in `proxy/tell.rs`, once
//! for the wire and for recordings; what a fault does to bytes, in `proxy/fault/shaper.rs`.

mod clock;
pub mod double;
pub mod observer;
pub mod proxy;

pub use clock::SinceStart;
pub use double::{
    callback::{CallbackOptions, CallbackReceiver},
    identity::{CredentialOf, Subject},
    key::JwtKey,
    oidc::{Asked, IssuerOptions, OidcProvider, SyntheticIssuer},
    token::{Claims, TokenSigner},
};
pub use observer::{
    egress::{AllowList, Departure, EgressObserver, EgressOptions, NoHost},
    sql::{SqlObserver, SqlOptions, WatchedTable},
};
pub use proxy::{
    FaultHandle, LyingProxy, Options, TcpOptions, TcpProxy, Upstream,
    lie::{Lie, UnknownLie},
    mutate::{mutate, mutate_all},
    policy::{Policy, Trigger},
};
