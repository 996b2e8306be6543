//! Where the server listens.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

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
}

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
}

impl Default for GrpcConfig {
    fn default() -> Self {
        Self { listen: loopback(GRPC_PORT), reflection: true }
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
