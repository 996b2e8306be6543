//! The forward proxy on the wire.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, client, server, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{Departure, Desk, Via};
use crate::proxy::strip_hop_by_hop;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, Failure>;

/// Connections at the same time; more wait to be taken.
const CONNECTIONS: usize = 256;
/// Longest wait for a connection to where the candidate wants to go.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest wait for a head, also between two requests of a connection.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// Most characters of a host or a path in the ledger.
const TEXT: usize = 1_024;

/// Accepts connections until the observer stops.
pub(super) async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    while let Some(Ok(place)) = desk.stop.run_until_cancelled(Arc::clone(&places).acquire_owned()).await
        && let Some(accepted) = desk.stop.run_until_cancelled(listener.accept()).await
    {
        let Ok((tcp, _)) = accepted else {
            // Out of file descriptors, most likely: give others the time to close some.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let desk = Arc::clone(&desk);
        desk.tasks.clone().spawn(async move {
            let (_place, stop) = (place, desk.stop.clone());
            let service = service_fn(move |request| Arc::clone(&desk).handle(request));
            let mut server = server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).preserve_header_case(true);
            let connection = server.serve_connection(TokioIo::new(tcp), service).with_upgrades();
            if let Some(Err(error)) = stop.run_until_cancelled(connection).await {
                tracing::debug!(%error, "a connection of the egress observer ended");
            }
        });
    }
}

// === impl Desk ===

impl Desk {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
        let tunnel = request.method() == Method::CONNECT;
        let Some((host, port)) = destination(request.uri(), tunnel) else {
            return Ok(answer(StatusCode::BAD_REQUEST, "this is a proxy: name a host\n"));
        };
        let n = self.depart(&request, &host, port, tunnel);
        if !self.allow.allows(&host, port) {
            self.ledger().change(n, |entry| entry.until = Some(entry.at));
            return Ok(answer(StatusCode::FORBIDDEN, "the egress observer does not let this host be called\n"));
        }
        let Ok(there) = self.connect(n, &host, port).await else {
            self.ledger().change(n, |entry| entry.until = Some(self.clock.now()));
            return Ok(answer(StatusCode::BAD_GATEWAY, "nobody is there\n"));
        };
        if tunnel { Ok(self.tunnel(request, there)) } else { self.pass(request, there).await }
    }

    fn depart(&self, request: &Request<Incoming>, host: &str, port: u16, tunnel: bool) -> u64 {
        let clip = |text: &str| text.chars().take(TEXT).collect::<String>();
        let via = if tunnel {
            Via::Tunnel
        } else {
            Via::Http { method: request.method().to_string(), path: clip(request.uri().path()) }
        };
        let (host, allowed, at) = (clip(host), self.allow.allows(host, port), self.clock.now());
        self.ledger().push(Departure {
            n: 0,
            at,
            until: None,
            host,
            port,
            via,
            allowed,
            address: None,
            sent_bytes: 0,
            received_bytes: 0,
        })
    }

    async fn connect(self: &Arc<Self>, n: u64, host: &str, port: u16) -> io::Result<Counted> {
        let named = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let to = self.connect_to.get(&named).unwrap_or(&named);
        let tcp =
            tokio::time::timeout(CONNECT, TcpStream::connect(to)).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let address = tcp.peer_addr()?.to_string();
        self.ledger().change(n, |entry| entry.address = Some(address));
        Ok(Counted { tcp, n, desk: Arc::clone(self) })
    }

    /// Answers 200, and passes bytes when the connection has become a tunnel.
    fn tunnel(&self, request: Request<Incoming>, mut there: Counted) -> Response<Body> {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let passing = async {
                let upgraded = hyper::upgrade::on(request).await.ok()?;
                copy_bidirectional(&mut TokioIo::new(upgraded), &mut there).await.ok()
            };
            // How it ended is in the ledger: when, and after how many bytes.
            let _ = stop.run_until_cancelled(passing).await;
        });
        Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync())
    }

    /// Passes a plain request on, over a connection of its own.
    async fn pass(&self, request: Request<Incoming>, there: Counted) -> Result<Response<Body>, Failure> {
        let (mut parts, body) = request.into_parts();
        strip_hop_by_hop(&mut parts.headers);
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let host = parts.uri.authority().map(|authority| authority.as_str().parse()).transpose()?;
        if let Some(host) = host {
            parts.headers.insert(header::HOST, host);
        }
        parts.uri = path.parse()?;
        let handshake = client::conn::http1::Builder::new().preserve_header_case(true).handshake(TokioIo::new(there));
        let (mut sender, connection) = handshake.await?;
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            // How the connection ends is seen by whoever reads the answer.
            let _ = stop.run_until_cancelled(connection).await;
        });
        let mut response = sender.send_request(Request::from_parts(parts, body)).await?;
        strip_hop_by_hop(response.headers_mut());
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// A connection out that is counted in its entry of the ledger.
struct Counted {
    tcp: TcpStream,
    n: u64,
    desk: Arc<Desk>,
}

// === impl Counted ===

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.tcp).poll_read(cx, buf);
        let read = (buf.filled().len() - before) as u64;
        if read > 0 {
            self.desk.ledger().change(self.n, |entry| entry.received_bytes += read);
        }
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        if let Poll::Ready(Ok(written)) = &polled {
            self.desk.ledger().change(self.n, |entry| entry.sent_bytes += *written as u64);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let now = self.desk.clock.now();
        self.desk.ledger().change(self.n, |entry| entry.until = Some(now));
    }
}

/// Host and port that a request is for; `None` = it names none, so it is not for a proxy.
fn destination(uri: &Uri, tunnel: bool) -> Option<(String, u16)> {
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let port = match (uri.port_u16(), tunnel) {
        (Some(port), _) => port,
        (None, true) => return None,
        (None, false) => 80,
    };
    Some((host, port))
}

fn answer(code: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::from(text).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = code;
    response
}
