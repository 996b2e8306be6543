//! The driving ports: what a scenario uses to reach the candidate. Implemented by `drivers` and `lab`.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;

use crate::{
    event::{ActorId, Event, ExchangeId, MonoNanos, OpName, Route, TargetId},
    tape::Tape,
};

mod lab;

pub use lab::{Address, Authority, Detour, Detours, Faults, Inbox};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The harness could not do its part; never a verdict about the candidate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CouldNotRun {
    /// No connection to the candidate.
    #[error("could not reach `{target}`: {why}")]
    Unreachable {
        /// What was called.
        target: String,
        /// What the transport said.
        why: String,
    },
    /// The address is one that the guard refuses.
    #[error("address of `{target}` is refused: {why}")]
    AddressRefused {
        /// What was called.
        target: String,
        /// Which rule.
        why: String,
    },
    /// A set-up step of the environment failed.
    #[error("set-up of `{what}` failed: {why}")]
    Setup {
        /// Which step.
        what: String,
        /// Why.
        why: String,
    },
    /// The call budget is spent.
    #[error("the call budget of {calls} calls is spent")]
    Budget {
        /// The budget.
        calls: u32,
    },
    /// Another bound was hit.
    #[error("a bound was hit: {what}")]
    Bound {
        /// Which bound, with its size and, where it can be set, its name in the environment.
        what: String,
    },
    /// The candidate has not ended an answer for so long that it is not called again.
    #[error("`{target}` does not answer: {why}")]
    Unresponsive {
        /// What was called.
        target: String,
        /// What was waited for.
        why: String,
    },
    /// The candidate asked for patience (429, `Retry-After`).
    #[error("`{target}` limits the rate: {why}")]
    RateLimited {
        /// What was called.
        target: String,
        /// What it said.
        why: String,
    },
    /// Our own fault.
    #[error("harness fault: {0}")]
    Internal(String),
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name in recordings.
    pub id: TargetId,
    /// The declared URL of the interface.
    pub url: String,
    /// What carries requests to it.
    pub carrier: Carrier,
}

/// What carries requests and answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carrier {
    /// HTTP/1.1; a whole body or an event of a stream is one frame.
    #[default]
    Http,
    /// HTTP/2 with gRPC's framing; a message with its prefix is one frame.
    Grpc,
    /// A process's standard input and output; a line is one frame.
    Stdio,
}

/// As whom it is called.
#[derive(Clone)]
pub struct Actor {
    /// Its name in recordings.
    pub id: ActorId,
    /// Header fields that carry its credential; never recorded in the clear.
    pub credentials: Vec<(String, String)>,
}

/// Bounds on untrusted bytes and time of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one answer, all frames together.
    pub body_bytes: u64,
    /// Most bytes of one frame.
    pub frame_bytes: u64,
    /// Most frames of one answer.
    pub frames: u32,
    /// Most bytes of header fields.
    pub header_bytes: u32,
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest life of one exchange.
    pub exchange: Duration,
}

/// A point on the tape's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(pub MonoNanos);

/// One request, ready to be sent as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// How it is addressed.
    pub route: Route,
    /// Header fields besides the actor's credential; sent in this order.
    pub headers: Vec<(String, String)>,
    /// The body; over gRPC with the prefix of each message.
    pub body: Bytes,
    /// The operation meant; `None` = raw or malformed on purpose.
    pub intent: Option<OpName>,
}

/// What a channel reports next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Something arrived; it is on the tape already.
    Event(Event),
    /// Nothing until the deadline.
    Idle,
    /// The channel is closed and nothing will come.
    Closed,
}

/// How an exchange is broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// With a reset.
    Reset,
    /// Our sending half only.
    HalfClose,
    /// By dropping the connection.
    Drop,
}

/// Opens channels to a target: sends bytes and reports bytes, knows no protocol.
pub trait Transport: Send + Sync {
    /// Opens a channel as `actor`; its events go to `tape`.
    ///
    /// # Errors
    /// When the address is refused or the target cannot be reached at all.
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>>;
}

/// An open channel; exchanges on it may overlap.
pub trait Channel: Send {
    /// Starts an exchange and returns at once.
    fn start(&mut self, out: Outbound) -> ExchangeId;
    /// Waits for what happens next on any exchange of this channel.
    fn next(&mut self, until: Deadline) -> BoxFuture<'_, Next>;
    /// Breaks an exchange off; a protocol-level cancel is an operation, not this.
    fn abort(&mut self, x: ExchangeId, how: Abort);
    /// Ends in good order what stands behind the channel: a process has `within` to end by itself once its input is closed.
    /// Channels with nothing of their own behind them do nothing.
    fn close(&mut self, within: Duration) -> BoxFuture<'_, ()> {
        let _ = within;
        Box::pin(std::future::ready(()))
    }
}

/// Fetches a document by URL as the candidate serves it, with redirects refused or followed within the guard.
pub trait Fetch: Send + Sync {
    /// GETs `url` with `headers`.
    ///
    /// # Errors
    /// When the address is refused, the target cannot be reached, or a bound is hit.
    fn get<'a>(
        &'a self,
        url: &'a str,
        headers: &'a [(String, String)],
        limits: Limits,
    ) -> BoxFuture<'a, Result<Fetched, CouldNotRun>>;
}

/// A fetched document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it finally came from.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// SHA-256 of the server key's SPKI, over TLS.
    pub spki_sha256: Option<String>,
}

/// Waits on the tape's clock.
pub trait Timer: Send + Sync {
    /// Returns when `duration` has passed.
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()>;
}

/// Gives credentials of the environment's subjects.
pub trait Identity: Send + Sync {
    /// The actor of a named subject; `None` when the environment has no such subject.
    ///
    /// # Errors
    /// When the credential cannot be made.
    fn actor<'a>(&'a self, subject: &'a ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>>;
}

/// Sets provider states up and tears them down.
pub trait States: Send + Sync {
    /// Sets a state up with parameters.
    ///
    /// # Errors
    /// When the provider refuses or cannot be reached.
    fn set_up<'a>(
        &'a self,
        tape: &'a Tape,
        name: &'a str,
        params: &'a serde_json::Value,
    ) -> BoxFuture<'a, Result<(), CouldNotRun>>;
}

/// Watches effects from outside; what it cannot see is said with the observation.
pub trait Observer: Send + Sync {
    /// The kinds of effect it sees: `records`, `outbox`, `files`, `egress`.
    fn sees(&self) -> Vec<String>;
    /// What it cannot see, in words.
    fn blind(&self) -> Vec<String>;
    /// Takes the state before.
    ///
    /// # Errors
    /// When it cannot look.
    fn begin<'a>(&'a self, tape: &'a Tape) -> BoxFuture<'a, Result<u64, CouldNotRun>>;
    /// Compares with the state before and writes an `Observed` event.
    ///
    /// # Errors
    /// When it cannot look.
    fn since<'a>(&'a self, tape: &'a Tape, mark: u64) -> BoxFuture<'a, Result<Event, CouldNotRun>>;
}

impl Default for Limits {
    /// Bounds that no honest agent of today comes near: 8 MiB an answer, 4 MiB a frame, 10,000 frames, 30 s.
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            frame_bytes: 4 << 20,
            frames: 10_000,
            header_bytes: 64 << 10,
            connect: Duration::from_secs(5),
            exchange: Duration::from_secs(30),
        }
    }
}
