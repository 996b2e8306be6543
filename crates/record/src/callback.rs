//! What arrives at a callback receiver, and how the receiver behaves: push notifications as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{blob::Blob, event::MonoNanos};

/// How a registered address behaves, and what a delivery must show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Its name in recordings: `push`.
    pub name: String,
    /// The answers to the deliveries in their order; the last one holds for all further ones. Empty = 200.
    #[serde(default)]
    pub replies: Vec<Reply>,
    /// What each delivery must show; empty = nothing is asked.
    #[serde(default)]
    pub proofs: Vec<Proof>,
}

/// An answer of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// This status.
    Status(u16),
    /// This status, later.
    Slow {
        /// How much later.
        millis: u64,
        /// The status.
        status: u16,
    },
    /// 307 to another address, which keeps method and body.
    Redirect(String),
    /// None; the connection stays until the sender leaves.
    Silence,
    /// None; the connection is closed, so that the sender cannot know that the delivery came.
    Broken,
}

/// What a delivery must show.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// `Authorization: SCHEME CREDENTIALS`, as `authentication` of the push configuration says.
    Authorization {
        /// `Bearer`, `Basic`; compared without regard to case (RFC 9110 §11.1).
        scheme: String,
        /// What follows it.
        credentials: String,
    },
    /// The `token` of the push configuration in one of these header fields: no specification names one, and SDKs use
    /// `X-A2A-Notification-Token` or `A2A-Notification-Token`.
    Token {
        /// The fields, any of them.
        fields: Vec<String>,
        /// The value.
        value: String,
    },
    /// `Authorization: Bearer JWT`, signed by one of these keys, within its time, for this audience.
    Jwt {
        /// The key set (RFC 7517).
        jwks: serde_json::Value,
        /// The `aud`.
        audience: String,
        /// The `iss`, where it matters.
        issuer: Option<String>,
    },
}

/// Whether a delivery showed what it must.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Nothing was asked.
    NotAsked,
    /// All of it.
    Right,
    /// Nothing of it.
    Missing,
    /// Something else.
    Wrong(String),
}

/// One delivery. Credentials in it are replaced on arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Place among all deliveries of the receiver, from 0.
    pub n: u64,
    /// When its head had arrived, on the run's clock.
    pub at: MonoNanos,
    /// The name of the registration; `None` = an address that nobody registered.
    pub to: Option<String>,
    /// Whether the address had been withdrawn before.
    pub withdrawn: bool,
    /// `POST`.
    pub method: String,
    /// The request target.
    pub target: String,
    /// Header fields; only the first of each name, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, as far as it was kept.
    pub body: Blob,
    /// Whether more of the body came than is kept.
    pub cut: bool,
    /// Whether it showed what it must.
    pub shown: Shown,
    /// The status of the answer; `None` = none is given.
    pub answered: Option<u16>,
}

/// What arrived at one address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// What was kept, oldest first.
    pub deliveries: Vec<Delivery>,
    /// How many more came and were only counted.
    pub dropped: u64,
}

impl std::fmt::Debug for Proof {
    /// Without what is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Authorization { scheme, .. } => write!(f, "Authorization({scheme})"),
            Self::Token { fields, .. } => write!(f, "Token({fields:?})"),
            Self::Jwt { audience, issuer, .. } => write!(f, "Jwt({audience}, {issuer:?})"),
        }
    }
}
