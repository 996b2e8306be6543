//! The lying proxy over gRPC: the same lies, told about messages in place of JSON.
//!
//! What no lie touches passes byte for byte, head, messages and trailers. Plaintext on the loopback only: it stands
//! before an agent of a test.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    client, server,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use ostiary_protocol::a2a::grpc::{self, Ending, Method, status};
use ostiary_record::{Blob, event::RawHeaders};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ask::Ask,
    lie::Lie,
    lock,
    memory::Memory,
    policy::Policy,
    tell::{self, StreamNotes, Told},
    upstream::BoxError,
};

/// Most bytes of a body that is looked into.
const MAX_BODY: usize = 16 << 20;

type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A running proxy before an agent that speaks gRPC; stops when dropped.
pub struct LyingGrpcProxy {
    addr: SocketAddr,
    desk: Arc<Desk>,
}

struct Desk {
    upstream: String,
    policy: Policy,
    memory: Mutex<Memory>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Lets hyper run its tasks where they are waited for.
#[derive(Clone)]
struct Tracked(TaskTracker);

/// An answer that was read to its end.
struct Read {
    head: http::response::Parts,
    frames: Vec<Bytes>,
    trailers: Option<HeaderMap>,
}

// === impl LyingGrpcProxy ===

impl LyingGrpcProxy {
    /// Listens in front of an agent that speaks gRPC in plaintext at `host:port`.
    ///
    /// # Errors
    /// When no address can be bound.
    pub async fn start(upstream: impl Into<String>, policy: Policy) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let desk = Arc::new(Desk { upstream: upstream.into(), policy, memory: Mutex::default(), tasks, stop });
        desk.tasks.spawn(Arc::clone(&desk).accept(listener));
        Ok(Self { addr, desk })
    }

    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.desk.stop.cancel();
        self.desk.tasks.close();
        self.desk.tasks.wait().await;
    }
}

impl Drop for LyingGrpcProxy {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

// === impl Tracked ===

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

// === impl Desk ===

impl Desk {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let stop = self.stop.clone();
        while let Some(Ok((tcp, _))) = stop.run_until_cancelled(listener.accept()).await {
            let desk = Arc::clone(&self);
            self.tasks.spawn(async move {
                let (tracked, stop) = (Tracked(desk.tasks.clone()), desk.stop.clone());
                let service = service_fn(move |request| Arc::clone(&desk).handle(request));
                let serving = server::conn::http2::Builder::new(tracked).serve_connection(TokioIo::new(tcp), service);
                if let Some(Err(error)) = stop.run_until_cancelled(serving).await {
                    tracing::debug!(%error, "a connection of the proxy ended");
                }
            });
        }
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
        let (mut head, body) = request.into_parts();
        let body = Limited::new(body, MAX_BODY).collect().await?.to_bytes();
        let path = head.uri.path();
        let ask = grpc::asked(path, &body).map_or_else(Ask::default, |(name, request)| Ask::bare(name, request));
        let method = path.rsplit_once('/').and_then(|(_, name)| Method::named(name));
        let credential = head.headers.get(header::AUTHORIZATION).cloned();
        let lie = {
            let mut memory = lock(&self.memory);
            memory.requests += 1;
            self.policy.now(&memory)
        };
        if lie == Some(Lie::IgnoreCancel) && lock(&self.memory).cancels_work(&ask) {
            // both requests name the task in the same field
            let read = head.uri.path().replace("/CancelTask", "/GetTask");
            head.uri = read.parse()?;
        }
        if lie == Some(Lie::AcceptAnyVersion) {
            head.headers.insert("a2a-version", HeaderValue::from_static("1.0"));
        }
        let mut answer = self.send(head.clone(), body.clone()).await?;
        let good = lock(&self.memory).credential.clone().filter(|_| lie == Some(Lie::IgnoreCredential));
        if let Some(good) = good.filter(|_| answer.headers().get("grpc-status").is_some_and(|s| s == "16")) {
            head.headers.insert(header::AUTHORIZATION, good);
            answer = self.send(head, body).await?;
        }
        let Some(method) = method else { return Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync())) };
        if answer.headers().get("grpc-status").is_none() {
            self.remember(&ask, credential);
            if method.streams {
                return Ok(self.relay(ask, method, answer));
            }
        }
        self.whole(&ask, method, Read::of(answer).await?)
    }

    /// Passes a request on, over a connection of its own.
    async fn send(&self, head: http::request::Parts, body: Bytes) -> Result<Response<Incoming>, BoxError> {
        let tcp = TcpStream::connect(&self.upstream).await?;
        tcp.set_nodelay(true)?;
        let tracked = Tracked(self.tasks.clone());
        let (mut sender, connection) =
            client::conn::http2::Builder::new(tracked).handshake::<_, Full<Bytes>>(TokioIo::new(tcp)).await?;
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            // how the connection ends is seen by whoever reads the answer
            let _ = stop.run_until_cancelled(connection).await;
        });
        Ok(sender.send_request(Request::from_parts(head, Full::new(body))).await?)
    }

    fn whole(&self, ask: &Ask, method: &Method, read: Read) -> Result<Response<Body>, BoxError> {
        let answer = read.answer(method);
        let mut memory = lock(&self.memory);
        let lie = self.policy.now(&memory);
        let told = lie.and_then(|lie| tell::whole(lie, ask, &memory, answer.as_ref(), 200));
        if let Some(answer) = &answer {
            memory.note(ask, answer, 200);
        }
        drop(memory);
        match told.map(|whole| whole.items) {
            None => Ok(read.unchanged()),
            Some(items) => said(method, read.head, &items),
        }
    }

    fn relay(self: Arc<Self>, ask: Ask, method: &'static Method, answer: Response<Incoming>) -> Response<Body> {
        let (head, body) = answer.into_parts();
        let notes = StreamNotes::default();
        let relay =
            Relay { desk: self, ask, method, body, held: Vec::new(), notes, ready: VecDeque::new(), over: false };
        Response::from_parts(head, StreamBody::new(stream::unfold(relay, Relay::next)).boxed_unsync())
    }

    fn remember(&self, ask: &Ask, credential: Option<HeaderValue>) {
        if ask.sends() {
            let mut memory = lock(&self.memory);
            memory.credential = memory.credential.take().or(credential);
        }
    }
}

/// A stream on its way through.
struct Relay {
    desk: Arc<Desk>,
    ask: Ask,
    method: &'static Method,
    body: Incoming,
    held: Vec<u8>,
    notes: StreamNotes,
    ready: VecDeque<Frame<Bytes>>,
    over: bool,
}

// === impl Relay ===

impl Relay {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, BoxError>, Self)> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some((Ok(frame), self));
            }
            if self.over {
                return None;
            }
            match self.body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.take(&bytes),
                    Err(trailers) => self.finish(Some(trailers)),
                },
                Some(Err(error)) => {
                    self.over = true;
                    return Some((Err(error.into()), self));
                }
                None => self.finish(None),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
        while !self.over
            && let Some(message) = next_message(&mut self.held)
        {
            self.pass(message);
        }
    }

    /// Passes one message on, or what a lie makes of it.
    fn pass(&mut self, message: Bytes) {
        let read = grpc::unframed(&message).ok().and_then(|m| grpc::read(self.method.response, m).ok());
        let Some(value) = read else {
            self.ready.push_back(Frame::data(message));
            return;
        };
        let mut memory = lock(&self.desk.memory);
        memory.follow(&mut self.notes, &value);
        let lie = self.desk.policy.now(&memory);
        let told = lie.map_or(Told::AsIs, |lie| tell::event(lie, &self.ask, &memory, &mut self.notes, &value));
        memory.note(&self.ask, &value, 200);
        drop(memory);
        match told {
            Told::AsIs => self.ready.push_back(Frame::data(message)),
            Told::Changed(items) => {
                let written = items.iter().filter_map(|item| grpc::write(self.method.response, item).ok());
                self.ready.extend(written.map(|m| Frame::data(grpc::framed(&m))));
            }
            Told::Cut => self.finish(Some(Frame::trailers(ok()))),
        }
    }

    fn finish(&mut self, trailers: Option<Frame<Bytes>>) {
        self.over = true;
        let rest = std::mem::take(&mut self.held);
        self.ready.extend((!rest.is_empty()).then(|| Frame::data(Bytes::from(rest))));
        self.ready.extend(trailers);
    }
}

impl Drop for Relay {
    /// One that is dropped before its end was closed by its reader.
    fn drop(&mut self) {
        let mut memory = lock(&self.desk.memory);
        if self.over { memory.streams.end(self.notes.stream) } else { memory.streams.close(self.notes.stream) }
    }
}

// === impl Read ===

impl Read {
    async fn of(answer: Response<Incoming>) -> Result<Self, BoxError> {
        let (head, body) = answer.into_parts();
        let collected = Limited::new(body, MAX_BODY).collect().await?;
        let trailers = collected.trailers().cloned();
        let mut held = collected.to_bytes().to_vec();
        let mut frames: Vec<Bytes> = std::iter::from_fn(|| next_message(&mut held)).collect();
        frames.extend((!held.is_empty()).then(|| Bytes::from(held)));
        Ok(Self { head, frames, trailers })
    }

    /// The message, or the error in the form of HTTP+JSON.
    fn answer(&self, method: &Method) -> Option<Value> {
        let fields = recorded(self.trailers.as_ref().unwrap_or(&self.head.headers));
        match status::ending(&fields)? {
            Ending::Ok => grpc::read(method.response, grpc::unframed(self.frames.first()?).ok()?).ok(),
            Ending::Error(error) => {
                let mut object = error.object?;
                object["status"] = json!(error.status);
                Some(json!({"error": object}))
            }
            Ending::Malformed(_) => None,
        }
    }

    fn unchanged(self) -> Response<Body> {
        let trailers = self.trailers.map(Frame::trailers);
        let frames = self.frames.into_iter().map(Frame::data).chain(trailers).map(Ok);
        Response::from_parts(self.head, StreamBody::new(stream::iter(frames)).boxed_unsync())
    }
}

/// An answer of other items: messages, or an error.
fn said(method: &Method, mut head: http::response::Parts, items: &[Value]) -> Result<Response<Body>, BoxError> {
    for name in ["grpc-status", "grpc-message", "grpc-status-details-bin", "content-length"] {
        head.headers.remove(name);
    }
    let (mut frames, mut trailers) = (Vec::new(), ok());
    for item in items {
        match item.get("error") {
            Some(error) => trailers = failed(error)?,
            None => frames.push(Frame::data(grpc::framed(&grpc::write(method.response, item)?))),
        }
    }
    let frames = frames.into_iter().chain([Frame::trailers(trailers)]).map(Ok);
    Ok(Response::from_parts(head, StreamBody::new(stream::iter(frames)).boxed_unsync()))
}

/// An error in trailers. Details of a type that is not known here, as a lie adds them, come with the text for people.
fn failed(error: &Value) -> Result<HeaderMap, BoxError> {
    let number = error.get("code").and_then(Value::as_u64).unwrap_or(2);
    let message = error["message"].as_str().unwrap_or_default();
    let all = error["details"].as_array().cloned().unwrap_or_default();
    let status =
        |details: &[Value]| status::details_bin(&json!({"code": number, "message": message, "details": details}));
    let (known, others): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|detail| status(std::slice::from_ref(detail)).is_ok());
    let more: String = others.iter().map(|detail| format!(" {detail}")).collect();
    let text = format!("{message}{more}");
    let plain = |b: u8| (b' '..=b'~').contains(&b) && b != b'%';
    let escaped = |b: u8| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(number));
    trailers.insert("grpc-status-details-bin", HeaderValue::from_str(&status(&known)?)?);
    trailers.insert("grpc-message", HeaderValue::from_str(&text.bytes().map(escaped).collect::<String>())?);
    Ok(trailers)
}

fn ok() -> HeaderMap {
    [(header::HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"))].into_iter().collect()
}

/// Takes the next whole message, with its prefix, from what came.
fn next_message(held: &mut Vec<u8>) -> Option<Bytes> {
    let (prefix, _) = held.split_first_chunk::<{ grpc::PREFIX }>()?;
    let [_, length @ ..] = *prefix;
    let whole = usize::try_from(u32::from_be_bytes(length)).ok()?.checked_add(grpc::PREFIX)?;
    (held.len() >= whole).then(|| held.drain(..whole).collect())
}

fn recorded(fields: &HeaderMap) -> RawHeaders {
    let field = |(name, value): (&header::HeaderName, &HeaderValue)| {
        (name.as_str().to_owned(), Blob(Bytes::copy_from_slice(value.as_bytes())))
    };
    fields.iter().map(field).collect()
}
