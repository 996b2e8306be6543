//! A TCP server whose every byte the test decides.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// Accepts connections and lets a script serve each; stops when dropped.
pub struct RawServer {
    pub addr: SocketAddr,
    log: Arc<Mutex<Log>>,
    _tasks: JoinSet<()>,
}

/// What the server saw.
#[derive(Default)]
pub struct Log {
    pub connections: usize,
    pub closed: usize,
    pub requests: Vec<String>,
}

/// One accepted connection in the hands of a script.
pub struct Peer {
    pub tcp: TcpStream,
    log: Arc<Mutex<Log>>,
}

impl RawServer {
    pub async fn start<F, S>(script: S) -> Self
    where
        S: Fn(Peer) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Log::default()));
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&log);
        tasks.spawn(async move {
            let mut peers = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                shared.lock().unwrap().connections += 1;
                peers.spawn(script(Peer { tcp, log: Arc::clone(&shared) }));
            }
        });
        Self { addr, log, _tasks: tasks }
    }

    /// Answers every request with the same bytes and closes.
    pub async fn fixed(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<Vec<u8>> = Arc::new(answer.into());
        Self::start(move |mut peer| {
            let answer = Arc::clone(&answer);
            async move {
                if peer.request().await.is_some() {
                    peer.send(&answer[..]).await;
                    peer.close().await;
                }
            }
        })
        .await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().requests.clone()
    }

    pub fn closed(&self) -> usize {
        self.log.lock().unwrap().closed
    }

    pub fn connections(&self) -> usize {
        self.log.lock().unwrap().connections
    }
}

impl Peer {
    /// Reads one request; `None` when the other side closes before a whole one.
    pub async fn request(&mut self) -> Option<String> {
        let mut seen = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&seen).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) {
                    self.log.lock().unwrap().requests.push(text.clone());
                    return Some(text);
                }
            }
            let mut some = [0; 4096];
            match self.tcp.read(&mut some).await {
                Ok(n) if n > 0 => seen.extend_from_slice(&some[..n]),
                _ => return None,
            }
        }
    }

    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        // The other side may be gone: that is what some tests are about.
        let _ = self.tcp.write_all(bytes.as_ref()).await;
    }

    /// Ends our half in good order.
    pub async fn close(mut self) {
        let _ = self.tcp.shutdown().await;
        self.log.lock().unwrap().closed += 1;
        let mut rest = Vec::new();
        let _ = self.tcp.read_to_end(&mut rest).await;
    }

    /// Ends with a reset.
    pub fn reset(self) {
        self.tcp.set_zero_linger().unwrap();
    }

    /// Says nothing until the other side goes away, and tells how it went.
    pub async fn hang(mut self) -> std::io::Result<usize> {
        self.tcp.read(&mut [0; 64]).await
    }
}
