//! What stands behind a proxy in the tests of faults: counts what reaches it, and answers the same ten bytes each time.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ostiary_lab::{LyingProxy, Options, Policy, Upstream};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

pub struct Behind {
    pub addr: SocketAddr,
    served: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

pub const BODY: &str = "0123456789";

impl Behind {
    pub async fn http() -> Self {
        Self::start(|stream, served| async move {
            let mut stream = BufReader::new(stream);
            while let Ok(path) = request(&mut stream).await {
                served.fetch_add(1, Ordering::SeqCst);
                let answer = if path == "/events" {
                    let events = "data: {\"n\":1}\n\ndata: {\"n\":2}\n\n";
                    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
                } else {
                    format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\n{BODY}")
                };
                if stream.write_all(answer.as_bytes()).await.is_err() || path == "/events" {
                    return;
                }
            }
        })
        .await
    }

    pub async fn echo() -> Self {
        Self::start(|mut stream, served| async move {
            served.fetch_add(1, Ordering::SeqCst);
            let (mut read, mut write) = stream.split();
            let _ = tokio::io::copy(&mut read, &mut write).await;
        })
        .await
    }

    async fn start<F>(serve: impl Fn(TcpStream, Arc<AtomicUsize>) -> F + Send + 'static + Copy + Sync) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let served = Arc::new(AtomicUsize::new(0));
        let (mut serving, counter) = (JoinSet::new(), Arc::clone(&served));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                connections.spawn(serve(tcp, Arc::clone(&counter)));
            }
        });
        Self { addr, served, _serving: serving }
    }

    /// Requests (or connections) that reached it.
    pub fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    pub async fn proxy(&self) -> LyingProxy {
        let upstream = Upstream::plain(self.addr.to_string());
        LyingProxy::start(upstream, Policy::Record, Options::default()).await.unwrap()
    }
}

/// Reads one request and tells its path.
async fn request(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let (mut line, mut path, mut length) = (String::new(), None, 0);
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        path = path.or_else(|| line.split(' ').nth(1).map(str::to_owned));
        if line.trim().is_empty() {
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await?;
            return path.ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
    }
}

/// What a caller saw of one exchange over a connection of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Saw {
    /// Whether a head came.
    pub head: bool,
    /// The bytes after it.
    pub body: String,
    /// How the connection ended.
    pub end: Result<(), io::ErrorKind>,
}

pub async fn ask(addr: SocketAddr, path: &str) -> Saw {
    let mut stream = match TcpStream::connect(addr).await {
        Ok(stream) => stream,
        Err(error) => return Saw { head: false, body: String::new(), end: Err(error.kind()) },
    };
    let request = format!("GET {path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let end = stream.read_to_end(&mut bytes).await.map(|_| ()).map_err(|error| error.kind());
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").map_or((false, text.as_str()), |(_, body)| (true, body));
    Saw { head, body: body.to_owned(), end }
}
