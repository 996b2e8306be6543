//! Keeps one scope's copy in step: connects, feeds messages to the rules, does what they say, tries again.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use futures::StreamExt as _;
use jiff::SignedDuration;
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{
    self as wire, admission_service_client::AdmissionServiceClient, watch_admissions_request::Message as Request,
};
use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior, Sleep},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming, transport::Channel};

use crate::{
    config::{RouterConfig, Token},
    copy::{Copy, Effects, Fault, Keep, Rules, Tell, Touched},
    disk::Found,
    dispatch::UnderWay,
    downstream::Downstream,
    keeper::{Holding, Keeper},
    metrics::Metrics,
    ports::Ports,
    view::ScopeView,
};

/// What keeps one scope in step.
pub(crate) struct Link {
    copy: Copy,
    view: Arc<ScopeView>,
    keeper: Keeper,
    surroundings: Surroundings,
    ticks: Interval,
    /// Failed attempts in a row.
    failures: u32,
    /// The revision that is applied here, and the one up to which that was said on this stream.
    applied: Revision,
    acknowledged: Revision,
    /// What is to be acknowledged, and when.
    due: Option<(Revision, Pin<Box<Sleep>>)>,
}

/// What links share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) channel: Channel,
    pub(crate) token: Option<Token>,
    pub(crate) ports: Ports,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) downstream: Option<Arc<dyn Downstream>>,
    pub(crate) stop: CancellationToken,
}

/// How often the rules look at the clock: a fraction of what would be noticed. Leases end without it, at each decision.
const TICK: Duration = Duration::from_millis(500);
/// Requests that wait to be sent; acknowledgements are small and the control plane reads them at once.
const OUTGOING: usize = 64;
/// An acknowledgement follows after this time, and anywhere within as much again and once more: the acknowledgements of a
/// thousand routers would otherwise meet the step that is still on its way to most of them, and hold it up.
const ACKNOWLEDGE_AFTER: Duration = Duration::from_millis(25);
const ACKNOWLEDGE_SPREAD_NANOS: u64 = 50_000_000;
/// Bounds of the back-off, before jitter.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// An unary call that opens a stream takes a round trip; this is many.
const OPENING: Duration = Duration::from_secs(10);
/// Messages are chunks of 256 KiB and steps of a few entries; this is generous and bounded.
pub(crate) const MESSAGE_LIMIT: usize = 16 << 20;

/// Why a connection ended.
enum Ended {
    Stopped,
    Fault(Fault),
    Status(Status),
    Closed,
}

// === impl Link ===

impl Link {
    pub(crate) fn new(rules: Rules, view: Arc<ScopeView>, disk: (Keeper, Found), surroundings: Surroundings) -> Self {
        let (keeper, found) = disk;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let copy = restored(rules, found, &surroundings.ports);
        view.hold(copy.held());
        Self {
            copy,
            view,
            keeper,
            surroundings,
            ticks,
            failures: 0,
            applied: Revision(0),
            acknowledged: Revision(0),
            due: None,
        }
    }

    /// Runs until stopped.
    pub(crate) async fn run(mut self) {
        // What was found on disk: all later steps build on it.
        self.tell(self.copy.verified_head().map(Tell::Replaced));
        loop {
            match self.connection().await {
                Ended::Stopped => return,
                Ended::Fault(fault) => {
                    self.surroundings.metrics.fault(&fault);
                    tracing::warn!(scope = %self.view.scope, fault = fault.as_str(), %fault, "the watch was given up");
                }
                Ended::Status(status) => {
                    tracing::warn!(scope = %self.view.scope, code = ?status.code(), "the watch ended: {}", status.message());
                }
                Ended::Closed => tracing::info!(scope = %self.view.scope, "the watch was closed"),
            }
            self.copy.closed();
            self.show();
            let pause = self.pause();
            if self.meanwhile(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    async fn connection(&mut self) -> Ended {
        let (outgoing, requests) = mpsc::channel(OUTGOING);
        // A new stream knows of no acknowledgement.
        (self.applied, self.acknowledged, self.due) = (Revision(0), Revision(0), None);
        let effects = self.copy.open(self.boot());
        if let Some(ended) = self.perform(effects, &outgoing).await {
            return ended;
        }
        let opening = open(self.surroundings.channel.clone(), self.surroundings.token.clone(), requests);
        let mut incoming = match self.meanwhile(tokio::time::timeout(OPENING, opening)).await {
            None => return Ended::Stopped,
            Some(Err(_)) => return Ended::Status(Status::deadline_exceeded("no answer to the opening of a watch")),
            Some(Ok(Err(status))) => return Ended::Status(status),
            Some(Ok(Ok(incoming))) => incoming,
        };
        self.surroundings.metrics.connected();
        let effects = self.copy.opened(self.boot());
        if let Some(ended) = self.perform(effects, &outgoing).await {
            return ended;
        }
        let stop = self.surroundings.stop.clone();
        loop {
            let effects = tokio::select! {
                () = stop.cancelled() => return Ended::Stopped,
                () = pass(&mut self.due) => match self.acknowledge(&outgoing) {
                    Some(ended) => return ended,
                    None => continue,
                },
                _ = self.ticks.tick() => self.tick(),
                message = incoming.next() => match message {
                    None => return Ended::Closed,
                    Some(Err(status)) => return Ended::Status(status),
                    Some(Ok(wire::WatchAdmissionsResponse { message: Some(message) })) => {
                        self.copy.receive(message, self.boot())
                    }
                    // A kind of message that this version does not know says nothing that could be acted on.
                    Some(Ok(wire::WatchAdmissionsResponse { message: None })) => continue,
                },
            };
            if let Some(ended) = self.perform(effects, &outgoing).await {
                return ended;
            }
        }
    }

    /// Does what a message led to, in the order that [`Effects`] gives.
    async fn perform(
        &mut self,
        effects: Effects,
        outgoing: &mpsc::Sender<wire::WatchAdmissionsRequest>,
    ) -> Option<Ended> {
        let Effects { held, touched, keep, tell, mut send, end, not_understood, ignored } = effects;
        self.count(keep.as_ref(), not_understood, ignored);
        // Before what is held: whoever waits for that sees the phase that goes with it.
        self.view.show(self.copy.phase());
        if let Some(held) = held {
            self.view.hold(held);
        }
        self.ask_again(&touched);
        if let Some(keep) = keep {
            let holding = Holding { index: self.copy.held().index, floor: self.copy.floor(), head: self.copy.head() };
            if !self.keeper.keep(keep, holding).await {
                send.retain(|request| !matches!(request, Request::Applied(_)));
            }
        }
        if self.copy.in_step() {
            self.failures = 0;
        }
        self.tell(tell);
        for message in self.with_followers(send) {
            let Some(message) = self.not_yet(message) else { continue };
            if let Some(ended) = say(outgoing, message) {
                return Some(ended);
            }
        }
        end.map(Ended::Fault)
    }

    /// Keeps an acknowledgement back for a moment; hands anything else back.
    fn not_yet(&mut self, message: Request) -> Option<Request> {
        let Request::Applied(wire::Applied { revision }) = message else { return Some(message) };
        let revision = Revision(revision);
        match &mut self.due {
            Some((due, _)) => *due = revision.max(*due),
            None => {
                let spread = Duration::from_nanos(self.surroundings.ports.entropy.draw() % ACKNOWLEDGE_SPREAD_NANOS);
                self.due = Some((revision, Box::pin(tokio::time::sleep(ACKNOWLEDGE_AFTER + spread))));
            }
        }
        None
    }

    /// Says what was kept back.
    fn acknowledge(&mut self, outgoing: &mpsc::Sender<wire::WatchAdmissionsRequest>) -> Option<Ended> {
        let (Revision(revision), _) = self.due.take()?;
        say(outgoing, Request::Applied(wire::Applied { revision }))
    }

    /// What is said upstream: what is applied here is acknowledged when whoever follows has got as far.
    fn with_followers(&mut self, mut send: Vec<Request>) -> Vec<Request> {
        let Some(downstream) = &self.surroundings.downstream else { return send };
        for request in &send {
            if let Request::Applied(applied) = request {
                self.applied = self.applied.max(Revision(applied.revision));
            }
        }
        send.retain(|request| !matches!(request, Request::Applied(_)));
        let all = downstream.acknowledged(&self.view.scope, self.applied).min(self.applied);
        if all > self.acknowledged {
            self.acknowledged = all;
            send.push(Request::Applied(wire::Applied { revision: all.0 }));
        }
        send
    }

    fn tick(&mut self) -> Effects {
        let boot = self.boot();
        self.copy.tick(self.surroundings.ports.time.wall(), boot)
    }

    /// Waits for something while the clock is looked at; `None` when stopped.
    async fn meanwhile<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let stop = self.surroundings.stop.clone();
        loop {
            tokio::select! {
                () = stop.cancelled() => return None,
                done = &mut future => return Some(done),
                _ = self.ticks.tick() => {
                    let effects = self.tick();
                    if let Some(held) = effects.held {
                        self.view.hold(held);
                    }
                    // There is nobody yet who could be silent.
                    if let Some(fault) = effects.end.filter(|fault| *fault != Fault::Silent) {
                        self.surroundings.metrics.fault(&fault);
                        self.show();
                    }
                }
            }
        }
    }

    fn show(&self) {
        self.view.show(self.copy.phase());
        self.view.hold(self.copy.held());
    }

    fn count(&self, keep: Option<&Keep>, not_understood: usize, ignored: bool) {
        let metrics = &self.surroundings.metrics;
        match keep {
            Some(Keep::Whole) => metrics.snapshot(),
            Some(Keep::Step { .. }) => metrics.stepped(),
            Some(Keep::Head) | None => {}
        }
        if ignored {
            metrics.ignored();
        }
        if not_understood > 0 {
            metrics.not_understood(not_understood);
            tracing::warn!(scope = %self.view.scope, entries = not_understood, "entries are not understood and denied");
        }
    }

    fn ask_again(&self, touched: &Touched) {
        let boot = self.boot();
        let held = self.view.held();
        let decide = |query: &ostiary_admission::Query<'_>| held.check(query, None, boot);
        let (under_way, scope) = (&self.surroundings.under_way, &self.view.scope);
        let told = match touched {
            Touched::Nothing => 0,
            Touched::Everything => under_way.ask_again(None, scope, decide),
            Touched::Agents(agents) => {
                agents.iter().map(|agent| under_way.ask_again(Some(agent.as_str()), scope, decide)).sum()
            }
        };
        (0..told).for_each(|_| self.surroundings.metrics.cut());
    }

    fn tell(&self, tell: Option<Tell>) {
        let Some((downstream, tell)) = self.surroundings.downstream.as_ref().zip(tell) else { return };
        let scope = &self.view.scope;
        match tell {
            Tell::Replaced(head) => downstream.replaced(scope, &self.copy.held().index, &head),
            Tell::Stepped { changes, to, head } => downstream.stepped(scope, &changes, to, head.as_ref()),
            Tell::Confirmed(head) => downstream.confirmed(scope, &head),
        }
    }

    /// Full jitter: anywhere from nothing to a bound that doubles with each failure.
    fn pause(&mut self) -> Duration {
        let bound = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        let nanos = u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.surroundings.ports.entropy.draw() % nanos.max(1))
    }

    fn boot(&self) -> i64 {
        self.surroundings.ports.time.boot_nanos()
    }
}

/// Says something upstream, unless nobody reads there.
fn say(outgoing: &mpsc::Sender<wire::WatchAdmissionsRequest>, message: Request) -> Option<Ended> {
    let sent = outgoing.try_send(wire::WatchAdmissionsRequest { message: Some(message) });
    sent.err().map(|_| Ended::Status(Status::unavailable("the control plane does not read")))
}

/// Until what is due is due; for ever when nothing is.
async fn pass(due: &mut Option<(Revision, Pin<Box<Sleep>>)>) {
    match due {
        Some((_, at)) => at.as_mut().await,
        None => std::future::pending().await,
    }
}

/// The rules of a configuration for one scope.
pub(crate) fn rules(config: &RouterConfig, scope: ostiary_admission::ViewScope) -> Rules {
    Rules {
        scope,
        trust: config.trust.clone(),
        router_id: config.router_id.clone(),
        max_skew: SignedDuration::try_from(config.max_skew).unwrap_or(SignedDuration::MAX),
        head_within: config.head_within,
        silence: config.silence,
        max_entries: config.max_entries,
    }
}

/// The copy that the messages on disk make. They begin before the floor, so it is judged by where they end: one that does
/// not verify, or does not reach the floor, is left out; its floor stays.
fn restored(rules: Rules, found: Found, ports: &Ports) -> Copy {
    let boot = ports.time.boot_nanos();
    let mut copy = Copy::new(rules.clone(), None);
    copy.assume_wall(ports.time.wall(), boot);
    let any = !found.messages.is_empty();
    let fault = found.messages.into_iter().find_map(|message| copy.receive(message, boot).end);
    copy.closed();
    if fault.is_none() && copy.reaches(found.floor) {
        return copy;
    }
    if any {
        let why = fault.map_or_else(|| "it ends before what was verified".to_owned(), |fault| fault.to_string());
        tracing::warn!(scope = %rules.scope, why, "the copy on disk cannot be used; starting without it");
    }
    let mut empty = Copy::new(rules, found.floor);
    empty.assume_wall(ports.time.wall(), boot);
    empty
}

async fn open(
    channel: Channel,
    token: Option<Token>,
    requests: mpsc::Receiver<wire::WatchAdmissionsRequest>,
) -> Result<Streaming<wire::WatchAdmissionsResponse>, Status> {
    let mut request = tonic::Request::new(ReceiverStream::new(requests));
    authorize(&mut request, token.as_ref());
    let mut client = AdmissionServiceClient::new(channel).max_decoding_message_size(MESSAGE_LIMIT);
    Ok(client.watch_admissions(request).await?.into_inner())
}

/// Puts the token into a request.
pub(crate) fn authorize<T>(request: &mut tonic::Request<T>, token: Option<&Token>) {
    if let Some(value) = token.and_then(Token::header) {
        request.metadata_mut().insert("authorization", value);
    }
}
