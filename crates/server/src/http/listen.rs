//! The HTTP listener: connections that are slow on purpose are cut, and a stop lets answers under way finish.

use std::{io, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Longest time for the head of a request, and longest silence between two requests of one connection.
const HEAD: Duration = Duration::from_secs(30);

/// Pause after a connection could not be taken: file descriptors have run out, and come back.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` fires, then finishes what is under way.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    serve_with(listener, router, stop, HEAD).await;
}

async fn serve_with(listener: TcpListener, router: Router, stop: CancellationToken, head: Duration) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, router.clone(), stop.clone(), head));
            }
            Err(error) if of_one_connection(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection could be taken");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(stream: TcpStream, router: Router, stop: CancellationToken, head: Duration) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(head).keep_alive_timeout(head);
    let mut connection =
        std::pin::pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection broke");
    }
}

/// Whether only the connection that was being taken is lost.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionRefused | ConnectionAborted | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        task::JoinSet,
    };

    use super::*;

    /// What a client gets back that sends `text` and then nothing.
    async fn answer(text: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let router = Router::new().route("/", axum::routing::get(|| async { "here" }));
        let mut serving = JoinSet::new();
        serving.spawn(serve_with(listener, router, CancellationToken::new(), Duration::from_millis(100)));
        let mut stream = TcpStream::connect(address).await.expect("taken");
        stream.write_all(text).await.expect("sent");
        let mut said = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut said)).await;
        // a reset is an end as well
        drop(read.expect("the connection is cut by the server"));
        String::from_utf8(said).expect("text")
    }

    #[tokio::test]
    async fn head_that_does_not_end_is_cut() {
        assert!(!answer(b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ").await.contains("here"));
    }

    #[tokio::test]
    async fn whole_request_is_answered_and_an_idle_connection_closed() {
        assert!(answer(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.ends_with("here"));
    }
}
