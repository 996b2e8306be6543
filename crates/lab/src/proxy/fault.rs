//! The fault policy: decides what is done to an exchange, keeps the ledger, and is the handle by which faults are switched.
//!
//! What is done to the bytes is decided in `fault/shaper.rs`, once for HTTP and for plain TCP.

pub(super) mod body;
pub(super) mod door;
mod ledger;
pub(super) mod line;
pub(super) mod shaper;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ostiary_record::{
    Disturbed, Down, Event, Fault, FaultPlan, Kind, Monotonic, Point, Source, Tape, When,
    event::DoubleId,
    fault::Draw,
    ports::{BoxFuture, CouldNotRun, Faults, Observer},
};
use serde_json::json;
use tokio::sync::watch;

use self::{door::Door, ledger::Ledger, shaper::Shaper};
use super::lock;
use crate::observer::observed::Marks;

/// A handle to the faults of one proxy; clones control the same proxy.
#[derive(Clone)]
pub struct FaultHandle {
    pub(super) desk: Arc<FaultDesk>,
}

/// What all exchanges of one proxy share.
pub(super) struct FaultDesk {
    place: String,
    clock: Arc<dyn Monotonic>,
    active: Mutex<Active>,
    ledger: Mutex<Ledger>,
    marks: Marks<u64>,
    /// What holds for everybody at once, and for connections that are open already.
    down: watch::Sender<Option<Down>>,
    /// What the door says about it.
    pub(super) door: watch::Sender<Door>,
}

/// The plan that is switched on.
#[derive(Default)]
struct Active {
    plan: FaultPlan,
    exchanges: u64,
    /// How many exchanges each rule spoke of.
    matched: Vec<u64>,
}

/// What is done to one exchange.
pub(super) struct Disturbance {
    desk: Arc<FaultDesk>,
    exchange: u64,
    what: String,
    faults: Vec<Fault>,
    draw: Draw,
    /// The ledger's entries, by the place of the fault.
    noted: Vec<(Fault, u64)>,
}

// === impl FaultHandle ===

impl FaultHandle {
    pub(super) fn new(place: &str, clock: Arc<dyn Monotonic>) -> Self {
        let (down, door) = (watch::Sender::new(None), watch::Sender::new(Door::Open));
        let (active, ledger) = (Mutex::default(), Mutex::default());
        let (place, marks) = (place.to_owned(), Marks::new("faults"));
        Self { desk: Arc::new(FaultDesk { place, clock, active, ledger, marks, down, door }) }
    }

    /// Switches a plan on, or off with `None`, without waiting for a port that it closes or opens.
    pub fn set(&self, plan: Option<FaultPlan>) {
        let plan = plan.unwrap_or_default();
        let down = down_for_all(&plan);
        let matched = vec![0; plan.rules.len()];
        *lock(&self.desk.active) = Active { plan, exchanges: 0, matched };
        self.desk.down.send_replace(down);
    }

    /// [`set`](Self::set), and waits until a port that the plan closes is closed, or is open again.
    ///
    /// # Errors
    /// When the port cannot be opened again.
    pub async fn apply(&self, plan: Option<FaultPlan>) -> Result<(), CouldNotRun> {
        let closed = plan.as_ref().is_some_and(FaultPlan::closes_port);
        self.set(plan);
        let mut door = self.desk.door.subscribe();
        let there = door.wait_for(|door| matches!(door, Door::Failed(_)) || (*door == Door::Closed) == closed).await;
        match there.map(|door| door.clone()) {
            Ok(Door::Failed(why)) => Err(CouldNotRun::Setup { what: format!("port of {}", self.desk.place), why }),
            // The other end is gone with the proxy, and nobody is disturbed any more.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Entries of the ledger that are no longer kept: beyond ten thousand the oldest go.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        lock(&self.desk.ledger).forgotten()
    }

    pub(super) fn watch(&self) -> watch::Receiver<Option<Down>> {
        self.desk.down.subscribe()
    }

    /// Counts an exchange and decides what is done to it.
    pub(super) fn begin(&self, what: String, names: &[&str]) -> Disturbance {
        let mut active = lock(&self.desk.active);
        active.exchanges += 1;
        let Active { plan, exchanges, matched } = &mut *active;
        let mut faults = Vec::new();
        for (place, rule) in plan.rules.iter().enumerate().filter(|(_, rule)| rule.speaks_of(names)) {
            matched[place] += 1;
            let mut draw = Draw::new(plan.seed.wrapping_add(place as u64 + 1), matched[place]);
            if rule.when.holds(matched[place], &mut draw) {
                faults.extend(&rule.faults);
            }
        }
        let draw = Draw::new(plan.seed, *exchanges);
        Disturbance { desk: Arc::clone(&self.desk), exchange: *exchanges, what, faults, draw, noted: Vec::new() }
    }
}

impl Faults for FaultHandle {
    fn place(&self) -> &str {
        &self.desk.place
    }

    fn blind(&self) -> Vec<String> {
        [
            "packets: what passes is disturbed in bytes, not in segments, so nothing is reordered or sent twice",
            "what was said before a plan was switched on, except that open connections are cut or held while all is down",
            "a black hole takes the connection: a caller waits for an answer, not for the handshake",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn switch<'a>(&'a self, tape: &'a Tape, plan: Option<&'a FaultPlan>) -> BoxFuture<'a, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let fault = plan.map_or_else(|| "all".to_owned(), |plan| json!(plan.rules).to_string());
            self.apply(plan.cloned()).await?;
            let from = Source::Double(DoubleId(format!("faults:{}", self.desk.place)));
            tape.push(from, Kind::Fault { on: plan.is_some(), fault });
            Ok(())
        })
    }

    fn ledger(&self) -> Vec<Disturbed> {
        lock(&self.desk.ledger).entries()
    }
}

/// The ledger as an observation: `{"faults": […]}`.
impl Observer for FaultHandle {
    fn sees(&self) -> Vec<String> {
        vec!["faults".to_owned()]
    }

    fn blind(&self) -> Vec<String> {
        Faults::blind(self)
    }

    fn begin<'a>(&'a self, tape: &'a Tape) -> BoxFuture<'a, Result<u64, CouldNotRun>> {
        let next = lock(&self.desk.ledger).next();
        Box::pin(std::future::ready(Ok(self.desk.marks.open(tape, next))))
    }

    fn since<'a>(&'a self, tape: &'a Tape, mark: u64) -> BoxFuture<'a, Result<Event, CouldNotRun>> {
        let seen = self.desk.marks.before(mark).map(|(from, first)| {
            let (entries, forgotten) = {
                let ledger = lock(&self.desk.ledger);
                (ledger.entries(), ledger.forgotten())
            };
            let entries: Vec<_> = entries.into_iter().filter(|entry| entry.n >= first).collect();
            self.desk.marks.write(tape, from, json!({"faults": entries}), forgotten <= first)
        });
        Box::pin(std::future::ready(seen))
    }
}

// === impl Disturbance ===

impl Disturbance {
    /// What ends the exchange before its request is passed on.
    pub(super) fn unsent(&self) -> Option<Fault> {
        self.faults.iter().copied().find(|fault| fault.ends_at() == Some(Point::BeforeRequest))
    }

    /// Waits as long as the answer is to begin later.
    pub(super) async fn delay(&mut self) {
        let late: Vec<_> = self.faults.iter().filter(|fault| matches!(fault, Fault::Latency { .. })).copied().collect();
        for fault in late {
            let Fault::Latency { millis } = fault else { continue };
            self.note(fault, true, 0, millis);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }

    /// What is done to the bytes of the answer.
    pub(super) fn shaper(&self) -> Shaper {
        Shaper::new(&self.faults, self.draw.clone())
    }

    /// Whether the bytes of the answer are touched at all.
    pub(super) fn shapes(&self) -> bool {
        self.faults.iter().any(|fault| !matches!(fault, Fault::Latency { .. }))
    }

    /// Writes into the ledger what was done; the same fault of the same exchange is one entry that grows.
    pub(super) fn note(&mut self, fault: Fault, reached: bool, passed_bytes: u64, waited_millis: u64) {
        let mut ledger = lock(&self.desk.ledger);
        if let Some((_, n)) = self.noted.iter().find(|(known, _)| *known == fault) {
            ledger.grow(*n, passed_bytes, waited_millis);
            return;
        }
        let (exchange, what, at) = (self.exchange, self.what.clone(), self.desk.clock.now());
        let entry = Disturbed { n: 0, at, exchange, what, fault, reached, passed_bytes, waited_millis };
        self.noted.push((fault, ledger.push(entry)));
    }
}

/// What a plan says for each exchange, whatever its name.
fn down_for_all(plan: &FaultPlan) -> Option<Down> {
    let all = plan.rules.iter().filter(|rule| rule.on.is_none() && rule.when == When::Always);
    let downs = all.flat_map(|rule| &rule.faults).filter_map(|fault| match fault {
        Fault::Down { how } => Some(*how),
        _ => None,
    });
    downs.max_by_key(|how| *how == Down::Refuse)
}
