//! A small plain client: for our own commands that talk to a server, and for webhooks.
//!
//! One connection a request, no redirects, no retries, everything bounded.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use url::Url;

use crate::{
    dial::{Conn, DialError, Dialer, Origin},
    guard::AddressGuard,
    request::{self, Encoded, Parts},
    settings::{Settings, SettingsError},
    wire::{Reader, WireError},
};

/// Sends requests by the operator's settings.
#[derive(Clone)]
pub struct HttpClient {
    dialer: Arc<Dialer>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `DELETE`, …
    pub method: String,
    /// Absolute URL.
    pub url: String,
    /// Header fields in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body; empty = none.
    pub body: Bytes,
    /// Time for everything together.
    pub timeout: Duration,
    /// Most bytes of the answer's body.
    pub max_bytes: u64,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header fields in order, values as text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// No answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpClientError {
    /// The request cannot be sent as it is.
    #[error("request to `{url}` cannot be sent: {why}")]
    Request {
        /// Where to.
        url: String,
        /// Why.
        why: String,
    },
    /// The guard or the settings refuse the address.
    #[error("address of `{url}` is refused: {why}")]
    Refused {
        /// Where to.
        url: String,
        /// Why.
        why: String,
    },
    /// No connection.
    #[error("could not reach `{url}`: {why}")]
    Unreachable {
        /// Where to.
        url: String,
        /// Why.
        why: String,
    },
    /// The answer broke off or was none.
    #[error("answer of `{url}` broke off: {why}")]
    Broken {
        /// Where to.
        url: String,
        /// Why.
        why: String,
    },
    /// The time is over.
    #[error("`{url}` did not answer within {millis} ms")]
    Timeout {
        /// Where to.
        url: String,
        /// The time that was given.
        millis: u128,
    },
}

/// Bounds and place of one round trip.
pub(crate) struct Trip<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) guard: &'a AddressGuard,
    pub(crate) connect: Duration,
    pub(crate) header_bytes: u32,
    pub(crate) body_bytes: u64,
}

/// A complete answer and the connection it came over.
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) peer: std::net::SocketAddr,
    pub(crate) spki_sha256: Option<String>,
}

/// Why a round trip failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TripError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Wire(#[from] WireError),
}

const HEADER_BYTES: u32 = 64 << 10;

// === impl Request ===

impl Request {
    /// A request without body: 30 seconds, 16 MiB.
    #[must_use]
    pub fn new(method: &str, url: &str) -> Self {
        let (method, url) = (method.to_owned(), url.to_owned());
        Self { method, url, headers: vec![], body: Bytes::new(), timeout: Duration::from_secs(30), max_bytes: 16 << 20 }
    }

    /// With one more header field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a body and its media type.
    #[must_use]
    pub fn body(self, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self.header("Content-Type", media_type) }
    }
}

// === impl Response ===

impl Response {
    /// The first header field of that name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

// === impl HttpClient ===

impl HttpClient {
    /// A client by the operator's settings.
    ///
    /// # Errors
    /// When settings do not parse.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        Ok(Self { dialer: Arc::new(Dialer::new(settings)?) })
    }

    /// A client for addresses that the person at the keyboard wrote: plain http and inner addresses are theirs to
    /// choose.
    ///
    /// # Errors
    /// When the trust roots do not parse.
    pub fn for_operator(trust_roots: Option<Vec<u8>>) -> Result<Self, SettingsError> {
        let guard = AddressGuard::off();
        Self::new(Settings { trust_roots, allow_insecure_http: true, guard, ..Settings::default() })
    }

    /// Sends one request and reads the whole answer; any status is an answer.
    ///
    /// # Errors
    /// When no complete answer came within the bounds.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpClientError> {
        let Request { method, url, headers, body, timeout, max_bytes } = request;
        let at = || url.clone();
        let parsed = Url::parse(url).map_err(|e| HttpClientError::Request { url: at(), why: e.to_string() })?;
        let origin = self.dialer.origin(&parsed).map_err(|e| e.at(url))?;
        let target = request::target(&parsed, "");
        let parts = Parts { method, url: &parsed, target: &target, headers: headers.clone(), body };
        let encoded = request::encode(parts).map_err(|why| HttpClientError::Request { url: at(), why })?;
        let trip = Trip {
            origin: &origin,
            guard: &self.dialer.guard,
            connect: *timeout,
            header_bytes: HEADER_BYTES,
            body_bytes: *max_bytes,
        };
        match tokio::time::timeout(*timeout, round_trip(&self.dialer, &trip, &encoded)).await {
            Ok(Ok(answer)) => Ok(answer.response),
            Ok(Err(TripError::Dial(error))) => Err(error.at(url)),
            Ok(Err(TripError::Wire(error))) => Err(HttpClientError::Broken { url: at(), why: error.to_string() }),
            Err(_) => Err(HttpClientError::Timeout { url: at(), millis: timeout.as_millis() }),
        }
    }
}

impl DialError {
    fn at(self, url: &str) -> HttpClientError {
        let url = url.to_owned();
        match self {
            Self::Refused(why) => HttpClientError::Refused { url, why },
            Self::Failed(why) => HttpClientError::Unreachable { url, why },
            Self::NoTls(why) => HttpClientError::Unreachable { url, why: format!("TLS: {why}") },
        }
    }
}

/// One connection, one request, one whole answer.
pub(crate) async fn round_trip(dialer: &Dialer, trip: &Trip<'_>, request: &Encoded) -> Result<Answer, TripError> {
    let Conn { stream, unread, peer, spki_sha256, .. } = dialer.dial(trip.origin, trip.guard, trip.connect).await?;
    let (read, mut write) = tokio::io::split(stream);
    let mut reader = Reader::new(read, unread, trip.header_bytes);
    let sending = async {
        // A peer may answer and close before it has read everything; the answer is what counts.
        let _ = write.write_all(&request.bytes).await;
        let _ = write.flush().await;
        std::future::pending::<()>().await;
    };
    let reading = whole(&mut reader, &request.method, trip.body_bytes);
    let response = tokio::select! {
        response = reading => response?,
        () = sending => unreachable!("sending never ends, so that reading decides"),
    };
    Ok(Answer { response, peer, spki_sha256 })
}

async fn whole<R>(reader: &mut Reader<R>, method: &str, most: u64) -> Result<Response, WireError>
where
    R: tokio::io::AsyncRead + Unpin,
{
    let head = reader.head(method).await?;
    let mut body = BytesMut::new();
    while let Some(bytes) = reader.chunk().await? {
        if (body.len() + bytes.len()) as u64 > most {
            return Err(WireError::Limit("body_bytes"));
        }
        body.extend_from_slice(&bytes);
    }
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = head.headers.iter().map(|(n, v)| (n.clone(), text(v.as_bytes()))).collect();
    Ok(Response { status: head.status, headers, body: body.freeze() })
}
