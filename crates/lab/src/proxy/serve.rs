//! The proxy on the wire: requests in, answers out, streams block by block.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header, response::Parts};
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_record::{Down, Fault};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Passed,
    ask::{self, Ask},
    block::{self, Blocks},
    card,
    fault::{
        FaultHandle, body,
        door::Port,
        line::{Line, Orders},
    },
    lie::Lie,
    lock,
    memory::Memory,
    policy::Policy,
    tell::{self, StreamNotes, Told, Whole},
    upstream::{BoxError, Upstream, strip_hop_by_hop},
};

/// Most bytes of a body that is looked into.
const MAX_BODY: usize = 16 << 20;
/// Requests that are remembered.
const MAX_PASSED: usize = 10_000;

type Body = UnsyncBoxBody<Bytes, BoxError>;

/// What all connections of one proxy share.
pub(super) struct Desk {
    pub(super) upstream: Upstream,
    pub(super) card_base: Option<String>,
    pub(super) policy: Mutex<Policy>,
    pub(super) faults: FaultHandle,
    pub(super) memory: Mutex<Memory>,
    pub(super) passed: Mutex<VecDeque<Passed>>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// Accepts connections until it is told to stop.
pub(super) async fn accept(mut port: Port, tls: Option<Arc<rustls::ServerConfig>>, desk: Arc<Desk>) {
    let acceptor = tls.map(TlsAcceptor::from);
    while let Some(tcp) = port.accept(&desk.faults, &desk.stop).await {
        let (desk, acceptor) = (Arc::clone(&desk), acceptor.clone());
        desk.tasks.clone().spawn(async move {
            let (stop, mut down, orders) = (desk.stop.clone(), desk.faults.watch(), Orders::default());
            let line = Line::new(tcp, orders.clone());
            let serving = async {
                match acceptor {
                    None => serve(line, desk, orders.clone()).await,
                    Some(acceptor) => serve(acceptor.accept(line).await?, desk, orders.clone()).await,
                }
            };
            // The order is given before the connection is dropped, which carries it out.
            let refused = async {
                if down.wait_for(|down| *down == Some(Down::Refuse)).await.is_ok() {
                    orders.give(Fault::Down { how: Down::Refuse });
                }
            };
            let ended = tokio::select! {
                ended = stop.run_until_cancelled(serving) => ended,
                () = refused => None,
            };
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection of the proxy ended");
            }
        });
    }
}

async fn serve<S>(stream: S, desk: Arc<Desk>, orders: Orders) -> Result<(), BoxError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request| Arc::clone(&desk).handle(request, orders.clone()));
    let connection = http1::Builder::new().preserve_header_case(true).serve_connection(TokioIo::new(stream), service);
    Ok(connection.await?)
}

// === impl Desk ===

impl Desk {
    /// An agent that gives no answer gives none through the proxy either: an error here closes the connection.
    async fn handle(self: Arc<Self>, request: Request<Incoming>, orders: Orders) -> Result<Response<Body>, BoxError> {
        let (mut parts, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await?.to_bytes();
        let ask = Ask::of(parts.method.as_str(), parts.uri.path(), &body);
        let mut passed = Passed {
            method: parts.method.to_string(),
            target: parts.uri.to_string(),
            operation: ask.operation.clone(),
            status: None,
        };
        let mut disturbance = self.faults.begin(passed.named(), &passed.names(parts.uri.path()));
        if let Some(fault) = disturbance.unsent() {
            disturbance.note(fault, false, 0, 0);
            self.remember(passed);
            return broken(fault, &orders).await;
        }
        let credential = parts.headers.get(header::AUTHORIZATION).cloned();
        self.prepare(&mut parts.headers);
        let body = if self.ignores(&ask) { ask::read_instead(&mut parts, body) } else { body };
        let sent = self.send(parts, body).await;
        let answered = match sent {
            Ok(response) => Arc::clone(&self).answer(ask, credential, response).await,
            Err(error) => Err(error),
        };
        passed.status = answered.as_ref().ok().map(|r| r.status().as_u16());
        self.remember(passed);
        disturbance.delay().await;
        Ok(match answered? {
            // What nobody disturbs now may still be held up by a plan that is switched on later.
            response if disturbance.shapes() || is_stream(&response) => {
                body::disturbed(response, disturbance, orders, self.faults.watch())
            }
            response => response,
        })
    }

    /// What a lie does to a request before the agent sees it.
    fn prepare(&self, headers: &mut HeaderMap) {
        strip_hop_by_hop(headers);
        let mut memory = lock(&self.memory);
        memory.requests += 1;
        if self.lie(&memory) == Some(Lie::AcceptAnyVersion) {
            headers.insert("a2a-version", HeaderValue::from_static("1.0"));
        }
    }

    /// Whether it is a cancel that the agent is not to hear of.
    fn ignores(&self, ask: &Ask) -> bool {
        let memory = lock(&self.memory);
        self.lie(&memory) == Some(Lie::IgnoreCancel) && memory.cancels_work(ask)
    }

    /// Passes a request on; who ignores credentials asks again with a good one where the agent wants a better one.
    async fn send(&self, mut parts: http::request::Parts, body: Bytes) -> Result<Response<Incoming>, BoxError> {
        let sent = self.upstream.send(parts.clone(), body.clone(), &self.tasks, &self.stop).await?;
        let good = {
            let memory = lock(&self.memory);
            let ignores = self.lie(&memory) == Some(Lie::IgnoreCredential);
            memory.credential.clone().filter(|_| ignores && sent.status() == StatusCode::UNAUTHORIZED)
        };
        let Some(good) = good else { return Ok(sent) };
        parts.headers.insert(header::AUTHORIZATION, good);
        self.upstream.send(parts, body, &self.tasks, &self.stop).await
    }

    async fn answer(
        self: Arc<Self>,
        ask: Ask,
        credential: Option<HeaderValue>,
        response: Response<Incoming>,
    ) -> Result<Response<Body>, BoxError> {
        let (mut parts, body) = response.into_parts();
        strip_hop_by_hop(&mut parts.headers);
        let media_type = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let (stream, json) = (media_type.starts_with("text/event-stream"), media_type.contains("json"));
        if stream {
            self.remember_credential(&ask, credential);
            let relay = Relay::new(self, ask, body);
            let frames = stream::unfold(relay, Relay::next);
            return Ok(Response::from_parts(parts, StreamBody::new(frames).boxed_unsync()));
        }
        if !json && !parts.status.is_client_error() && !parts.status.is_server_error() {
            return Ok(Response::from_parts(parts, body.map_err(Into::into).boxed_unsync()));
        }
        let bytes = Limited::new(body, MAX_BODY).collect().await?.to_bytes();
        let value = parse_strict(&bytes, Limits::WIRE).ok();
        if ask.card {
            return Ok(self.card(parts, bytes, value));
        }
        let status = parts.status.as_u16();
        let told = self.tell_whole(&ask, value.as_ref(), status);
        if status < 400 && value.as_ref().is_some_and(|v| v.get("error").is_none()) {
            self.remember_credential(&ask, credential);
        }
        Ok(match told {
            None => complete(&parts, bytes),
            Some(whole) => replaced(parts, &whole),
        })
    }

    fn card(&self, mut parts: Parts, bytes: Bytes, value: Option<Value>) -> Response<Body> {
        let lie = self.lie(&lock(&self.memory));
        let told = value.as_ref().zip(lie).and_then(|(card, lie)| card::told(lie, card));
        let based = self.card_base.as_ref().and_then(|base| card::rebased(told.as_ref().or(value.as_ref())?, base));
        match based.or(told) {
            None => complete(&parts, bytes),
            Some(card) => {
                // The agent's tag names the agent's bytes, and a cache would take it at its word.
                parts.headers.remove(header::ETAG);
                parts.headers.remove(header::CONTENT_LENGTH);
                complete(&parts, Bytes::from(card.to_string()))
            }
        }
    }

    fn tell_whole(&self, ask: &Ask, answer: Option<&Value>, status: u16) -> Option<Whole> {
        let mut memory = lock(&self.memory);
        let lie = self.lie(&memory);
        let told = lie.and_then(|lie| tell::whole(lie, ask, &memory, answer, status));
        if let Some(answer) = answer {
            memory.note(ask, answer, status);
        }
        told
    }

    fn tell_event(&self, ask: &Ask, notes: &mut StreamNotes, answer: &Value) -> Told {
        let mut memory = lock(&self.memory);
        memory.follow(notes, answer);
        let lie = self.lie(&memory);
        let told = lie.map_or(Told::AsIs, |lie| tell::event(lie, ask, &memory, notes, answer));
        memory.note(ask, answer, 200);
        told
    }

    /// The lie to tell now. Who holds the memory may ask for the policy, never the other way round.
    fn lie(&self, memory: &Memory) -> Option<Lie> {
        lock(&self.policy).now(memory)
    }

    fn remember_credential(&self, ask: &Ask, credential: Option<HeaderValue>) {
        if ask.sends() {
            let mut memory = lock(&self.memory);
            memory.credential = memory.credential.take().or(credential);
        }
    }

    fn remember(&self, passed: Passed) {
        let mut all = lock(&self.passed);
        if all.len() >= MAX_PASSED {
            all.pop_front();
        }
        all.push_back(passed);
    }
}

/// A stream on its way through.
struct Relay {
    desk: Arc<Desk>,
    ask: Ask,
    body: Incoming,
    blocks: Blocks,
    notes: StreamNotes,
    ready: VecDeque<Bytes>,
    failed: Option<BoxError>,
    over: bool,
}

// === impl Relay ===

impl Relay {
    fn new(desk: Arc<Desk>, ask: Ask, body: Incoming) -> Self {
        let (blocks, notes, ready) = (Blocks::default(), StreamNotes::default(), VecDeque::new());
        Self { desk, ask, body, blocks, notes, ready, failed: None, over: false }
    }

    async fn next(mut self) -> Option<(Result<Frame<Bytes>, BoxError>, Self)> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                return Some((Ok(Frame::data(block)), self));
            }
            if let Some(error) = self.failed.take() {
                return Some((Err(error), self));
            }
            if self.over {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => self.take(frame),
                Some(Err(error)) => self.finish(Some(error.into())),
                None => self.finish(None),
            }
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        let Ok(bytes) = frame.into_data() else { return };
        self.blocks.feed(&bytes);
        while !self.over
            && let Some(block) = self.blocks.next_block()
        {
            self.pass(block);
        }
        if self.blocks.held() > block::MAX_BLOCK {
            self.finish(Some("an event of the agent is larger than the proxy takes".into()));
        }
    }

    /// Passes one block on, or what a lie makes of it.
    fn pass(&mut self, block: Bytes) {
        let value = block::data(&block).and_then(|data| parse_strict(&data, Limits::WIRE).ok());
        let Some(value) = value else {
            self.ready.push_back(block);
            return;
        };
        match self.desk.tell_event(&self.ask, &mut self.notes, &value) {
            Told::AsIs => self.ready.push_back(block),
            Told::Changed(items) => self.ready.extend(block::retold(&block, &value, &items)),
            Told::Cut => self.over = true,
        }
    }

    fn finish(&mut self, failed: Option<BoxError>) {
        self.over = true;
        self.failed = failed;
        let rest = self.blocks.rest();
        if !rest.is_empty() {
            self.ready.push_back(rest);
        }
    }
}

impl Drop for Relay {
    /// One that is dropped before its end was closed by its reader.
    fn drop(&mut self) {
        let mut memory = lock(&self.desk.memory);
        if self.over { memory.streams.end(self.notes.stream) } else { memory.streams.close(self.notes.stream) }
    }
}

/// Ends an exchange whose request is not passed on.
async fn broken(fault: Fault, orders: &Orders) -> Result<Response<Body>, BoxError> {
    orders.give(fault);
    if matches!(fault, Fault::Reset { .. } | Fault::Partial { .. } | Fault::Down { how: Down::Refuse }) {
        return Err("the exchange is broken on purpose".into());
    }
    // Half-closed, stalled, swallowed: the connection ends with the caller or with the proxy.
    std::future::pending().await
}

fn is_stream(response: &Response<Body>) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    media_type.is_some_and(|media_type| media_type.starts_with("text/event-stream"))
}

fn complete(parts: &Parts, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes).map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = parts.status;
    *response.version_mut() = parts.version;
    *response.headers_mut() = parts.headers.clone();
    *response.extensions_mut() = parts.extensions.clone();
    response
}

fn replaced(mut parts: Parts, whole: &Whole) -> Response<Body> {
    parts.status = StatusCode::from_u16(whole.status).unwrap_or(StatusCode::OK);
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::WWW_AUTHENTICATE);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(whole.media_type()));
    complete(&parts, Bytes::from(whole.frames().concat()))
}
