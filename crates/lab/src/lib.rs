//! The laboratory around a candidate: what stands in for others, what disturbs it, and later what watches it.
//!
//! Does: one reverse proxy in front of a real agent whose policies are data ([`proxy`]), the same lies as a pure
//! function over recordings ([`mutate`]), and doubles of the parts that a candidate depends on ([`double`]). Must not
//! know contracts, checks or verdicts: a lie is told without knowing who will catch it.
//!
//! Start with [`proxy::Lie`]. What a lie does to an answer is decided in `proxy/tell.rs`, once for the wire and for
//! recordings.

pub mod double;
pub mod proxy;

pub use double::{
    identity::{CredentialOf, Issuer, Subject, SyntheticIdentity},
    token::{Claims, TokenSigner},
};
pub use proxy::{
    LyingProxy, Options, Upstream,
    lie::{Lie, UnknownLie},
    mutate::{mutate, mutate_all},
    policy::{Policy, Trigger},
};
