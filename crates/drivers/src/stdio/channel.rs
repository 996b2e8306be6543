//! A channel to one process; exchanges on it may overlap.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use ostiary_record::{
    Blob, ChannelId, End, Event, ExchangeId, Kind, Route, Source, Tape,
    ports::{Abort, BoxFuture, Channel, Deadline, Limits, Next, Outbound},
};
use tokio::{
    io::{AsyncRead, AsyncWriteExt},
    process::ChildStdin,
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{
    answer::{Answered, Awaits},
    lines::{Lines, Piece},
    process::{Process, Started, Wish},
};
use crate::exchange::{Reporter, lock};

/// Events that wait for the scenario before the process is held up.
const QUEUE: usize = 1024;
/// Lines of ours that wait for the process to read them.
const UNREAD: usize = 64;
/// Bytes of standard error that are kept; the rest is read and forgotten.
const STDERR: usize = 64 << 10;
/// Bytes that are kept of a line beyond the bound.
const KEPT_BEYOND_BOUND: usize = 64 << 10;
/// How long a process whose output is closed may take to end, before it is said to be running still.
const CLOSING: Duration = Duration::from_millis(500);

/// The [`Channel`] of a process.
pub(super) struct StdioChannel {
    heard: Arc<Heard>,
    input: Option<mpsc::Sender<Line>>,
    wish: watch::Sender<Wish>,
    /// Tells when the process has ended.
    gone: watch::Receiver<bool>,
    events: mpsc::Receiver<Event>,
    own: VecDeque<Event>,
    limits: Limits,
    tasks: JoinSet<()>,
}

/// One line of ours, and the exchange that is over when it has left.
struct Line {
    bytes: Bytes,
    then: Option<Reporter>,
}

/// What the tasks of a channel share.
struct Heard {
    tape: Tape,
    from: Source,
    name: ChannelId,
    out: mpsc::Sender<Event>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    /// Lines and bytes since the last request.
    lines: u32,
    bytes: u64,
    /// Why nothing more will come.
    over: Option<End>,
}

struct Running {
    awaits: Awaits,
    reporter: Reporter,
}

// === impl StdioChannel ===

impl StdioChannel {
    pub(super) fn new(started: Started, tape: Tape, from: Source, limits: Limits) -> Self {
        let Started { process, stdin, stdout, stderr } = started;
        let (out, events) = mpsc::channel(QUEUE);
        let (input, lines) = mpsc::channel(UNREAD);
        let (wish, wished) = watch::channel(Wish::Run);
        let (went, gone) = watch::channel(false);
        let name = if let Source::Wire(name) = &from { name.clone() } else { ChannelId("stdio".to_owned()) };
        let heard = Arc::new(Heard { tape, from, name, out, state: Mutex::default() });
        let mut tasks = JoinSet::new();
        tasks.spawn(write(stdin, lines));
        tasks.spawn(drain(Arc::clone(&heard), stderr));
        tasks.spawn(live(Arc::clone(&heard), process, wished, went));
        tasks.spawn(listen(Arc::clone(&heard), stdout, limits, (wish.clone(), gone.clone())));
        Self { heard, input: Some(input), wish, gone, events, own: VecDeque::new(), limits, tasks }
    }

    fn send(&mut self, line: Line, reporter: &Reporter) {
        let sent = match &self.input {
            None => Err("its input was closed"),
            Some(input) => input.try_send(line).map_err(|e| match e {
                mpsc::error::TrySendError::Full(_) => "it does not read its input",
                mpsc::error::TrySendError::Closed(_) => "it has closed its input",
            }),
        };
        if let Err(why) = sent {
            self.heard.forget(reporter.x);
            self.own.extend(reporter.record(Kind::Ended { x: reporter.x, how: no_connection(why) }));
        }
    }
}

impl Channel for StdioChannel {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        while self.tasks.try_join_next().is_some() {}
        let heard = Arc::clone(&self.heard);
        let x = heard.tape.next_exchange();
        let Outbound { route, headers, body, intent } = out;
        let wrong_route = route != Route::Stdio;
        let headers = headers.into_iter().map(|(n, v)| (n, Blob::from(v))).collect();
        let bytes = Blob(body.clone());
        heard.tape.push(heard.from.clone(), Kind::Sent { x, route, headers, bytes, intent });
        let reporter = heard.reporter(x);
        let refused = if wrong_route { Some(no_connection("this driver speaks to processes only")) } else { None };
        if let Some(how) = refused.or_else(|| lock(&heard.state).over.clone().map(before)) {
            self.own.extend(reporter.record(Kind::Ended { x, how }));
            return x;
        }
        let awaits = Awaits::of(&body);
        let then = (awaits == Awaits::Nothing).then(|| reporter.clone());
        if then.is_none() {
            heard.expect(awaits, reporter.clone());
            let limit = self.limits.exchange;
            self.tasks.spawn(expire(heard, reporter.clone(), limit));
        }
        self.send(Line { bytes: body, then }, &reporter);
        x
    }

    fn next(&mut self, until: Deadline) -> BoxFuture<'_, Next> {
        Box::pin(async move {
            if let Ok(event) = self.events.try_recv() {
                return Next::Event(event);
            }
            if let Some(event) = self.own.pop_front() {
                return Next::Event(event);
            }
            if lock(&self.heard.state).over.is_some() {
                // what was said just before the end is still in the queue
                return self.events.try_recv().map_or(Next::Closed, Next::Event);
            }
            let left = Duration::from_nanos(until.0.0.saturating_sub(self.heard.tape.now().0));
            match tokio::time::timeout(left, self.events.recv()).await {
                Ok(Some(event)) => Next::Event(event),
                Ok(None) => Next::Closed,
                Err(_) => Next::Idle,
            }
        })
    }

    /// A process has one connection for all exchanges: nobody waits for this one any more, and what still comes for it is
    /// heard as said by nobody's asking. Half closing ends the input of the process.
    fn abort(&mut self, x: ExchangeId, how: Abort) {
        if how == Abort::HalfClose {
            self.input = None;
            return;
        }
        if let Some(reporter) = self.heard.forget(x) {
            self.own.extend(reporter.record(Kind::Ended { x, how: End::LocalAbort }));
        }
    }

    fn close(&mut self, within: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.input = None;
            self.wish.send_replace(Wish::End(within));
            // fails when the task is gone, and with it the process
            let _ = self.gone.wait_for(|gone| *gone).await;
        })
    }
}

impl Drop for StdioChannel {
    /// A channel that is dropped breaks off what still runs; the tape says so. The tasks go, and with them the process.
    fn drop(&mut self) {
        for running in std::mem::take(&mut lock(&self.heard.state).running) {
            running.reporter.record(Kind::Ended { x: running.reporter.x, how: End::LocalAbort });
        }
    }
}

// === impl Heard ===

impl Heard {
    fn reporter(&self, x: ExchangeId) -> Reporter {
        let (tape, from, out) = (self.tape.clone(), self.from.clone(), self.out.clone());
        Reporter { tape, from, x, out, ended: Arc::default() }
    }

    fn expect(&self, awaits: Awaits, reporter: Reporter) {
        let mut state = lock(&self.state);
        (state.lines, state.bytes) = (0, 0);
        state.running.push(Running { awaits, reporter });
    }

    /// Takes an exchange out of those that wait.
    fn forget(&self, x: ExchangeId) -> Option<Reporter> {
        let mut state = lock(&self.state);
        let at = state.running.iter().position(|r| r.reporter.x == x)?;
        Some(state.running.remove(at).reporter)
    }

    /// The exchange that a line answers, if any.
    fn answered(&self, line: &[u8]) -> Option<Reporter> {
        let answered = Answered::of(line);
        let mut state = lock(&self.state);
        let at = state.running.iter().position(|r| r.awaits.met_by(&answered))?;
        Some(state.running.remove(at).reporter)
    }

    async fn line(&self, bytes: Bytes) {
        match self.answered(&bytes) {
            Some(reporter) => {
                let x = reporter.x;
                reporter.report(Kind::Frame { x, n: 0, bytes: Blob(bytes) }).await;
                reporter.report(Kind::Ended { x, how: End::Complete }).await;
            }
            None => self.inbound(bytes).await,
        }
    }

    async fn inbound(&self, bytes: Bytes) {
        let kind = Kind::Inbound { channel: self.name.clone(), bytes: Blob(bytes) };
        // fails when the channel is gone; then nobody waits for the event
        let _ = self.out.send(self.tape.push(self.from.clone(), kind)).await;
    }

    /// Ends all exchanges; nothing more will come.
    async fn end(&self, how: End) {
        let running = {
            let mut state = lock(&self.state);
            state.over.get_or_insert_with(|| how.clone());
            std::mem::take(&mut state.running)
        };
        for Running { reporter, .. } in running {
            reporter.report(Kind::Ended { x: reporter.x, how: how.clone() }).await;
        }
    }

    /// The bound that one more line of this size breaks.
    fn count(&self, bytes: usize, limits: Limits) -> Option<&'static str> {
        let mut state = lock(&self.state);
        state.lines = state.lines.saturating_add(1);
        state.bytes = state.bytes.saturating_add(bytes as u64);
        match () {
            () if state.bytes > limits.body_bytes => Some("body_bytes"),
            () if state.lines > limits.frames => Some("frames"),
            () => None,
        }
    }

    fn mark(&self, label: &str, value: Option<String>) {
        self.tape.push(self.from.clone(), Kind::Mark { label: label.into(), value });
    }
}

/// Writes our lines, each whole before the next.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Line>) {
    while let Some(Line { bytes, then }) = lines.recv().await {
        let written = match stdin.write_all(&bytes).await {
            Ok(()) => stdin.flush().await,
            Err(error) => Err(error),
        };
        match (written, then) {
            (Ok(()), Some(reporter)) => reporter.report(Kind::Ended { x: reporter.x, how: End::Complete }).await,
            (Err(error), Some(reporter)) => {
                let how = End::PeerReset { why: format!("the process does not take its input: {error}") };
                reporter.report(Kind::Ended { x: reporter.x, how }).await;
                return;
            }
            // what is answered ends with the process's output
            (Err(_), None) => return,
            (Ok(()), None) => {}
        }
    }
}

/// Keeps the beginning of standard error, apart from what the process says on its output.
async fn drain(heard: Arc<Heard>, stderr: impl AsyncRead + Unpin) {
    let name = ChannelId(format!("{}.stderr", heard.name));
    let mut lines = Lines::new(stderr, 8 << 10);
    let mut kept = 0;
    while let Piece::Line(bytes) | Piece::TooLong(bytes) = lines.next().await {
        if kept > STDERR {
            continue;
        }
        kept += bytes.len();
        let kind = Kind::Inbound { channel: name.clone(), bytes: Blob(bytes) };
        heard.tape.push(Source::Wire(name.clone()), kind);
        if kept > STDERR {
            heard.mark("stdio.stderr_truncated", None);
        }
    }
}

/// Lives as long as the process does, and tells how it ended.
async fn live(heard: Arc<Heard>, process: Process, wish: watch::Receiver<Wish>, went: watch::Sender<bool>) {
    let ended = process.ended(wish).await;
    heard.mark("stdio.ended", Some(ended));
    went.send_replace(true);
}

type Life = (watch::Sender<Wish>, watch::Receiver<bool>);

/// Takes what the process says, line by line, until it ends or breaks a bound.
async fn listen(heard: Arc<Heard>, stdout: impl AsyncRead + Unpin, limits: Limits, (wish, mut gone): Life) {
    let mut lines = Lines::new(stdout, limits.frame_bytes);
    let broken = loop {
        match lines.next().await {
            Piece::Line(bytes) => match heard.count(bytes.len(), limits) {
                None => heard.line(bytes).await,
                Some(which) => break which,
            },
            Piece::TooLong(mut bytes) => {
                bytes.truncate(KEPT_BEYOND_BOUND);
                heard.inbound(bytes).await;
                break "frame_bytes";
            }
            Piece::End => {
                let ended = tokio::time::timeout(CLOSING, gone.wait_for(|gone| *gone)).await.is_ok();
                let why = if ended { "the process ended" } else { "the process closed its output" };
                return heard.end(End::PeerReset { why: why.to_owned() }).await;
            }
        }
    };
    wish.send_replace(Wish::Kill);
    heard.end(End::Limit { which: broken.to_owned() }).await;
}

async fn expire(heard: Arc<Heard>, reporter: Reporter, limit: Duration) {
    tokio::time::sleep(limit).await;
    if let Some(reporter) = heard.forget(reporter.x) {
        reporter.report(Kind::Ended { x: reporter.x, how: End::Deadline }).await;
    }
}

fn no_connection(why: &str) -> End {
    End::NoConnection { why: why.to_owned() }
}

/// How a request ends that is made when all is over.
fn before(over: End) -> End {
    match over {
        End::PeerReset { why } => End::NoConnection { why: format!("{why} before the request") },
        other => other,
    }
}
