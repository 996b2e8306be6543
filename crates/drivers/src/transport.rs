//! The [`Transport`] over HTTP: 1.1 by our own words, 2 for gRPC.

use std::{
    net::SocketAddr,
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

    /// Where connections to a target go: what routing says, or what its name resolves to and the guard lets through.
    ///
    /// # Errors
    /// When the address is refused or has no meaning, or the name has no address.
    pub async fn address_of(&self, target: &Target) -> Result<SocketAddr, CouldNotRun> {
        let origin = self.origin_of(target)?;
        let addresses = self.dialer.addresses(&origin, &self.dialer.guard).await.map_err(|e| e.about(&target.url))?;
        let none =
            || CouldNotRun::Unreachable { target: target.url.clone(), why: "its name has no address".to_owned() };
        addresses.first().copied().ok_or_else(none)
    }

    /// The same transport, except that connections to a target go to `to`, somebody of ours who passes them on. TLS and
    /// `Host` keep the target's name.
    ///
    /// # Errors
    /// When the target's address has no meaning.
    pub fn led(&self, target: &Target, to: SocketAddr) -> Result<Self, CouldNotRun> {
        let origin = self.origin_of(target)?;
        Ok(Self { dialer: Arc::new(self.dialer.led(&origin, to)), channels: Arc::clone(&self.channels) })
    }

    fn origin_of(&self, target: &Target) -> Result<Origin, CouldNotRun> {
        let refused = |why: String| CouldNotRun::AddressRefused { target: target.url.clone(), why };
        let url = match target.carrier {
            Carrier::Http => Url::parse(&target.url).map_err(|e| refused(format!("not a URL: {e}")))?,
            Carrier::Grpc => crate::http2::address(&target.url).map_err(refused)?.0,
            Carrier::Stdio => return Err(refused("a process has no address to be led from".to_owned())),
        };
        self.dialer.origin(&url).map_err(|e| e.about(&target.url))
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

#[cfg(test)]
mod tests {
    use ostiary_record::TargetId;

    use super::*;

    fn target(url: &str, carrier: Carrier) -> Target {
        Target { id: TargetId::from("agent"), url: url.to_owned(), carrier }
    }

    fn transport() -> HttpTransport {
        let connect_to = [("agents.example.test:443".to_owned(), "127.0.0.1:9100".to_owned())].into();
        HttpTransport::new(Settings { connect_to, ..Settings::default() }).expect("the settings are right")
    }

    #[tokio::test]
    async fn a_way_begins_where_routing_and_guard_lead() {
        let routed = "127.0.0.1:9100".parse().expect("an address");
        for (url, carrier) in [
            ("https://agents.example.test/rpc", Carrier::Http),
            ("agents.example.test:443", Carrier::Grpc),
            ("https://agents.example.test", Carrier::Grpc),
        ] {
            assert_eq!(transport().address_of(&target(url, carrier)).await, Ok(routed), "{url}");
        }
        for url in ["https://127.0.0.1:9100/rpc", "http://agents.example.test:443/", "no url"] {
            let refused = transport().address_of(&target(url, Carrier::Http)).await;
            assert!(matches!(refused, Err(CouldNotRun::AddressRefused { .. })), "{url}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_led_transport_goes_elsewhere_for_its_target_alone() {
        let agent = target("https://agents.example.test/rpc", Carrier::Http);
        let elsewhere = "[::1]:9200".parse().expect("an address");
        let led = transport().led(&agent, elsewhere).expect("the target has an address");
        assert_eq!(led.address_of(&agent).await, Ok(elsewhere));
        let other = led.address_of(&target("https://127.0.0.1:9/", Carrier::Http)).await;
        assert!(matches!(other, Err(CouldNotRun::AddressRefused { .. })), "{other:?}");
    }
}
