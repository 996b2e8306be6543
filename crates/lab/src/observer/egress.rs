//! The egress observer: a forward proxy that a candidate is told to use, and a ledger of where it went.
//!
//! Plain HTTP by absolute request targets and everything else by CONNECT (RFC 9110 §7.1, §9.3.6). Who is not on the list is
//! answered 403 and written down all the same.

mod allow;
mod ledger;
mod relay;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ostiary_record::{
    Event, Monotonic, Tape,
    ports::{BoxFuture, CouldNotRun, Observer},
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::ledger::Ledger;
pub use self::{
    allow::{AllowList, NoHost},
    ledger::{Departure, Via},
};
use super::observed::Marks;
use crate::clock::SinceStart;

/// What may leave, and where it goes.
#[derive(Clone, Default)]
pub struct EgressOptions {
    /// Where to listen; `None` = a free port of the loopback.
    pub listen: Option<SocketAddr>,
    /// Who may be called; nobody else.
    pub allow: AllowList,
    /// Where connections to a `host:port` really go: to a double.
    pub connect_to: BTreeMap<String, String>,
    /// Whether the operator vouches that the candidate has no other way out (a network policy, a namespace). Without it an
    /// observation is never complete.
    pub only_way_out: bool,
    /// The clock of the ledger; `None` = time since the observer started.
    pub clock: Option<Arc<dyn Monotonic>>,
}

/// A running observer; stops when dropped.
pub struct EgressObserver {
    addr: SocketAddr,
    desk: Arc<Desk>,
    marks: Marks<u64>,
}

struct Desk {
    allow: AllowList,
    connect_to: BTreeMap<String, String>,
    only_way_out: bool,
    clock: Arc<dyn Monotonic>,
    ledger: Mutex<Ledger>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

// === impl EgressObserver ===

impl EgressObserver {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(options: EgressOptions) -> io::Result<Self> {
        let listen = options.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let listener = TcpListener::bind(listen).await?;
        let addr = listener.local_addr()?;
        let desk = Arc::new(Desk {
            allow: options.allow,
            connect_to: options.connect_to,
            only_way_out: options.only_way_out,
            clock: SinceStart::or(options.clock),
            ledger: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        desk.tasks.spawn(relay::accept(listener, Arc::clone(&desk)));
        Ok(Self { addr, desk, marks: Marks::new("egress") })
    }

    /// Where it listens: `http://ADDRESS` is what `HTTP_PROXY` and `HTTPS_PROXY` say.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where the candidate went so far, oldest first; beyond ten thousand the oldest are forgotten.
    #[must_use]
    pub fn departures(&self) -> Vec<Departure> {
        self.desk.ledger().entries()
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.desk.stop.cancel();
        self.desk.tasks.close();
        self.desk.tasks.wait().await;
    }
}

impl Drop for EgressObserver {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

/// Observes `{"egress": [DEPARTURE…]}`.
impl Observer for EgressObserver {
    fn sees(&self) -> Vec<String> {
        vec!["egress".to_owned()]
    }

    fn blind(&self) -> Vec<String> {
        [
            "what does not go through the proxy: a process may ignore its variables, and UDP and DNS never come here",
            "what is said inside of a tunnel: host, port, bytes and times are known, not the request",
            "which exchange with the candidate a call belongs to, except by its time",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn begin<'a>(&'a self, tape: &'a Tape) -> BoxFuture<'a, Result<u64, CouldNotRun>> {
        let next = self.desk.ledger().next();
        Box::pin(std::future::ready(Ok(self.marks.open(tape, next))))
    }

    fn since<'a>(&'a self, tape: &'a Tape, mark: u64) -> BoxFuture<'a, Result<Event, CouldNotRun>> {
        let seen = self.marks.before(mark).map(|(from, first)| {
            let (entries, forgotten) = {
                let ledger = self.desk.ledger();
                (ledger.entries(), ledger.forgotten())
            };
            let entries: Vec<_> = entries.into_iter().filter(|entry| entry.n >= first).collect();
            let complete = self.desk.only_way_out && forgotten <= first;
            self.marks.write(tape, from, json!({"egress": entries}), complete)
        });
        Box::pin(std::future::ready(seen))
    }
}

// === impl Desk ===

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
