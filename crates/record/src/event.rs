//! Events and recordings: everything that was said, done or seen in a run, in one sequence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::blob::Blob;

/// Declares a newtype around a text or number that serialises as that.
macro_rules! newtype {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

newtype! {
    /// One scenario: `a2a.task.terminal_message`.
    ScenarioId(String);
    /// One check: `a2a.task.terminal_reopened`.
    CheckId(String);
    /// One case of a bundle.
    CaseId(String);
    /// A promise of the requirements: `T-02`.
    ReqId(String);
    /// A connection of a driver: an HTTP pool, an h2 connection, one process.
    ChannelId(String);
    /// Something that watches the candidate's effects.
    ObserverId(String);
    /// Something that stands in for a part the candidate depends on.
    DoubleId(String);
    /// A named subject of the environment: `allowed-user-a`; `anonymous` sends no credential.
    ActorId(String);
    /// What is called: the interface of a card, an MCP server.
    TargetId(String);
    /// The name of a document: `agent-card.json`.
    DocumentName(String);
    /// The abstract operation that a request means: `SendMessage`.
    OpName(String);
    /// A mark that a scenario sets: `control_ok`.
    Label(String);
    /// A provider state.
    StateName(String);
}

/// Position of an event in its recording, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

/// Nanoseconds on a monotonic clock since the run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonoNanos(pub u64);

/// One request with all that came back for it; unique in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExchangeId(pub u64);

/// A citation: which event of which recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRef {
    /// The recording, by its place in the run.
    pub recording: u32,
    /// The event in it.
    pub seq: Seq,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place.
    pub seq: Seq,
    /// When, since the run began.
    pub at: MonoNanos,
    /// Who reports it.
    pub from: Source,
    /// What it was.
    pub kind: Kind,
}

/// Who reports an event. What the agent says and what it did are never reported by the same source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A driver.
    Wire(ChannelId),
    /// An observer of effects.
    Observer(ObserverId),
    /// A double.
    Double(DoubleId),
    /// The scenario itself.
    Script,
}

/// Header or trailer fields in the order received; names as sent, values as bytes.
pub type RawHeaders = Vec<(String, Blob)>;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Kind {
    /// A document that static checks cite: card, snapshot, bundle file.
    Document {
        /// Its name.
        name: DocumentName,
        /// Its bytes.
        bytes: Blob,
    },
    /// A channel to the target was opened as an actor.
    Opened {
        /// What is called.
        target: TargetId,
        /// As whom.
        actor: ActorId,
    },
    /// A request left. Credentials in it are replaced by `⟨credential:ACTOR⟩`.
    Sent {
        /// Its exchange.
        x: ExchangeId,
        /// How it was addressed: method and path, gRPC path, stdio line.
        route: Route,
        /// Its header fields.
        headers: RawHeaders,
        /// Its body.
        bytes: Blob,
        /// The operation meant; `None` = raw or malformed on purpose.
        intent: Option<OpName>,
    },
    /// Status and header fields came back.
    Head {
        /// Its exchange.
        x: ExchangeId,
        /// The HTTP status.
        status: u16,
        /// Header fields.
        headers: RawHeaders,
    },
    /// A piece of the answer: whole body, SSE event, gRPC message, stdio line.
    Frame {
        /// Its exchange.
        x: ExchangeId,
        /// From 0 within the exchange.
        n: u32,
        /// The piece.
        bytes: Blob,
    },
    /// Trailer fields.
    Trailers {
        /// Its exchange.
        x: ExchangeId,
        /// The fields.
        headers: RawHeaders,
    },
    /// The other side began: a push callback, a server-initiated request.
    Inbound {
        /// Where it arrived.
        channel: ChannelId,
        /// What it carried.
        bytes: Blob,
    },
    /// The exchange is over.
    Ended {
        /// Its exchange.
        x: ExchangeId,
        /// How it ended.
        how: End,
    },
    /// A mark of the scenario.
    Mark {
        /// Which.
        label: Label,
        /// What it says, if more than its name.
        value: Option<String>,
    },
    /// A fault was switched on or off.
    Fault {
        /// On or off.
        on: bool,
        /// Which fault.
        fault: String,
    },
    /// A provider state was set up or torn down; a failed set-up makes verdicts INCONCLUSIVE.
    State {
        /// Which state.
        name: StateName,
        /// Empty when it worked, else why not.
        failure: Option<String>,
    },
    /// What an observer saw between two events.
    Observed {
        /// First and last event of the window.
        window: (Seq, Seq),
        /// What changed, by kind of effect.
        effects: serde_json::Value,
        /// Whether the observer saw all of it.
        complete: bool,
    },
}

/// How a request was addressed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// HTTP method and request target relative to the interface's URL; empty path = the URL itself.
    Http {
        /// `POST`, `GET`, …
        method: String,
        /// Appended to the interface's URL.
        path: String,
    },
    /// Full method path of a gRPC call.
    Grpc {
        /// `/package.Service/Method`.
        path: String,
    },
    /// One line to a process.
    Stdio,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As the protocol wants it.
    Complete,
    /// The other side broke off.
    PeerReset {
        /// What the transport said.
        why: String,
    },
    /// We broke off on purpose.
    LocalAbort,
    /// Our deadline passed first.
    Deadline,
    /// A bound of ours was hit: `body_bytes`, `frames`, `header_bytes`.
    Limit {
        /// Which bound.
        which: String,
    },
    /// The connection could not be made.
    NoConnection {
        /// What the transport said.
        why: String,
    },
}

// === impl Kind ===

impl Kind {
    /// The exchange that it belongs to.
    #[must_use]
    pub const fn exchange(&self) -> Option<ExchangeId> {
        match self {
            Self::Sent { x, .. }
            | Self::Head { x, .. }
            | Self::Frame { x, .. }
            | Self::Trailers { x, .. }
            | Self::Ended { x, .. } => Some(*x),
            Self::Document { .. }
            | Self::Opened { .. }
            | Self::Inbound { .. }
            | Self::Mark { .. }
            | Self::Fault { .. }
            | Self::State { .. }
            | Self::Observed { .. } => None,
        }
    }
}

/// Everything one drive of a scenario put on its tape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    /// The scenario that was driven.
    pub scenario: ScenarioId,
    /// Which variant of it.
    pub axes: Axes,
    /// The seed of generated values.
    pub seed: u64,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// One variant of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Axes {
    /// The profile that the result holds for; `None` = bound to none (static).
    pub profile: Option<String>,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// The case of the bundle, for the interpreter scenario.
    pub case: Option<CaseId>,
    /// Further axes by name: binding, method probed, generated input.
    pub values: std::collections::BTreeMap<String, String>,
}

macro_rules! from_str {
    ($($name:ident),*) => {$(
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    )*};
}

from_str!(
    ScenarioId,
    CheckId,
    CaseId,
    ReqId,
    ChannelId,
    ObserverId,
    DoubleId,
    ActorId,
    TargetId,
    DocumentName,
    OpName,
    Label,
    StateName
);
