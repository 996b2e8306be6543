//! The ports that the agent stands behind: a transport that answers at once, and its subjects' credentials.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError},
};

use ostiary_record::{
    ActorId, Blob, ChannelId, Down, End, Event, ExchangeId, Kind, Source, Tape,
    ports::{
        Abort, Actor, BoxFuture, Channel, CouldNotRun, Deadline, Identity, Limits, Next, Outbound, Target, Transport,
    },
};

use super::{Agent, Answer, Honest, TOKENS, follow::Open, shaky::State, wait::Waiting};

struct Connection {
    agent: Arc<Agent>,
    tape: Tape,
    source: Source,
    credentials: Vec<(String, String)>,
    queue: VecDeque<Event>,
    open: Vec<Open>,
    waiting: Vec<Waiting>,
    state: State,
}

impl Transport for Honest {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        _: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        let channel = self.0.connect(tape, target, actor, State::default());
        Box::pin(async move { Ok(channel) })
    }
}

impl Identity for Honest {
    fn actor<'a>(&'a self, subject: &'a ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let token = TOKENS.iter().find(|(name, ..)| *name == subject.0);
        let actor = token.map(|(_, secret, _)| Actor {
            id: subject.clone(),
            credentials: vec![("authorization".to_owned(), format!("Bearer {secret}"))],
        });
        Box::pin(async move { Ok(actor) })
    }
}

// === impl Agent ===

impl Agent {
    /// A connection over a way that may be down.
    pub(super) fn connect(
        self: &Arc<Self>,
        tape: &Tape,
        target: &Target,
        actor: &Actor,
        state: State,
    ) -> Box<dyn Channel> {
        let source = Source::Wire(ChannelId(format!("http-{}-{}", target.id, actor.id)));
        tape.push(source.clone(), Kind::Opened { target: target.id.clone(), actor: actor.id.clone() });
        Box::new(Connection {
            agent: Arc::clone(self),
            tape: tape.clone(),
            source,
            credentials: actor.credentials.clone(),
            queue: VecDeque::new(),
            open: Vec::new(),
            waiting: Vec::new(),
            state,
        })
    }
}

// === impl Connection ===

impl Connection {
    fn push(&mut self, kind: Kind) {
        let event = self.tape.push(self.source.clone(), kind);
        self.queue.push_back(event);
    }

    /// Breaks off everything that is under way.
    fn reset(&mut self) {
        let open = self.open.drain(..).map(|open| open.exchange);
        let broken: Vec<ExchangeId> = open.chain(self.waiting.drain(..).map(|w| w.exchange)).collect();
        for x in broken {
            self.push(Kind::Ended { x, how: End::PeerReset { why: "connection reset".to_owned() } });
        }
    }

    fn deliver(&mut self, x: ExchangeId, answer: Answer) {
        let headers = vec![("content-type".to_owned(), Blob::from(answer.media))];
        self.push(Kind::Head { x, status: answer.status, headers });
        let frames = u32::try_from(answer.frames.len()).unwrap_or(u32::MAX);
        for (n, frame) in (0..).zip(answer.frames) {
            self.push(Kind::Frame { x, n, bytes: Blob::from(frame) });
        }
        match answer.follows {
            Some(follows) => self.open.push(Open::new(&self.agent, x, follows, frames)),
            None => self.push(Kind::Ended { x, how: End::Complete }),
        }
    }

    /// Lets the open streams bring what comes next, and what is waited for come.
    fn go_on(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let answer = self.agent.awaited(&waiting);
            self.deliver(waiting.exchange, answer);
        }
        for mut open in std::mem::take(&mut self.open) {
            let (frame, over) = self.agent.tell_open(&mut open);
            let (x, n) = (open.exchange, open.frames.saturating_sub(1));
            if let Some(frame) = frame {
                self.push(Kind::Frame { x, n, bytes: Blob::from(frame) });
            }
            if over {
                self.push(Kind::Ended { x, how: End::Complete });
            } else {
                self.open.push(open);
            }
        }
    }
}

impl Channel for Connection {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        let x = self.tape.next_exchange();
        let headers = out.headers.iter().chain(&self.credentials);
        let headers = headers.map(|(n, v)| (n.clone(), Blob::from(v.clone()))).collect();
        let (bytes, route) = (Blob(out.body.clone()), out.route.clone());
        self.tape.push(self.source.clone(), Kind::Sent { x, route: out.route, headers, bytes, intent: out.intent });
        let token = self.credentials.first().map(|(_, v)| v.trim_start_matches("Bearer ").to_owned());
        let answer = self.agent.take(&route, &out.headers, &out.body, token.as_deref());
        match answer.waits.clone() {
            Some(waits) => self.waiting.push(Waiting::new(x, waits)),
            None => self.deliver(x, answer),
        }
        x
    }

    fn next(&mut self, _: Deadline) -> BoxFuture<'_, Next> {
        let down = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match down {
            Some(Down::Refuse) => self.reset(),
            None if self.queue.is_empty() => self.go_on(),
            Some(Down::BlackHole) | None => {}
        }
        let next = self.queue.pop_front().map_or(Next::Idle, Next::Event);
        Box::pin(async move { next })
    }

    fn abort(&mut self, x: ExchangeId, _: Abort) {
        let before = self.open.len() + self.waiting.len();
        self.open.retain(|open| open.exchange != x);
        self.waiting.retain(|waiting| waiting.exchange != x);
        if self.open.len() + self.waiting.len() < before {
            self.push(Kind::Ended { x, how: End::LocalAbort });
        }
    }
}
