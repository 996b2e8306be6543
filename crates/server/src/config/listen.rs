//! Where the server listens.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use serde::Deserialize;

use super::ConfigProblem;

/// The HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address and port.
    pub listen: SocketAddr,
    /// Most bytes of a JSON body.
    pub body_bytes: usize,
    /// Most bytes of a bundle archive.
    pub bundle_bytes: usize,
}

/// The gRPC API.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrpcConfig {
    /// Address and port.
    pub listen: SocketAddr,
    /// Whether the listener describes its services to whoever asks.
    pub reflection: bool,
    /// How long a new connection has for its greeting, in seconds.
    pub greeting_seconds: u64,
    /// After which silence a peer is asked whether it is still there, and how long it has to answer, in seconds. Routers
    /// that died without a word are found by it.
    pub keepalive_seconds: u64,
}

/// Longest patience with a peer.
const MAX_SECONDS: u64 = 60;

const HTTP_PORT: u16 = 8420;
const GRPC_PORT: u16 = 8421;

// === impl HttpConfig ===

impl HttpConfig {
    /// On the loopback address, on a port that the system chooses.
    #[must_use]
    pub fn any_port() -> Self {
        Self { listen: loopback(0), ..Self::default() }
    }
}

impl Default for HttpConfig {
    /// 256 KiB of JSON is a hundred times the largest request of ours; a bundle may have what `contract` takes.
    fn default() -> Self {
        Self { listen: loopback(HTTP_PORT), body_bytes: 256 << 10, bundle_bytes: 32 << 20 }
    }
}

// === impl GrpcConfig ===

impl GrpcConfig {
    /// On the loopback address, on a port that the system chooses.
    #[must_use]
    pub fn any_port() -> Self {
        Self { listen: loopback(0), ..Self::default() }
    }

    /// The time for a greeting.
    #[must_use]
    pub const fn greeting(&self) -> Duration {
        Duration::from_secs(self.greeting_seconds)
    }

    /// The interval of pings.
    #[must_use]
    pub const fn keepalive(&self) -> Duration {
        Duration::from_secs(self.keepalive_seconds)
    }

    pub(super) fn validate(&self) -> Vec<ConfigProblem> {
        let seconds = [("greeting", self.greeting_seconds), ("keepalive", self.keepalive_seconds)];
        let odd = seconds.into_iter().filter(|(_, seconds)| !(1..=MAX_SECONDS).contains(seconds));
        odd.map(|(name, seconds)| {
            let message = format!("`grpc.{name}_seconds` is {seconds}");
            ConfigProblem::of(message, format!("give 1 to {MAX_SECONDS}"))
        })
        .collect()
    }
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self { listen: loopback(GRPC_PORT), reflection: true, greeting_seconds: 10, keepalive_seconds: 10 }
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
