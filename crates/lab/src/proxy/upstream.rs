//! The agent behind the proxy.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, header, request::Parts};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Where the agent is, and how it is spoken to.
#[derive(Clone)]
pub struct Upstream {
    authority: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

/// Fields that belong to one connection and are not passed on (RFC 9110 §7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

// === impl Upstream ===

impl Upstream {
    /// An agent that speaks plain HTTP at `host:port`.
    #[must_use]
    pub fn plain(authority: impl Into<String>) -> Self {
        Self { authority: authority.into(), tls: None }
    }

    /// An agent that speaks TLS at `host:port`, with the name that its certificate must carry.
    #[must_use]
    pub fn tls(authority: impl Into<String>, config: Arc<ClientConfig>, name: ServerName<'static>) -> Self {
        Self { authority: authority.into(), tls: Some((config, name)) }
    }

    /// Passes one request on, over a connection of its own.
    pub(super) async fn send(
        &self,
        parts: Parts,
        body: Bytes,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Response<Incoming>, BoxError> {
        let request = Request::from_parts(parts, Full::new(body));
        let tcp = TcpStream::connect(&self.authority).await?;
        tcp.set_nodelay(true)?;
        match &self.tls {
            None => exchange(tcp, request, tasks, stop).await,
            Some((config, name)) => {
                let tls = TlsConnector::from(Arc::clone(config)).connect(name.clone(), tcp).await?;
                exchange(tls, request, tasks, stop).await
            }
        }
    }
}

/// Drops what belongs to the other connection.
pub(crate) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Result<Response<Incoming>, BoxError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) =
        http1::Builder::new().preserve_header_case(true).handshake(TokioIo::new(stream)).await?;
    let stop = stop.clone();
    tasks.spawn(async move {
        // How the connection ends is seen by whoever reads the answer.
        let _ = stop.run_until_cancelled(connection).await;
    });
    Ok(sender.send_request(request).await?)
}
