//! Sockets: a local TCP address or a Unix path, and gRPC on one.

use std::{fmt, io, net::SocketAddr, os::unix::fs::FileTypeExt as _, path::PathBuf, str::FromStr, time::Duration};

use ostiary_pdp::ext_authz::{self, AuthorizationServer, ExtAuthz};
use ostiary_proto::{
    admission::v1::admission_service_server::AdmissionServiceServer,
    drift::v1::drift_service_server::DriftServiceServer,
};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Server, server::TcpIncoming};

use super::{Answers, Upstream};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An address.
    Tcp(SocketAddr),
    /// A path.
    Unix(PathBuf),
}

/// A place that is listened on.
pub(crate) enum Socket {
    /// An address.
    Tcp(TcpListener),
    /// A path, and what takes it away again.
    Unix(UnixListener, Path),
}

/// A socket's path, removed when dropped.
pub(crate) struct Path(PathBuf);

/// How often is looked whether whoever follows is still there, and how long that may take to answer.
const KEEPALIVE: Duration = Duration::from_secs(20);

/// Largest question: ten fields of names and digests need a tenth of it.
const QUESTION: usize = 16 << 10;

// === impl Place ===

impl Place {
    /// Whether only this machine reaches it.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// Listens there. A path that a dead process left behind is taken over.
    pub(crate) async fn bind(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(address) => TcpListener::bind(address).await.map(Socket::Tcp),
            Self::Unix(path) => {
                let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                // nobody listens any more; that we may not connect would say nothing of that
                let dead = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
                if is_socket && UnixStream::connect(path).await.is_err_and(dead) {
                    std::fs::remove_file(path)?;
                }
                Ok(Socket::Unix(UnixListener::bind(path)?, Path(path.clone())))
            }
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("name the path: unix:/run/x.sock".to_owned())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        text.parse().map(Self::Tcp).map_err(|_| format!("`{text}` is neither `127.0.0.1:8431` nor `unix:/path`"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

// === impl Socket ===

impl Socket {
    /// Where it really is: port 0 becomes the one that was given.
    pub(crate) fn place(&self) -> io::Result<Place> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Place::Tcp),
            Self::Unix(_, path) => Ok(Place::Unix(path.0.clone())),
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        // gone already, or not ours any more: either way there is nothing left to do
        drop(std::fs::remove_file(&self.0));
    }
}

/// Serves questions, streams, Envoy and reports until `stop` fires, then finishes what is under way.
pub(crate) async fn serve(
    socket: Socket,
    answers: Answers,
    upstream: Upstream,
    stop: CancellationToken,
) -> Result<(), tonic::transport::Error> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<AdmissionServiceServer<Answers>>().await;
    let envoy = ExtAuthz::new(std::sync::Arc::new(answers.clone()));
    let routes = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .add_service(health_service)
        .add_service(AdmissionServiceServer::new(answers).max_decoding_message_size(QUESTION))
        .add_service(AuthorizationServer::new(envoy).max_decoding_message_size(ext_authz::LARGEST))
        .add_service(DriftServiceServer::new(upstream));
    match socket {
        Socket::Tcp(listener) => {
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            routes.serve_with_incoming_shutdown(incoming, stop.cancelled_owned()).await
        }
        Socket::Unix(listener, _path) => {
            routes.serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.cancelled_owned()).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_or_a_path() {
        for (text, local) in
            [("127.0.0.1:0", true), ("[::1]:8431", true), ("0.0.0.0:8431", false), ("unix:/run/x", true)]
        {
            let place: Place = text.parse().expect(text);
            assert_eq!((place.to_string().as_str(), place.is_local()), (text, local));
        }
        for wrong in ["8431", "localhost:8431", "unix:", "/run/x"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_path_of_the_dead_is_taken_over_and_one_of_the_living_is_not() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let place = Place::Unix(folder.path().join("s"));
        // a listener of the standard library leaves its path behind
        drop(std::os::unix::net::UnixListener::bind(folder.path().join("s")).expect("free"));
        let living = place.bind().await.expect("taken over");
        assert!(place.bind().await.is_err());
        drop(living);
        assert!(!folder.path().join("s").exists());
    }
}
