//! An HTTP/2 server whose every frame the test decides, and what it saw of the client's.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{Peer, RawServer};

/// Types of frames (RFC 9113 §6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;

/// Flags.
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

const PREFACE: usize = 24;

/// A frame of the client.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// One connection that speaks HTTP/2 by hand.
pub struct H2Peer {
    pub peer: Peer,
    gone: bool,
}

impl H2Peer {
    /// Takes the client's preface and greets it.
    pub async fn greet(mut peer: Peer) -> Option<Self> {
        let mut preface = [0; PREFACE];
        peer.tcp.read_exact(&mut preface).await.ok()?;
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut this = Self { peer, gone: false };
        // room for a body of a mebibyte: SETTINGS_INITIAL_WINDOW_SIZE, and the connection's own window
        this.frame(SETTINGS, 0, 0, &[0, 4, 0, 16, 0, 0]).await;
        this.frame(WINDOW_UPDATE, 0, 0, &[0, 16, 0, 0]).await;
        // the client's own settings hold once they are acknowledged
        this.frame(SETTINGS, 1, 0, b"").await;
        Some(this)
    }

    pub async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        // the other side may be gone: that is what some tests are about
        self.gone |= self.peer.tcp.write_all(&bytes).await.is_err();
    }

    /// Whether the client still takes what is sent.
    pub fn alive(&self) -> bool {
        !self.gone
    }

    /// The client's next frame; `None` when it has gone.
    pub async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.peer.tcp.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.peer.tcp.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// Reads until the client has said all of a request: its stream, and the bytes of its body.
    pub async fn request(&mut self) -> Option<(u32, Vec<u8>)> {
        let mut body = Vec::new();
        loop {
            let frame = self.next().await?;
            if frame.kind == DATA {
                body.extend(frame.payload);
            }
            if matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0 {
                return Some((frame.stream, body));
            }
        }
    }

    /// `:status 200` and `content-type: application/grpc`, then these fields.
    pub async fn head(&mut self, stream: u32, more: &[(&str, &str)], flags: u8) {
        let mut block = vec![0x88];
        literal(&mut block, "content-type", "application/grpc");
        more.iter().for_each(|(n, v)| literal(&mut block, n, v));
        self.frame(HEADERS, flags | END_HEADERS, stream, &block).await;
    }

    pub async fn data(&mut self, stream: u32, bytes: &[u8]) {
        self.frame(DATA, 0, stream, bytes).await;
    }

    pub async fn trailers(&mut self, stream: u32, fields: &[(&str, &str)]) {
        let mut block = Vec::new();
        fields.iter().for_each(|(n, v)| literal(&mut block, n, v));
        self.frame(HEADERS, END_HEADERS | END_STREAM, stream, &block).await;
    }

    /// Keeps the connection until the client goes.
    pub async fn linger(mut self) {
        while self.next().await.is_some() {}
    }
}

/// A server whose connections are each in the hands of a script, once they have greeted.
pub async fn serve<F, S>(script: S) -> RawServer
where
    S: Fn(H2Peer) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    RawServer::start(move |peer| {
        let script = script.clone();
        async move {
            if let Some(peer) = H2Peer::greet(peer).await {
                script(peer).await;
            }
        }
    })
    .await
}

/// A field that is neither indexed nor compressed (RFC 7541 §6.2.2).
fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        number(block, text.len());
        block.extend(text.as_bytes());
    }
}

/// A number with a prefix of seven bits (RFC 7541 §5.1).
fn number(block: &mut Vec<u8>, n: usize) {
    if n < 127 {
        block.push(u8::try_from(n).unwrap());
        return;
    }
    block.push(127);
    let mut rest = n - 127;
    while rest >= 128 {
        block.push(u8::try_from(rest % 128 + 128).unwrap());
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap());
}
