//! A channel of exchanges that may overlap, whichever HTTP carries them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use ostiary_record::{
    Blob, End, Event, ExchangeId, Kind, Source, Tape,
    event::RawHeaders,
    ports::{Abort, Actor, BoxFuture, Channel, Deadline, Limits, Next, Outbound},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use crate::exchange::Reporter;

/// Events that wait for the scenario before exchanges are held up.
const QUEUE: usize = 1024;

/// Speaks one version of HTTP with a target.
pub(crate) trait Speaker: Send + Sync {
    /// Settles what will be sent, with the actor's credentials; why it cannot be sent, otherwise.
    fn prepare(self: Arc<Self>, out: &Outbound, credentials: &[(String, String)]) -> Result<Prepared, String>;
}

/// A request that is settled.
pub(crate) struct Prepared {
    /// All fields in the order in which they are sent.
    pub(crate) headers: Vec<(String, String)>,
    /// Sends it and reports what comes back, to the end.
    pub(crate) run: Box<dyn FnOnce(Going) -> BoxFuture<'static, ()> + Send>,
}

/// What an exchange needs of its channel.
pub(crate) struct Going {
    pub(crate) limits: Limits,
    pub(crate) reporter: Reporter,
    pub(crate) signal: watch::Receiver<Option<Abort>>,
}

/// The [`Channel`] of HTTP.
pub(crate) struct HttpChannel {
    speaker: Arc<dyn Speaker>,
    tape: Tape,
    from: Source,
    actor: Actor,
    limits: Limits,
    tasks: JoinSet<()>,
    running: BTreeMap<ExchangeId, Running>,
    events: mpsc::Receiver<Event>,
    out: mpsc::Sender<Event>,
    /// Ends that the channel itself wrote.
    own: VecDeque<Event>,
}

struct Running {
    signal: watch::Sender<Option<Abort>>,
    reporter: Reporter,
}

// === impl HttpChannel ===

impl HttpChannel {
    pub(crate) fn new(speaker: Arc<dyn Speaker>, tape: Tape, from: Source, actor: Actor, limits: Limits) -> Self {
        let (out, events) = mpsc::channel(QUEUE);
        let (tasks, running, own) = (JoinSet::new(), BTreeMap::new(), VecDeque::new());
        Self { speaker, tape, from, actor, limits, tasks, running, events, out, own }
    }

    /// The fields for the tape: a credential stands there by its actor's name, the scheme before it stays.
    fn recorded(&self, headers: &[(String, String)]) -> RawHeaders {
        let same = |a: &(String, String), b: &(String, String)| a.0.eq_ignore_ascii_case(&b.0) && a.1 == b.1;
        let is_credential = |field: &(String, String)| self.actor.credentials.iter().any(|own| same(own, field));
        let value = |field: &(String, String)| match field.1.split_once(' ') {
            _ if !is_credential(field) => field.1.clone(),
            Some((scheme, _)) => format!("{scheme} ⟨credential:{}⟩", self.actor.id),
            None => format!("⟨credential:{}⟩", self.actor.id),
        };
        headers.iter().map(|field| (field.0.clone(), Blob::from(value(field)))).collect()
    }

    /// Hands an event on, and forgets exchanges that are over.
    fn deliver(&mut self, event: Event) -> Next {
        if let Kind::Ended { x, .. } = &event.kind {
            self.running.remove(x);
        }
        Next::Event(event)
    }

    fn end_here(&mut self, x: ExchangeId, how: End) {
        let written = self.running.get(&x).and_then(|r| r.reporter.record(Kind::Ended { x, how }));
        self.own.extend(written);
    }
}

impl Channel for HttpChannel {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        while self.tasks.try_join_next().is_some() {}
        let x = self.tape.next_exchange();
        let prepared = Arc::clone(&self.speaker).prepare(&out, &self.actor.credentials);
        let headers = prepared.as_ref().map_or(&out.headers, |p| &p.headers);
        let headers = self.recorded(headers);
        let Outbound { route, body, intent, .. } = out;
        self.tape.push(self.from.clone(), Kind::Sent { x, route, headers, bytes: Blob(body), intent });
        let (signal, watching) = watch::channel(None);
        let reporter = Reporter {
            tape: self.tape.clone(),
            from: self.from.clone(),
            x,
            out: self.out.clone(),
            ended: Arc::new(Mutex::new(false)),
        };
        self.running.insert(x, Running { signal, reporter: reporter.clone() });
        match prepared {
            Ok(Prepared { run, .. }) => {
                self.tasks.spawn(run(Going { limits: self.limits, reporter, signal: watching }));
            }
            Err(why) => self.end_here(x, End::NoConnection { why: format!("not sent: {why}") }),
        }
        x
    }

    fn next(&mut self, until: Deadline) -> BoxFuture<'_, Next> {
        Box::pin(async move {
            if let Ok(event) = self.events.try_recv() {
                return self.deliver(event);
            }
            if let Some(event) = self.own.pop_front() {
                return self.deliver(event);
            }
            if self.running.is_empty() {
                return Next::Closed;
            }
            let left = Duration::from_nanos(until.0.0.saturating_sub(self.tape.now().0));
            match tokio::time::timeout(left, self.events.recv()).await {
                Ok(Some(event)) => self.deliver(event),
                Ok(None) => Next::Closed,
                Err(_) => Next::Idle,
            }
        })
    }

    fn abort(&mut self, x: ExchangeId, how: Abort) {
        if how != Abort::HalfClose {
            self.end_here(x, End::LocalAbort);
        }
        if let Some(running) = self.running.get(&x) {
            running.signal.send_replace(Some(how));
        }
    }
}

impl Drop for HttpChannel {
    /// A channel that is dropped breaks off what still runs; the tape says so.
    fn drop(&mut self) {
        for (&x, running) in &self.running {
            running.reporter.record(Kind::Ended { x, how: End::LocalAbort });
        }
    }
}
