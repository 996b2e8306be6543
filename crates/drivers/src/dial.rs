//! From a URL to a connected stream: routing, guard, TCP, TLS.

use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};

use bytes::BytesMut;
use ostiary_record::{MonoNanos, ports::CouldNotRun};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::{
    guard::AddressGuard,
    io::Stream,
    settings::{Authority, Settings, SettingsError},
    tls::{self, Clients},
};

/// Makes connections by the operator's settings.
#[derive(Clone)]
pub(crate) struct Dialer {
    connect_to: BTreeMap<Authority, Authority>,
    tls: Clients,
    pub(crate) allow_insecure_http: bool,
    pub(crate) guard: AddressGuard,
}

/// The part of a URL that decides where to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) secure: bool,
    /// Whether HTTP/2 is spoken.
    pub(crate) http2: bool,
    pub(crate) authority: Authority,
}

/// A connection with what is known about it.
pub(crate) struct Conn {
    pub(crate) stream: Stream,
    /// Bytes read and not yet used.
    pub(crate) unread: BytesMut,
    /// The address that was checked and dialled.
    pub(crate) peer: SocketAddr,
    /// SHA-256 of the server key, over TLS.
    pub(crate) spki_sha256: Option<String>,
    /// Answers it has carried.
    pub(crate) answers: u32,
    /// When the last answer ended.
    pub(crate) idle_since: MonoNanos,
}

/// No connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DialError {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
    /// There is a connection, and whoever is there does not speak TLS.
    #[error("TLS: {0}")]
    NoTls(String),
}

// === impl Dialer ===

impl Dialer {
    pub(crate) fn new(settings: Settings) -> Result<Self, SettingsError> {
        let mut problems = Vec::new();
        let mut connect_to = BTreeMap::new();
        for (from, to) in &settings.connect_to {
            match (from.parse::<Authority>(), to.parse::<Authority>()) {
                (Ok(from), Ok(to)) => {
                    connect_to.insert(from, to);
                }
                (from, to) => problems.extend([from.err(), to.err()].into_iter().flatten().map(Into::into)),
            }
        }
        match tls::clients(settings.trust_roots.as_deref()) {
            Ok(tls) if problems.is_empty() => {
                let Settings { allow_insecure_http, guard, .. } = settings;
                Ok(Self { connect_to, tls, allow_insecure_http, guard })
            }
            Ok(_) => Err(SettingsError(problems)),
            Err(problem) => {
                problems.push(problem);
                Err(SettingsError(problems))
            }
        }
    }

    /// The origin of a URL that may be called at all.
    pub(crate) fn origin(&self, url: &Url) -> Result<Origin, DialError> {
        let secure = match url.scheme() {
            "https" => true,
            "http" if self.allow_insecure_http => false,
            "http" => return Err(DialError::Refused("plain http is not allowed in this environment".to_owned())),
            other => return Err(DialError::Refused(format!("scheme `{other}` is not http or https"))),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(DialError::Refused("credentials in the URL".to_owned()));
        }
        match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) if port != 0 => {
                Ok(Origin { secure, http2: false, authority: Authority::new(host, port) })
            }
            _ => Err(DialError::Refused("no host to connect to".to_owned())),
        }
    }

    /// Connects, within a time for name, TCP and TLS together.
    pub(crate) async fn dial(
        &self,
        origin: &Origin,
        guard: &AddressGuard,
        within: Duration,
    ) -> Result<Conn, DialError> {
        match tokio::time::timeout(within, self.connect(origin, guard)).await {
            Ok(result) => result,
            Err(_) => Err(DialError::Failed(format!("no connection within {} ms", within.as_millis()))),
        }
    }

    /// The addresses that an origin is dialled at, by routing and guard.
    pub(crate) async fn addresses(&self, origin: &Origin, guard: &AddressGuard) -> Result<Vec<SocketAddr>, DialError> {
        if let Some(routed) = self.connect_to.get(&origin.authority) {
            return resolve(routed).await;
        }
        let addresses = resolve(&origin.authority).await?;
        // One bad address refuses the name: honest names do not answer with an inner and an outer address.
        for address in &addresses {
            guard.check(&origin.authority, address.ip()).map_err(|r| DialError::Refused(r.to_string()))?;
        }
        Ok(addresses)
    }

    /// The same, except that an origin is dialled at `to`.
    pub(crate) fn led(&self, origin: &Origin, to: SocketAddr) -> Self {
        let mut led = self.clone();
        let host = if to.is_ipv6() { format!("[{}]", to.ip()) } else { to.ip().to_string() };
        led.connect_to.insert(origin.authority.clone(), Authority::new(&host, to.port()));
        led
    }

    async fn connect(&self, origin: &Origin, guard: &AddressGuard) -> Result<Conn, DialError> {
        let tcp = connect_first(&self.addresses(origin, guard).await?).await?;
        let peer = tcp.peer_addr().map_err(|e| DialError::Failed(e.to_string()))?;
        // Delay would only blur the times on the tape; where it cannot be switched off, nothing is lost but that.
        let _ = tcp.set_nodelay(true);
        let (stream, spki_sha256) =
            if origin.secure { self.secure(origin, tcp).await? } else { (Stream::Plain(tcp), None) };
        Ok(Conn { stream, unread: BytesMut::new(), peer, spki_sha256, answers: 0, idle_since: MonoNanos(0) })
    }

    async fn secure(&self, origin: &Origin, tcp: TcpStream) -> Result<(Stream, Option<String>), DialError> {
        let authority = &origin.authority;
        let name = ServerName::try_from(authority.bare_host().to_owned())
            .map_err(|_| DialError::Failed(format!("`{}` cannot be a name in a certificate", authority.host())))?;
        let client = if origin.http2 { &self.tls.http2 } else { &self.tls.http1 };
        let tls = TlsConnector::from(Arc::clone(client)).connect(name, tcp).await;
        let tls = tls.map_err(|e| {
            if speaks_tls(&e) { DialError::Failed(format!("TLS: {e}")) } else { DialError::NoTls(e.to_string()) }
        })?;
        let connection = tls.get_ref().1;
        if origin.http2 && connection.alpn_protocol() != Some(b"h2") {
            return Err(DialError::Failed("the server did not agree to HTTP/2 (ALPN `h2`)".to_owned()));
        }
        let spki = tls::spki_sha256(connection.peer_certificates());
        Ok((Stream::Tls(Box::new(tls)), spki))
    }
}

// === impl DialError ===

impl DialError {
    /// As the engine names it.
    pub(crate) fn about(self, target: &str) -> CouldNotRun {
        let target = target.to_owned();
        match self {
            Self::Refused(why) => CouldNotRun::AddressRefused { target, why },
            Self::Failed(why) => CouldNotRun::Unreachable { target, why },
            Self::NoTls(why) => CouldNotRun::Unreachable { target, why: format!("TLS: {why}") },
        }
    }
}

/// Whether a handshake failed over what TLS said: a certificate, an alert. What is no TLS cannot be read as such, or ends.
fn speaks_tls(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    inner.is_some_and(|error| !matches!(error, rustls::Error::InvalidMessage(_)))
}

async fn resolve(authority: &Authority) -> Result<Vec<SocketAddr>, DialError> {
    let found = tokio::net::lookup_host((authority.bare_host(), authority.port())).await;
    let addresses: Vec<_> =
        found.map_err(|e| DialError::Failed(format!("`{}` has no address: {e}", authority.host())))?.collect();
    if addresses.is_empty() {
        return Err(DialError::Failed(format!("`{}` has no address", authority.host())));
    }
    Ok(addresses)
}

async fn connect_first(addresses: &[SocketAddr]) -> Result<TcpStream, DialError> {
    let mut failures = Vec::new();
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(tcp) => return Ok(tcp),
            Err(error) => failures.push(format!("{address}: {error}")),
        }
    }
    Err(DialError::Failed(failures.join("; ")))
}
