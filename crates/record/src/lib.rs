//! The engine's language: layers, verdicts, reason codes, events, recordings, and the driving ports.
//!
//! Knows nothing of A2A, MCP, sockets or clocks. What the agent *says* (drivers) and what it *did* (lab) meet only in
//! recordings made of these events. Start with [`event::Kind`], then [`verdict::Verdict`].

pub mod blob;
pub mod callback;
pub mod coverage;
pub mod event;
pub mod fault;
pub mod finding;
pub mod flaw;
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
pub use callback::{Arrived, Delivery, Proof, Registration, Reply, Shown};
pub use coverage::{
    BindingCount, Combination, Coverage, CoveredBy, Gap, IncidentCoverage, Parts, PromiseCoverage, RiskCoverage,
    Uncovered,
};
pub use event::{
    ActorId, Axes, CaseId, ChannelId, CheckId, DocumentName, End, Event, EventRef, ExchangeId, Kind, Label, MonoNanos,
    OpName, Recording, ReqId, Route, ScenarioId, Seq, Source, TargetId,
};
pub use fault::{Disturbed, Down, Fault, FaultPlan, FaultRule, Point, When};
pub use finding::{Counts, DigestSource, Finding, FindingLine, Place, Report};
pub use flaw::TokenFlaw;
pub use layer::{Gate, Layer};
pub use nonempty::NonEmpty;
pub use reason::ReasonCode;
pub use run::{CallbackFacts, CredentialKind, EnvironmentFacts, NotRun, Run, SignedCallbacks, SubjectFacts, Target};
pub use run_event::{NoSink, RunEvent, RunSink};
pub use tape::{Monotonic, Tape};
pub use verdict::{DeclarationPointer, Missing, Outcome, Severity, Strength, Verdict};
