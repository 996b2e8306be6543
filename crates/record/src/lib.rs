//! The engine's language: layers, verdicts, reason codes, events, recordings, and the driving ports.
//!
//! Knows nothing of A2A, MCP, sockets or clocks. What the agent *says* (drivers) and what it *did* (lab) meet only in
//! recordings made of these events. Start with [`event::Kind`], then [`verdict::Verdict`].

pub mod blob;
pub mod event;
pub mod finding;
pub mod layer;
pub mod nonempty;
pub mod ports;
pub mod reason;
pub mod run;
pub mod run_event;
pub mod tape;
pub mod verdict;
pub mod view;

pub use blob::Blob;
pub use event::{
    ActorId, Axes, CaseId, ChannelId, CheckId, DocumentName, End, Event, EventRef, ExchangeId, Kind, Label, MonoNanos,
    OpName, Recording, ReqId, Route, ScenarioId, Seq, Source, TargetId,
};
pub use finding::{Counts, DigestSource, Finding, FindingLine, Place, Report};
pub use layer::{Gate, Layer};
pub use nonempty::NonEmpty;
pub use reason::ReasonCode;
pub use run::{CredentialKind, EnvironmentFacts, NotRun, Run, SubjectFacts, Target};
pub use run_event::{NoSink, RunEvent, RunSink};
pub use tape::{Monotonic, Tape};
pub use verdict::{DeclarationPointer, Missing, Outcome, Severity, Strength, Verdict};
