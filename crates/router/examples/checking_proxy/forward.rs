//! The way to the agent.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, header, uri::Authority};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use ostiary_router::{Dispatch, Router, Signal, Subject};
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use crate::BoxError;

/// What concerns one connection and is not passed on (RFC 9110 §7.6.1).
const OF_THE_CONNECTION: [HeaderName; 6] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// An agent that does not take a connection in this time is away.
const PATIENCE: Duration = Duration::from_secs(5);

/// The agent.
pub struct Upstream {
    authority: Authority,
    address: String,
    router: Router,
    connections: TaskTracker,
}

impl Upstream {
    /// The agent at `http://host:port`.
    pub fn of(uri: &Uri, router: Router) -> anyhow::Result<Self> {
        let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            bail!("--upstream must be `http://host:port`; end TLS beside the agent");
        };
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        Ok(Self { authority: authority.clone(), address, router, connections: TaskTracker::new() })
    }

    /// The library, for reports.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// Passes a request on that was let through, and counts how it ended.
    pub async fn forward(&self, request: Request<Incoming>) -> Result<Response<Incoming>, BoxError> {
        let dispatch = request.extensions().get::<Arc<Dispatch>>().cloned();
        let begun = now();
        let answer = self.send(request).await;
        if let Some(dispatch) = dispatch {
            let took = begun.elapsed();
            let failed = |code: &str| {
                self.router.report_outcome(&subject(&dispatch), Signal::Failed { code, registered: false, took });
            };
            match &answer {
                Ok(answer) if answer.status().is_server_error() => failed(answer.status().as_str()),
                Ok(_) => self.router.report_outcome(&subject(&dispatch), Signal::Succeeded { took }),
                Err(_) => failed("unreachable"),
            }
        }
        Ok(answer?)
    }

    /// Reads a small document.
    pub async fn get(&self, path: &str, most: usize) -> anyhow::Result<(StatusCode, Bytes)> {
        let request = Request::get(path).body(Empty::<Bytes>::new())?;
        let read = async {
            let (parts, body) = self.send(request).await?.into_parts();
            let body = Limited::new(body, most).collect().await.map_err(anyhow::Error::from_boxed)?;
            Ok((parts.status, body.to_bytes()))
        };
        tokio::time::timeout(PATIENCE, read).await.context("no answer in time")?
    }

    async fn send<B>(&self, mut request: Request<B>) -> anyhow::Result<Response<Incoming>>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = path.parse()?;
        let headers = request.headers_mut();
        OF_THE_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
        headers.insert(header::HOST, HeaderValue::from_str(self.authority.as_str())?);
        let connecting = TcpStream::connect(&self.address);
        let stream = tokio::time::timeout(PATIENCE, connecting).await.context("the agent takes no connection")??;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // A connection for each request: it ends with its answer, also when that is cut.
        self.connections.spawn(connection);
        let mut answer = sender.send_request(request).await?;
        OF_THE_CONNECTION.iter().for_each(|name| drop(answer.headers_mut().remove(name)));
        Ok(answer)
    }
}

fn subject(dispatch: &Dispatch) -> Subject<'_> {
    let question = dispatch.question();
    Subject {
        agent: question.agent,
        version: question.version,
        consumer: question.consumer.unwrap_or_default(),
        canary: dispatch.is_canary(),
        card_digest: match question.card_digest {
            ostiary_router::Observed::Digest(digest) => Some(digest),
            _ => None,
        },
    }
}

#[expect(clippy::disallowed_methods, reason = "how long an answer took is measured here")]
fn now() -> Instant {
    Instant::now()
}
