//! The [`Transport`] over HTTP: 1.1 by our own words, 2 for gRPC.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ostiary_record::{
    ChannelId, Kind, Route, Source, Tape,
    ports::{Actor, BoxFuture, Carrier, Channel, CouldNotRun, Limits, Outbound, Target, Transport},
};
use url::Url;

use crate::{
    channel::{HttpChannel, Prepared, Speaker},
    dial::{Conn, DialError, Dialer, Origin},
    exchange::{Exchange, lock},
    http2::Http2Link,
    request::{self, Parts},
    settings::{Settings, SettingsError},
};

/// Carries requests to a candidate and fetches its documents.
///
/// A channel keeps idle connections for a short while; nothing is ever sent twice, and no redirect of an answer is
/// followed. Each event block of an event stream and each gRPC message is one frame, any other body is one frame.
#[derive(Clone)]
pub struct HttpTransport {
    pub(crate) dialer: Arc<Dialer>,
    channels: Arc<AtomicU64>,
}

/// Where a channel of HTTP/1.1 leads, with its idle connections: an exchange has one to itself while it lasts.
pub(crate) struct Link {
    dialer: Arc<Dialer>,
    origin: Origin,
    pub(crate) url: Url,
    idle: Mutex<Vec<Conn>>,
}

/// How long a connection may lie idle and still be used: well below what servers allow, since a request that crosses
/// the server's closing would be lost, and it is not sent again.
const IDLE: Duration = Duration::from_secs(1);
/// How long a connection rests after an answer: servers that close without announcing it do so at once, and the next
/// request would meet the close on its way.
const SETTLE: Duration = Duration::from_millis(5);
/// Idle connections kept.
const MAX_IDLE: usize = 8;

// === impl HttpTransport ===

impl HttpTransport {
    /// A transport by the operator's settings.
    ///
    /// # Errors
    /// When settings do not parse; all problems at once.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        Ok(Self { dialer: Arc::new(Dialer::new(settings)?), channels: Arc::default() })
    }

    async fn http1(&self, tape: &Tape, target: &Target, limits: Limits) -> Result<Arc<Link>, CouldNotRun> {
        let refused = |why: String| CouldNotRun::AddressRefused { target: target.url.clone(), why };
        let url = Url::parse(&target.url).map_err(|e| refused(format!("not a URL: {e}")))?;
        let origin = self.dialer.origin(&url).map_err(|e| e.about(&target.url))?;
        let link = Link { dialer: Arc::clone(&self.dialer), origin, url, idle: Mutex::default() };
        let first = link.dial(limits.connect).await.map_err(|e| e.about(&target.url))?;
        link.give_back(first, tape);
        Ok(Arc::new(link))
    }
}

impl Transport for HttpTransport {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        Box::pin(async move {
            let speaker: Arc<dyn Speaker> = match target.carrier {
                Carrier::Http => self.http1(tape, target, limits).await?,
                Carrier::Grpc => Http2Link::open(Arc::clone(&self.dialer), target, limits).await?,
                Carrier::Stdio => return Err(CouldNotRun::Internal("HTTP does not start processes".to_owned())),
            };
            hide_credentials(tape, actor);
            let version = if target.carrier == Carrier::Grpc { "grpc" } else { "http" };
            let id = format!("{version}-{}", self.channels.fetch_add(1, Ordering::Relaxed));
            let from = Source::Wire(ChannelId(id));
            tape.push(from.clone(), Kind::Opened { target: target.id.clone(), actor: actor.id.clone() });
            let channel = HttpChannel::new(speaker, tape.clone(), from, actor.clone(), limits);
            Ok(Box::new(channel) as Box<dyn Channel>)
        })
    }
}

// === impl Link ===

impl Link {
    pub(crate) async fn dial(&self, within: Duration) -> Result<Conn, DialError> {
        self.dialer.dial(&self.origin, &self.dialer.guard, within).await
    }

    /// An idle connection that looks alive.
    pub(crate) fn take(&self, tape: &Tape) -> Option<Conn> {
        let now = Duration::from_nanos(tape.now().0);
        let mut idle = lock(&self.idle);
        let rest = |conn: &Conn| now.saturating_sub(Duration::from_nanos(conn.idle_since.0));
        idle.retain(|conn| rest(conn) <= IDLE);
        while let Some(at) = idle.iter().position(|conn| conn.answers == 0 || rest(conn) >= SETTLE) {
            let mut conn = idle.swap_remove(at);
            if conn.stream.is_quiet() {
                return Some(conn);
            }
        }
        None
    }

    pub(crate) fn give_back(&self, mut conn: Conn, tape: &Tape) {
        conn.idle_since = tape.now();
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE {
            idle.push(conn);
        }
    }
}

impl Speaker for Link {
    fn prepare(self: Arc<Self>, out: &Outbound, credentials: &[(String, String)]) -> Result<Prepared, String> {
        let Route::Http { method, path } = &out.route else {
            return Err("this driver speaks HTTP only".to_owned());
        };
        let mut headers = out.headers.clone();
        headers.extend(credentials.iter().cloned());
        let target = request::target(&self.url, path);
        let request = request::encode(Parts { method, url: &self.url, target: &target, headers, body: &out.body })?;
        let headers = request.headers.clone();
        Ok(Prepared { headers, run: Box::new(move |going| Box::pin(Exchange { link: self, request, going }.run())) })
    }
}

/// From now on the tape writes the actor's name wherever an answer repeats its credential.
fn hide_credentials(tape: &Tape, actor: &Actor) {
    for (_, value) in &actor.credentials {
        let secret = value.split_once(' ').map_or(value.as_str(), |(_, token)| token);
        tape.hide(secret.trim(), &actor.id);
    }
}
