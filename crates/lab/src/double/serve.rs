//! The small HTTP server of the doubles: HTTP/1.1 on one address, everything bounded.

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;
pub(super) type Answer = Response<Full<Bytes>>;

/// A running server; stops when dropped.
pub(super) struct Server {
    addr: SocketAddr,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Connections at the same time; more wait to be taken.
const CONNECTIONS: usize = 256;
/// Most bytes of a request's head.
const HEAD: usize = 64 << 10;
/// Longest wait for a head, also between two requests of a connection.
const HEAD_TIME: Duration = Duration::from_secs(30);

// === impl Server ===

impl Server {
    /// Binds; `None` = a free port of the loopback.
    pub(super) async fn bind(listen: Option<SocketAddr>) -> io::Result<(TcpListener, SocketAddr)> {
        let listener = TcpListener::bind(listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)))).await?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    }

    /// Serves what is asked; a handler that fails closes the connection.
    pub(super) fn start<F>(
        listener: TcpListener,
        addr: SocketAddr,
        handle: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let (tracker, stopped, handle) = (tasks.clone(), stop.clone(), Arc::new(handle));
        tasks.spawn(async move {
            let places = Arc::new(Semaphore::new(CONNECTIONS));
            while let Some(Ok(place)) = stopped.run_until_cancelled(Arc::clone(&places).acquire_owned()).await
                && let Some(accepted) = stopped.run_until_cancelled(listener.accept()).await
            {
                let Ok((tcp, _)) = accepted else {
                    // Out of file descriptors, most likely: give others the time to close some.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                };
                let (handle, stopped) = (Arc::clone(&handle), stopped.clone());
                tracker.spawn(async move {
                    let _place = place;
                    let mut server = http1::Builder::new();
                    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD);
                    let connection = server.serve_connection(TokioIo::new(tcp), service_fn(|request| handle(request)));
                    if let Some(Err(error)) = stopped.run_until_cancelled(connection).await {
                        tracing::debug!(%error, "a connection of a double ended");
                    }
                });
            }
        });
        Self { addr, tasks, stop }
    }

    pub(super) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops and waits until every connection is gone.
    pub(super) async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// An answer with a status alone.
pub(super) fn status(status: u16) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer
}

/// An answer with one header field more; a value that is no field is left out.
pub(super) fn with(mut answer: Answer, name: header::HeaderName, value: &str) -> Answer {
    if let Ok(value) = value.parse() {
        answer.headers_mut().insert(name, value);
    }
    answer
}

/// An answer with a JSON body.
pub(super) fn json(code: u16, body: &serde_json::Value) -> Answer {
    let answer = status(code).map(|_| Full::from(body.to_string()));
    with(answer, header::CONTENT_TYPE, "application/json")
}
