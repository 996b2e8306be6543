//! The callback receiver: where a candidate's push notifications arrive, recorded, checked and answered as told.
//!
//! Each registration has an address of its own. What arrives is bounded in size, number and time: a flood is counted, not
//! kept. Beside the addresses that candidates are told there is a second port on the loopback, which stands for a service
//! of the candidate's own network: what arrives there was sent where it must not go.

mod proof;
mod state;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use jiff::Timestamp;
use ostiary_record::{
    ActorId, Arrived, Delivery, Monotonic, Proof, Registration, Reply, Tape,
    ports::{Address, BoxFuture, Inbox},
};
use tokio::sync::watch;

use self::state::{Door, State};
use super::{
    oidc::Now,
    serve::{Answer, Failure, Server, status, with},
};
use crate::clock::SinceStart;

/// What a receiver needs.
#[derive(Clone)]
pub struct CallbackOptions {
    /// Where to listen; `None` = a free port of the loopback.
    pub listen: Option<SocketAddr>,
    /// What candidates are told instead of `http://ADDRESS`: the base of the addresses, where a name or a TLS terminator
    /// stands before the receiver.
    pub base: Option<String>,
    /// Addresses follow from it: two runs with different seeds never take each other's deliveries for their own.
    pub seed: u64,
    /// The clock of deliveries; `None` = time since the receiver started.
    pub clock: Option<Arc<dyn Monotonic>>,
    /// Tells the time by which tokens are judged.
    pub now: Now,
}

/// A running receiver; stops when dropped.
pub struct CallbackReceiver {
    desk: Arc<Desk>,
    server: Server,
    inside: Server,
}

struct Desk {
    base: String,
    inside: SocketAddr,
    seed: u64,
    clock: Arc<dyn Monotonic>,
    now: Now,
    state: Mutex<State>,
    /// How many deliveries were recorded in all.
    recorded: watch::Sender<u64>,
}

/// Most bytes of a body that are kept.
const BODY: usize = 256 << 10;
/// Longest wait for a body.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Most header fields of a delivery that are kept, and most bytes of each.
const FIELDS: usize = 64;
const FIELD: usize = 4 << 10;

// === impl CallbackOptions ===

impl CallbackOptions {
    /// On a free port of the loopback, by this time.
    #[must_use]
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { listen: None, base: None, seed: 0, clock: None, now: Arc::new(now) }
    }
}

// === impl CallbackReceiver ===

impl CallbackReceiver {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(options: CallbackOptions) -> io::Result<Self> {
        let (listener, addr) = Server::bind(options.listen).await?;
        let (inner, inside) = Server::bind(None).await?;
        let desk = Arc::new(Desk {
            base: options.base.unwrap_or_else(|| format!("http://{addr}")).trim_end_matches('/').to_owned(),
            inside,
            seed: options.seed,
            clock: SinceStart::or(options.clock),
            now: options.now,
            state: Mutex::default(),
            recorded: watch::Sender::new(0),
        });
        let serve = |listener, addr, door| {
            let desk = Arc::clone(&desk);
            Server::start(listener, addr, move |request| Arc::clone(&desk).take(door, request))
        };
        let (server, inside) = (serve(listener, addr, Door::Told), serve(inner, inside, Door::Inside));
        Ok(Self { desk, server, inside })
    }

    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.server.shutdown().await;
        self.inside.shutdown().await;
    }
}

impl Inbox for CallbackReceiver {
    fn blind(&self) -> Vec<String> {
        [
            "deliveries to any other address: an egress observer may see them",
            "plain HTTP on a private address: a candidate that refuses such callbacks is right to, and sends nothing",
            "what of a body is longer than 256 KiB, and what of a flood is more than a thousand deliveries an address",
            "what a candidate on another machine sends to its own loopback",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn register(&self, tape: &Tape, registration: Registration) -> Address {
        for secret in registration.proofs.iter().filter_map(secret) {
            tape.hide(secret, &ActorId(format!("callback:{}", registration.name)));
        }
        let path = self.desk.state().register(Door::Told, self.desk.seed, tape.clone(), registration);
        Address { url: format!("{}{path}", self.desk.base), path }
    }

    fn register_inside(&self, tape: &Tape, registration: Registration) -> Option<Address> {
        let path = self.desk.state().register(Door::Inside, self.desk.seed, tape.clone(), registration);
        Some(Address { url: format!("http://{}{path}", self.desk.inside), path })
    }

    fn withdraw(&self, address: &Address) {
        self.desk.state().withdraw(&address.path);
    }

    fn arrived(&self, address: &Address) -> Arrived {
        self.desk.state().arrived(&address.path)
    }

    fn strays(&self) -> Arrived {
        self.desk.state().strays()
    }

    fn wait<'a>(&'a self, address: &'a Address, count: u64, within: Duration) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let mut recorded = self.desk.recorded.subscribe();
            let there = recorded.wait_for(|_| self.desk.state().count(&address.path) >= count);
            tokio::time::timeout(within, there).await.is_ok_and(|there| there.is_ok())
        })
    }
}

// === impl Desk ===

impl Desk {
    async fn take(self: Arc<Self>, door: Door, request: Request<Incoming>) -> Result<Answer, Failure> {
        let at = self.clock.now();
        let (parts, body) = request.into_parts();
        let (body, cut) = bounded(body).await;
        let reply = {
            let mut state = self.state();
            let target = parts.uri.path();
            let judged = state.judge(door, target, &parts.headers, (self.now)());
            let delivery = Delivery {
                n: 0,
                at,
                to: judged.to,
                withdrawn: judged.withdrawn,
                method: parts.method.to_string(),
                target: parts.uri.to_string().chars().take(FIELD).collect(),
                headers: fields(&parts.headers, &judged.secret_fields),
                body: body.into(),
                cut,
                shown: judged.shown,
                answered: status_of(&judged.reply),
            };
            state.keep(door, target, delivery);
            judged.reply
        };
        self.recorded.send_modify(|n| *n += 1);
        if reply == Reply::Broken {
            return Err("the connection is closed on purpose".into());
        }
        Ok(answer(&reply).await)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(reply: &Reply) -> Answer {
    match reply {
        Reply::Status(code) => status(*code),
        Reply::Slow { millis, status: code } => {
            tokio::time::sleep(Duration::from_millis(*millis)).await;
            status(*code)
        }
        Reply::Redirect(to) => with(status(307), header::LOCATION, to),
        // Until the sender leaves, or the receiver stops.
        Reply::Silence | Reply::Broken => std::future::pending().await,
    }
}

const fn status_of(reply: &Reply) -> Option<u16> {
    match reply {
        Reply::Status(code) | Reply::Slow { status: code, .. } => Some(*code),
        Reply::Redirect(_) => Some(307),
        Reply::Silence | Reply::Broken => None,
    }
}

/// As much of a body as is kept, and whether there was more, or it did not end in time.
async fn bounded(mut body: Incoming) -> (Bytes, bool) {
    let mut kept = BytesMut::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(bytes) = frame.into_data() else { continue };
            let room = BODY - kept.len();
            kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if bytes.len() > room {
                return true;
            }
        }
        false
    };
    let cut = tokio::time::timeout(BODY_TIME, reading).await.unwrap_or(true);
    (kept.freeze(), cut)
}

/// Header fields as they are kept: bounded, and without what is secret.
fn fields(headers: &HeaderMap, secret: &[String]) -> BTreeMap<String, String> {
    let always = ["authorization", "proxy-authorization", "cookie"];
    let kept = headers.keys().take(FIELDS).map(|name| {
        let hidden = always.contains(&name.as_str()) || secret.iter().any(|s| s.eq_ignore_ascii_case(name.as_str()));
        let value = headers.get(name).map(|v| String::from_utf8_lossy(v.as_bytes())).unwrap_or_default();
        let value = if hidden { "⟨credential⟩".to_owned() } else { value.chars().take(FIELD).collect() };
        (name.as_str().to_owned(), value)
    });
    kept.collect()
}

fn secret(proof: &Proof) -> Option<&str> {
    match proof {
        Proof::Authorization { credentials, .. } => Some(credentials),
        Proof::Token { value, .. } => Some(value),
        Proof::Jwt { .. } => None,
    }
}
