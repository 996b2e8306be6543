//! A client that sends what the test says, header by header, and reads what comes, as it comes.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// See the module.
pub struct Client {
    address: SocketAddr,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Longer than any answer under load.
const PATIENCE: Duration = Duration::from_secs(20);

/// A message to an agent.
pub const MESSAGE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"the quick brown fox"}]}}}"#;

// === impl Client ===

impl Client {
    /// Of whoever listens there.
    #[must_use]
    pub const fn of(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Sends the agent a message, with more headers.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn send(&self, headers: &[(&str, &str)]) -> Result<Answer> {
        self.post("/rpc", headers, MESSAGE)
    }

    /// Sends the agent a message and asks for a stream.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn stream(&self) -> Result<Answer> {
        self.post("/rpc", &[("accept", "text/event-stream")], &MESSAGE.replace("SendMessage", "SendStreamingMessage"))
    }

    /// Posts JSON.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Result<Answer> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\na2a-version: \
             1.0\r\n{more}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        read(stream)
    }

    /// Gets a path.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn get(&self, path: &str) -> Result<Answer> {
        let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address)?;
        read(stream)
    }
}

// === impl Answer ===

impl Answer {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

fn read(stream: TcpStream) -> Result<Answer> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.with_context(|| format!("no status line: {line:?}"))?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut body = String::new();
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    if chunked {
        body = chunks(&mut reader)?;
    } else {
        reader.read_to_string(&mut body)?;
    }
    Ok(Answer { status, headers, body })
}

fn chunks(reader: &mut BufReader<TcpStream>) -> Result<String> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).with_context(|| format!("no chunk size: {size:?}"))?;
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        body.extend_from_slice(&chunk[..size]);
        if size == 0 {
            return String::from_utf8(body).context("the body is not UTF-8");
        }
    }
}
