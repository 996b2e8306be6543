//! HTTP/2 for gRPC: one connection of a channel, a stream for each exchange.
//!
//! The frames are those of `h2`; what goes into them is the caller's: every byte of DATA, every field. Nothing is sent
//! again after a connection broke, and a connection that takes no new streams is replaced before the next is begun.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use ostiary_record::{
    Route,
    ports::{CouldNotRun, Limits, Outbound, Target},
};
use tokio::task::{AbortHandle, JoinSet};
use url::Url;

use crate::{
    channel::{Prepared, Speaker},
    dial::{DialError, Dialer, Origin},
    http2::exchange::Http2Exchange,
};

mod exchange;

/// Where a channel of HTTP/2 leads, with its connection.
pub(crate) struct Http2Link {
    dialer: Arc<Dialer>,
    origin: Origin,
    /// The host as the request names it, with its port where that is not the scheme's own.
    authority: String,
    header_bytes: u32,
    /// Held while a connection is made, so that exchanges that begin together share it.
    open: tokio::sync::Mutex<Option<Alive>>,
    /// What drives the connections; those that were replaced still carry their streams to the end.
    driving: std::sync::Mutex<JoinSet<()>>,
}

struct Alive {
    sender: SendRequest<Bytes>,
    driver: AbortHandle,
}

/// A stream's window: what may be on its way unread.
const STREAM_WINDOW: u32 = 256 << 10;
/// A connection's window, for all its streams.
const CONNECTION_WINDOW: u32 = 1 << 20;

// === impl Http2Link ===

impl Http2Link {
    /// Connects: TLS where the address says so or does not say, plaintext where it says so and the environment allows it.
    /// An address without a scheme is tried with TLS first; a peer that does not speak it is met in plaintext only where
    /// the environment allows that.
    pub(crate) async fn open(dialer: Arc<Dialer>, target: &Target, limits: Limits) -> Result<Arc<Self>, CouldNotRun> {
        let refused = |why: String| CouldNotRun::AddressRefused { target: target.url.clone(), why };
        let (url, bare) = address(&target.url).map_err(refused)?;
        let origin = dialer.origin(&url).map_err(|e| e.about(&target.url))?;
        let mut link = Self {
            authority: match (url.host_str().unwrap_or_default(), url.port()) {
                (host, Some(port)) => format!("{host}:{port}"),
                (host, None) => host.to_owned(),
            },
            origin: Origin { http2: true, ..origin },
            header_bytes: limits.header_bytes,
            dialer,
            open: tokio::sync::Mutex::default(),
            driving: std::sync::Mutex::default(),
        };
        let first = match link.connect(limits.connect).await {
            Err(DialError::NoTls(_)) if bare && link.dialer.allow_insecure_http => {
                link.origin.secure = false;
                link.connect(limits.connect).await
            }
            other => other,
        };
        *link.open.get_mut() = Some(first.map_err(|e| e.about(&target.url))?);
        Ok(Arc::new(link))
    }

    /// A sender that takes a new stream.
    async fn sender(&self, within: Duration) -> Result<SendRequest<Bytes>, DialError> {
        let mut open = self.open.lock().await;
        if let Some(alive) = open.as_ref().filter(|alive| !alive.driver.is_finished()) {
            // fails at once where the peer takes no more streams: nothing of the request has left yet
            if let Ok(ready) = alive.sender.clone().ready().await {
                return Ok(ready);
            }
        }
        let alive = self.connect(within).await?;
        let sender = alive.sender.clone();
        *open = Some(alive);
        sender.ready().await.map_err(|e| DialError::Failed(exchange::why(&e)))
    }

    /// Breaks the connection off, with all its streams.
    async fn drop_connection(&self) {
        if let Some(alive) = self.open.lock().await.take() {
            alive.driver.abort();
        }
    }

    async fn connect(&self, within: Duration) -> Result<Alive, DialError> {
        let conn = self.dialer.dial(&self.origin, &self.dialer.guard, within).await?;
        let handshake = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // twice the bound, so that a little too much is seen as such, and much too much is not taken at all
            .max_header_list_size(self.header_bytes.saturating_mul(2))
            .enable_push(false)
            .handshake::<_, Bytes>(conn.stream);
        let handshake = tokio::time::timeout(within, handshake).await;
        let handshake = handshake.map_err(|_| DialError::Failed("no HTTP/2 connection in time".to_owned()))?;
        let (sender, connection) = handshake.map_err(|e| DialError::Failed(exchange::why(&e)))?;
        let mut driving = self.driving.lock().unwrap_or_else(PoisonError::into_inner);
        while driving.try_join_next().is_some() {}
        let driver = driving.spawn(async move {
            // how a connection ended is told by each of its streams
            let _ = connection.await;
        });
        Ok(Alive { sender, driver })
    }

    fn request(&self, out: &Outbound, headers: &[(String, String)]) -> Result<Request<()>, String> {
        let (method, path) = match &out.route {
            Route::Grpc { path } => ("POST", path),
            Route::Http { method, path } => (method.as_str(), path),
            Route::Stdio => return Err("this driver speaks HTTP/2 only".to_owned()),
        };
        let scheme = if self.origin.secure { "https" } else { "http" };
        let uri =
            Uri::builder().scheme(scheme).authority(self.authority.as_str()).path_and_query(path.as_str()).build();
        let uri = uri.map_err(|e| format!("path `{}`: {e}", path.escape_debug()))?;
        let method = Method::from_bytes(method.as_bytes()).map_err(|e| e.to_string())?;
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.version_mut() = http::Version::HTTP_2;
        for (name, value) in headers {
            let broken = || format!("header field `{}` breaks the message", name.escape_debug());
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| broken())?;
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| broken())?;
            request.headers_mut().append(name, value);
        }
        Ok(request)
    }
}

impl Speaker for Http2Link {
    fn prepare(self: Arc<Self>, out: &Outbound, credentials: &[(String, String)]) -> Result<Prepared, String> {
        let lower = |(name, value): &(String, String)| (name.to_ascii_lowercase(), value.clone());
        let headers: Vec<_> = out.headers.iter().chain(credentials).map(lower).collect();
        let request = self.request(out, &headers)?;
        let body = out.body.clone();
        let run = move |going| Http2Exchange { link: self, request, body, going }.run();
        Ok(Prepared { headers, run: Box::new(move |going| Box::pin(run(going))) })
    }
}

/// The address of an interface: a URL, or gRPC's `host:port` and `dns:///host:port`; whether it leaves TLS open.
pub(crate) fn address(text: &str) -> Result<(Url, bool), String> {
    let bare = text.strip_prefix("dns:///").unwrap_or(text);
    let open = !bare.contains("://");
    let whole = if open { format!("https://{bare}") } else { bare.to_owned() };
    Url::parse(&whole).map(|url| (url, open)).map_err(|e| format!("neither a URL nor `host:port`: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_grpc_are_read_in_all_their_forms() {
        let read = |text: &str| address(text).map(|(url, open)| (url.to_string(), open)).ok();
        let https = |open| Some(("https://a.example:8443/".to_owned(), open));
        assert_eq!(read("a.example:8443"), https(true));
        assert_eq!(read("dns:///a.example:8443"), https(true));
        assert_eq!(read("https://a.example:8443"), https(false));
        assert_eq!(read("http://a.example:80/x"), Some(("http://a.example/x".to_owned(), false)));
        assert_eq!(read("[::1]:50051"), Some(("https://[::1]:50051/".to_owned(), true)));
        assert_eq!(read(""), None);
        assert_eq!(read("a b:1"), None);
    }
}
