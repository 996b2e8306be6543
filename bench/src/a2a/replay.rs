//! The bare client: sends what was recorded, in its order and with its overlaps, and reads what comes back.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use ostiary_record::{
    End, ExchangeId, Kind, Recording, Route, Run, event::RawHeaders, ports::Identity, view::ExchangeView,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde_json::Value;
use tokio::{net::TcpStream, sync::Semaphore, task::JoinSet};
use tokio_rustls::TlsConnector;

use super::span::Span;
use crate::stopwatch::Stopwatch;

type Sender = SendRequest<Full<Bytes>>;

/// Replays runs to one agent.
pub(super) struct Replay<'a> {
    link: Arc<Link>,
    waits: &'a [Span],
    watch: Stopwatch,
}

/// The connections that stay open.
struct Link {
    address: SocketAddr,
    name: ServerName<'static>,
    tls: TlsConnector,
    idle: Mutex<Vec<Sender>>,
    driving: Mutex<JoinSet<()>>,
}

/// One recording while it is replayed.
struct Play<'r> {
    exchanges: BTreeMap<ExchangeId, ExchangeView<'r>>,
    running: JoinSet<Result<Answer>>,
    answers: BTreeMap<ExchangeId, Bytes>,
    /// Ids that the agent gave then, and those that it gave now.
    renamed: Vec<(String, String)>,
    began: BTreeMap<ExchangeId, u64>,
    spans: Vec<Span>,
    waits: Vec<Span>,
    /// When the last exchange ended in the recording.
    last_end: u64,
}

struct Answer {
    x: ExchangeId,
    body: Bytes,
    at: Stopwatch,
}

// === impl Replay ===

impl<'a> Replay<'a> {
    pub(super) fn new(address: SocketAddr, (name, root): (&str, &str), waits: &'a [Span]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(root.as_bytes()) {
            roots.add(certificate?)?;
        }
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let link = Link {
            address,
            name: ServerName::try_from(name.to_owned())?,
            tls: TlsConnector::from(Arc::new(config)),
            idle: Mutex::default(),
            driving: Mutex::default(),
        };
        Ok(Self { link: Arc::new(link), waits, watch: Stopwatch::start() })
    }

    /// Makes all exchanges of a run; when each was under way, and the waits.
    pub(super) async fn run(
        &self,
        run: &Run,
        identity: &dyn Identity,
        concurrency: usize,
    ) -> Result<(Vec<Span>, Vec<Span>)> {
        let credentials = credentials(run, identity).await?;
        let (mut spans, mut waits) = (Vec::new(), Vec::new());
        let slots = Semaphore::new(concurrency);
        for group in groups(&run.recordings) {
            let plays = group.iter().map(|recording| self.play(recording, &credentials, &slots));
            // who waits keeps nobody from calling, as in the run
            let played: Vec<_> = stream::iter(plays).buffer_unordered(8 * concurrency).try_collect().await?;
            for (exchanges, waited) in played {
                spans.extend(exchanges);
                waits.extend(waited);
            }
        }
        Ok((spans, waits))
    }

    async fn play(
        &self,
        recording: &Recording,
        credentials: &[(String, String)],
        slots: &Semaphore,
    ) -> Result<(Vec<Span>, Vec<Span>)> {
        let mut slot = slots.acquire().await?;
        let exchanges = recording.exchanges().into_iter().map(|x| (x.id, x)).collect();
        let mut play = Play {
            exchanges,
            running: JoinSet::new(),
            answers: BTreeMap::new(),
            renamed: Vec::new(),
            began: BTreeMap::new(),
            spans: Vec::new(),
            waits: Vec::new(),
            last_end: 0,
        };
        for event in &recording.events {
            match &event.kind {
                Kind::Sent { x, .. } => {
                    if let Some(wait) = self.waited(&play, event.at.0) {
                        drop(slot);
                        let from = self.now();
                        tokio::time::sleep(wait).await;
                        play.waits.push((from, self.now()));
                        slot = slots.acquire().await?;
                    }
                    let request = request(&play.exchanges[x], credentials, &play.renamed)?;
                    let wanted = wanted(&play.exchanges[x]);
                    play.began.insert(*x, self.now());
                    play.running.spawn(Arc::clone(&self.link).exchange(*x, request, wanted));
                }
                Kind::Ended { x, how } => {
                    ensure!(!matches!(how, End::NoConnection { .. } | End::Deadline), "an exchange ended with {how:?}");
                    self.finish(&mut play, *x).await?;
                    play.last_end = event.at.0;
                }
                _ => {}
            }
        }
        drop(slot);
        Ok((play.spans, play.waits))
    }

    /// How long the run waited before a request.
    fn waited(&self, play: &Play<'_>, sent: u64) -> Option<Duration> {
        let within = |wait: &&Span| play.last_end > 0 && wait.0 >= play.last_end && wait.1 <= sent;
        self.waits.iter().filter(within).map(|wait| wait.1 - wait.0).max().map(Duration::from_nanos)
    }

    async fn finish(&self, play: &mut Play<'_>, x: ExchangeId) -> Result<()> {
        while !play.answers.contains_key(&x) {
            let answer = play.running.join_next().await.context("an exchange was never begun")???;
            let until = self.now().saturating_sub(nanos(answer.at.elapsed()));
            play.spans.extend(play.began.get(&answer.x).map(|from| (*from, until)));
            play.answers.insert(answer.x, answer.body);
        }
        let then = play.exchanges[&x].body();
        for (then, now) in documents(&then).iter().zip(&documents(&play.answers[&x])) {
            rename(then, now, &mut play.renamed);
        }
        Ok(())
    }

    fn now(&self) -> u64 {
        nanos(self.watch.elapsed())
    }
}

// === impl Link ===

impl Link {
    /// One exchange over an idle connection or a new one. Of a body that was broken off, only what was read then.
    async fn exchange(
        self: Arc<Self>,
        x: ExchangeId,
        request: hyper::Request<Full<Bytes>>,
        wanted: usize,
    ) -> Result<Answer> {
        let mut sender = self.sender().await?;
        let mut response = sender.send_request(request).await?;
        let mut body = Vec::new();
        while body.len() < wanted
            && let Some(frame) = response.frame().await
        {
            if let Ok(data) = frame?.into_data() {
                body.extend_from_slice(&data);
            }
        }
        let at = Stopwatch::start();
        if wanted == usize::MAX && sender.ready().await.is_ok() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        }
        Ok(Answer { x, body: Bytes::from(body), at })
    }

    async fn sender(&self) -> Result<Sender> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(sender) = idle() {
            if sender.is_ready() {
                return Ok(sender);
            }
        }
        let tcp = TcpStream::connect(self.address).await?;
        tcp.set_nodelay(true)?;
        let tls = self.tls.connect(self.name.clone(), tcp).await?;
        let (sender, connection) = handshake(TokioIo::new(tls)).await?;
        self.driving.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
            // how it ended is told by its exchanges
            drop(connection.await);
        });
        Ok(sender)
    }
}

/// The recordings that ran beside each other: a group begins after the end of all before it.
fn groups(recordings: &[Recording]) -> Vec<&[Recording]> {
    let (mut out, mut start, mut end) = (Vec::new(), 0, 0);
    for (n, recording) in recordings.iter().enumerate() {
        let at = |event: Option<&ostiary_record::Event>| event.map_or(0, |e| e.at.0);
        if n > start && at(recording.events.first()) >= end {
            out.push(&recordings[start..n]);
            start = n;
        }
        end = end.max(at(recording.events.last()));
    }
    out.push(&recordings[start..]);
    out
}

/// The credentials that the tape does not tell, by what stands there in their place.
async fn credentials(run: &Run, identity: &dyn Identity) -> Result<Vec<(String, String)>> {
    let events = run.recordings.iter().flat_map(|r| &r.events);
    let actors: BTreeSet<_> =
        events.filter_map(|e| if let Kind::Opened { actor, .. } = &e.kind { Some(actor) } else { None }).collect();
    let mut out = Vec::new();
    for actor in actors {
        let found = identity.actor(actor).await?;
        for (_, value) in found.into_iter().flat_map(|a| a.credentials) {
            let secret = value.split_once(' ').map_or(value.as_str(), |(_, token)| token);
            out.push((format!("⟨credential:{actor}⟩"), secret.to_owned()));
        }
    }
    Ok(out)
}

/// How many bytes of the body are read: of one that we broke off, those that came; else all.
fn wanted(exchange: &ExchangeView<'_>) -> usize {
    match exchange.ended {
        Some((End::LocalAbort, _)) => exchange.body().len(),
        _ => usize::MAX,
    }
}

fn request(
    exchange: &ExchangeView<'_>,
    credentials: &[(String, String)],
    renamed: &[(String, String)],
) -> Result<hyper::Request<Full<Bytes>>> {
    let Route::Http { method, path } = exchange.route else { bail!("an exchange that is not over HTTP") };
    let url = path.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    // what follows the interface's own path, which is `/a2a`
    let target = url.map_or_else(|| format!("/a2a{path}"), str::to_owned);
    let body = match exchange.request.as_str() {
        Some(text) => Bytes::from(replaced(text, renamed)),
        None => exchange.request.0.clone(),
    };
    let mut request = hyper::Request::builder().method(method.as_str()).uri(replaced(&target, renamed));
    for (name, value) in headers(exchange.request_headers) {
        request = request.header(name, replaced(value, credentials));
    }
    if !exchange.request_headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request = request.header("Host", super::NAME);
    }
    Ok(request.body(Full::new(body))?)
}

/// All fields but the length, which the client sees to.
fn headers(recorded: &RawHeaders) -> impl Iterator<Item = (&str, &str)> {
    let text = recorded.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    text.filter(|(name, _)| !name.eq_ignore_ascii_case("content-length"))
}

fn replaced(text: &str, pairs: &[(String, String)]) -> String {
    let mut out = text.to_owned();
    for (then, now) in pairs {
        if out.contains(then) {
            out = out.replace(then, now);
        }
    }
    out
}

/// The JSON of a body: itself, or that of each event.
fn documents(body: &[u8]) -> Vec<Value> {
    if let Ok(value) = serde_json::from_slice(body) {
        return vec![value];
    }
    let text = String::from_utf8_lossy(body);
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?).ok()).collect()
}

/// Pairs up the ids that stand in the same places.
fn rename(then: &Value, now: &Value, renamed: &mut Vec<(String, String)>) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (name, then) in then {
                let Some(now) = now.get(name) else { continue };
                match (then, now, name.as_str()) {
                    (Value::String(then), Value::String(now), "id" | "taskId" | "contextId") if then != now => {
                        let pair = (then.clone(), now.clone());
                        if !renamed.contains(&pair) {
                            renamed.push(pair);
                        }
                    }
                    _ => rename(then, now, renamed),
                }
            }
        }
        (Value::Array(then), Value::Array(now)) => then.iter().zip(now).for_each(|(t, n)| rename(t, n, renamed)),
        _ => {}
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
