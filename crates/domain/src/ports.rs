//! The ports that the domain is served by: store, clock, ids, signer. Small, one an aggregate, and usable as `dyn`.
//!
//! A look-up answers `None` for what is not there. A command is one named transaction: it reads what it needs, lets
//! [`change`](crate::change) decide, writes the changes with their guards, the audit entry and the next revision, and
//! answers with that revision, which the caller hands to routers.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Revision, VersionLabel};
use ostiary_record::{Gate, ports::BoxFuture};

use crate::{
    approval::{Approval, NewApproval},
    audit::AuditEntry,
    evidence::EvidenceRecord,
    failpoint::{Failpoints, NoFailpoints},
    happening::{Attempted, DeadLetter, NewWebhook, Notice, Webhook},
    job::{Job, Lease, NewJob},
    names::{Actor, EnvironmentName, EvidenceId, JobId, VersionRef, WaiverId, WebhookId},
    policy::Policy,
    registry::{Agent, EnvironmentRecord, Namespace, Token},
    route::Route,
    version::{Submission, Told, Version},
    waiver::{NewGrant, NewRevocation, NewWaiver, Waiver},
};

pub use command::{
    Action, Baseline, GateCommit, GateCommitted, Guard, HoldRequest, Idempotency, Operate, Operated, Submit, Submitted,
};
pub use drift::{Drift, Keep};
pub use error::{Conflict, Refusal, StoreError};
pub use granted::Grants;

mod command;
mod drift;
mod error;
mod granted;

/// What a store method returns.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Everything the server needs kept. One implementation a database; all pass one conformance suite.
pub trait Store:
    Versions
    + Queue
    + Evidence
    + Waivers
    + Webhooks
    + Grants
    + Drift
    + Registry
    + Objects
    + Policies
    + AuditLog
    + Feed
    + fmt::Debug
    + Send
    + Sync
{
}

impl<S> Store for S where
    S: Versions
        + Queue
        + Evidence
        + Waivers
        + Webhooks
        + Grants
        + Drift
        + Registry
        + Objects
        + Policies
        + AuditLog
        + Feed
        + fmt::Debug
        + Send
        + Sync
{
}

/// Versions, their routes, and the commands that move them.
pub trait Versions {
    /// One try.
    fn version<'a>(&'a self, key: &'a VersionRef) -> Answer<'a, Option<Version>>;
    /// All tries of a label, oldest first.
    fn tries<'a>(&'a self, agent: &'a AgentId, label: &'a VersionLabel) -> Answer<'a, Vec<Version>>;
    /// All tries of all versions of an agent, newest submission first.
    fn versions<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Version>>;
    /// The agent's route; an agent that never had one has an empty one.
    fn route<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Route>;
    /// Takes a submission: a new try in DRAFT, and the job of its static gate.
    fn submit(&self, submit: Submit) -> Answer<'_, Submitted>;
    /// Records a judged gate, and moves the version if nothing changed meanwhile.
    fn commit_gate(&self, commit: GateCommit) -> Answer<'_, GateCommitted>;
    /// Does what a person, or a machine that lowers trust, asks for.
    fn operate(&self, operate: Operate) -> Answer<'_, Operated>;
}

/// The queue of gate runs.
pub trait Queue {
    /// Queues a job, unless one for the same try and gate waits or runs: then answers that one's id.
    fn enqueue(&self, job: NewJob) -> Answer<'_, JobId>;
    /// Claims the oldest job that is due, or whose lease ran out, for `lease_for`.
    fn claim(&self, claim: Claim) -> Answer<'_, Option<(Job, Lease)>>;
    /// Prolongs a lease that still holds; a lost one is a conflict.
    fn heartbeat<'a>(&'a self, lease: &'a Lease, lease_for: jiff::SignedDuration) -> Answer<'a, Lease>;
    /// Gives a job back: to be tried again from `again` on, or given up.
    fn give_back<'a>(&'a self, lease: &'a Lease, why: &'a str, again: Option<Timestamp>) -> Answer<'a, ()>;
    /// One job.
    fn job<'a>(&'a self, id: &'a JobId) -> Answer<'a, Option<Job>>;
    /// The jobs of a try, oldest first.
    fn jobs_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<Job>>;
    /// The lease's job, if the lease holds now: what an upload must be checked against.
    fn held<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Option<Job>>;
}

/// Who claims, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The worker's name.
    pub worker: String,
    /// The gates it can run.
    pub gates: Vec<Gate>,
    /// For how long.
    pub lease_for: jiff::SignedDuration,
}

/// Evidence and approvals.
pub trait Evidence {
    /// One piece.
    fn evidence<'a>(&'a self, id: &'a EvidenceId) -> Answer<'a, Option<EvidenceRecord>>;
    /// Those of `ids` that there are, in no order: one query for what would be thousands.
    fn evidence_in_bulk(&self, ids: Vec<EvidenceId>) -> Answer<'_, Vec<EvidenceRecord>>;
    /// All evidence of a try, oldest first.
    fn evidence_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<EvidenceRecord>>;
    /// All approvals of a try, oldest first.
    fn approvals_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<Approval>>;
    /// Records an approval, if it may be given.
    fn approve(&self, approve: NewApproval) -> Answer<'_, Approval>;
}

/// Waivers, by the label that they are about.
pub trait Waivers {
    /// Records that somebody asks for a waiver.
    fn request_waiver(&self, new: NewWaiver) -> Answer<'_, Waiver>;
    /// Records the second person's word.
    fn grant_waiver(&self, grant: NewGrant) -> Answer<'_, Waiver>;
    /// Ends a waiver, and calls in every authorization that rests on it.
    fn revoke_waiver(&self, revoke: NewRevocation) -> Answer<'_, Waiver>;
    /// One waiver.
    fn waiver<'a>(&'a self, id: &'a WaiverId) -> Answer<'a, Option<Waiver>>;
    /// All waivers of a label, oldest first.
    fn waivers_of<'a>(&'a self, agent: &'a AgentId, label: &'a VersionLabel) -> Answer<'a, Vec<Waiver>>;
}

/// Receivers of happenings, and how far each has been.
pub trait Webhooks {
    /// Writes the entry of something that the clock brought about, unless it was written before.
    fn notice(&self, notice: Notice) -> Answer<'_, Option<Revision>>;
    /// Registers a receiver.
    fn put_webhook(&self, new: NewWebhook) -> Answer<'_, Webhook>;
    /// Takes a receiver away; `false` = there was none.
    fn remove_webhook<'a>(&'a self, id: &'a WebhookId, by: Actor) -> Answer<'a, bool>;
    /// The receivers that were not taken away, by id.
    fn webhooks(&self) -> Answer<'_, Vec<Webhook>>;
    /// Hands out a receiver that is due and behind the newest revision, to nobody else for `lease_for`.
    fn claim_webhook(&self, lease_for: jiff::SignedDuration) -> Answer<'_, Option<Webhook>>;
    /// Writes how a try for a claimed receiver ended; `false` = somebody else was faster.
    fn attempted<'a>(&'a self, claimed: &'a Webhook, attempted: Attempted) -> Answer<'a, bool>;
    /// What a receiver never took, oldest first.
    fn dead_letters<'a>(&'a self, id: &'a WebhookId) -> Answer<'a, Vec<DeadLetter>>;
}

/// Namespaces, agents, environments, tokens.
pub trait Registry {
    /// Makes or changes a namespace.
    fn put_namespace(&self, namespace: Namespace, by: Actor) -> Answer<'_, Revision>;
    /// One namespace.
    fn namespace<'a>(&'a self, name: &'a str) -> Answer<'a, Option<Namespace>>;
    /// All, by name.
    fn namespaces(&self) -> Answer<'_, Vec<Namespace>>;
    /// Makes or changes an agent of an existing namespace.
    fn put_agent(&self, agent: Agent, by: Actor) -> Answer<'_, Revision>;
    /// One agent.
    fn agent<'a>(&'a self, id: &'a AgentId) -> Answer<'a, Option<Agent>>;
    /// The agents after `after`, by id, at most `limit`.
    fn agents<'a>(&'a self, after: Option<&'a AgentId>, limit: u32) -> Answer<'a, Vec<Agent>>;
    /// Registers or changes an environment.
    fn put_environment<'a>(&'a self, name: &'a EnvironmentName, document: Bytes, by: Actor) -> Answer<'a, Revision>;
    /// One environment.
    fn environment<'a>(&'a self, name: &'a EnvironmentName) -> Answer<'a, Option<EnvironmentRecord>>;
    /// All, by name.
    fn environments(&self) -> Answer<'_, Vec<EnvironmentRecord>>;
    /// Makes or changes a token.
    fn put_token(&self, token: Token, by: Actor) -> Answer<'_, Revision>;
    /// The token with that digest.
    fn token<'a>(&'a self, hash: &'a Digest) -> Answer<'a, Option<Token>>;
    /// Takes a token away; `false` = there was none.
    fn revoke_token<'a>(&'a self, hash: &'a Digest, by: Actor) -> Answer<'a, bool>;
}

/// Bytes by digest: bundles, runs, reports.
pub trait Objects {
    /// Keeps `bytes`; keeping the same twice is no error. Answers their digest.
    fn put_object(&self, kind: ObjectKind, bytes: Bytes) -> Answer<'_, Digest>;
    /// The bytes with that digest. Bytes that no longer match it are reported as inconsistent, not served.
    fn object<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bytes>>;
    /// Keeps a bundle's archive under the bundle's own digest, which is not the digest of the archive's bytes.
    fn put_bundle<'a>(&'a self, bundle: &'a Digest, archive: Bytes) -> Answer<'a, ()>;
    /// The archive of a bundle.
    fn bundle<'a>(&'a self, bundle: &'a Digest) -> Answer<'a, Option<Bytes>>;
    /// Remembers which report explains a piece of evidence.
    fn put_report<'a>(&'a self, evidence: &'a EvidenceId, report: Bytes) -> Answer<'a, ()>;
    /// The report that explains a piece of evidence.
    fn report<'a>(&'a self, evidence: &'a EvidenceId) -> Answer<'a, Option<Bytes>>;
}

/// What kind of bytes an object is; for people who look at the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A worker's upload.
    Run,
    /// Anything else.
    Other,
}

/// Policies by digest, and which one is in force.
pub trait Policies {
    /// Keeps `policy` and puts it in force. What was issued under another lives until its expiry.
    fn put_policy(&self, policy: Policy, by: Actor) -> Answer<'_, Revision>;
    /// The policy in force.
    fn current_policy(&self) -> Answer<'_, Option<Policy>>;
    /// A policy by digest.
    fn policy<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Policy>>;
}

/// The hash-chained audit.
pub trait AuditLog {
    /// Entries after `after`, in order, at most `limit`.
    fn audit(&self, after: Revision, limit: u32) -> Answer<'_, Vec<AuditEntry>>;
    /// The entries about one subject, oldest first.
    fn audit_of<'a>(&'a self, subject: &'a str) -> Answer<'a, Vec<AuditEntry>>;
    /// The newest revision and the chain's newest hash, as the counter row holds them.
    fn audit_head(&self) -> Answer<'_, (Revision, Digest)>;
}

/// What routers are told, by revision.
pub trait Feed {
    /// The newest revision.
    fn revision(&self) -> Answer<'_, Revision>;
    /// What changed after `since`: whole revisions only, about `limit` records, with the revision that it reaches.
    fn changes_since(&self, since: Revision, limit: u32) -> Answer<'_, Changes>;
    /// The store's time.
    fn now(&self) -> Answer<'_, Timestamp>;
}

/// A stretch of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// What changed, each as of [`reached`](Self::reached), once an agent and label; see [`project`](crate::project).
    pub told: Vec<Told>,
    /// The revision that a copy has reached after applying them.
    pub reached: Revision,
    /// Whether there is more.
    pub more: bool,
}

/// What a store itself asks of others.
#[derive(Clone, Debug)]
pub struct StorePorts {
    /// The time of every transaction, where the database has no clock of its own.
    pub clock: Arc<dyn Clock>,
    /// Ids of jobs, secrets of leases.
    pub ids: Arc<dyn Ids>,
    /// What happens between two steps of a transaction; nothing, but in tests.
    pub failpoints: Arc<dyn Failpoints>,
}

// === impl StorePorts ===

impl StorePorts {
    /// The ports of a production store.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self { clock, ids, failpoints: Arc::new(NoFailpoints) }
    }

    /// The same with failpoints, for tests.
    #[must_use]
    pub fn with_failpoints(self, failpoints: Arc<dyn Failpoints>) -> Self {
        Self { failpoints, ..self }
    }
}

/// Reads the time. One implementation reads the system clock; tests set theirs.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// Gives out ids and secrets. One implementation draws entropy; tests seed theirs.
pub trait Ids: fmt::Debug + Send + Sync {
    /// A new id that sorts by its making; `kind` becomes its prefix.
    fn next(&self, kind: &'static str) -> String;
    /// A new secret of at least 128 bits, as text.
    fn secret(&self) -> String;
}

/// Signs evidence. Only the server has one.
pub trait Signer: fmt::Debug + Send + Sync {
    /// The DSSE envelope over `payload`, as its JSON bytes.
    ///
    /// # Errors
    /// When the key cannot be used now.
    fn sign(&self, payload_type: &str, payload: &[u8]) -> Result<Bytes, SignError>;
    /// The bare Ed25519 signature over `message`, for formats that are no envelope and separate domains themselves.
    ///
    /// # Errors
    /// When the key cannot be used now.
    fn sign_bytes(&self, message: &[u8]) -> Result<[u8; 64], SignError>;
    /// The key's id.
    fn key_id(&self) -> String;
}

/// The key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to sign with key `{key}`: {why}")]
pub struct SignError {
    /// The key's id.
    pub key: String,
    /// Why.
    pub why: String,
}
