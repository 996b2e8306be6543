//! One scope's copy and its rules, without any IO: a message and the time go in, what is to be done comes out.
//!
//! The rules, in the order of what they protect:
//!
//! 1. Nothing raises trust that no verified head covers. A step that only lowers it is applied at once.
//! 2. A verified revision is never left behind again: older heads are refused, also after a restart (the *floor*).
//! 3. What was acknowledged without a head is never left behind while any older lease can live (the *promise*). It is
//!    kept apart from the floor, because nobody signed it: a made-up revision must not lock a router out for ever.
//! 4. A head counts only when the copy's own entries give its root. Otherwise nothing is decided until a copy does.
//! 5. A snapshot replaces the copy as a whole or not at all; until then the old one serves while its lease lives.

mod effects;
mod head;
mod ledger;
mod snapshot;
mod step;
#[cfg(test)]
mod tests;
mod watchtime;

use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{ViewScope, wire::timestamp_from_wire};
use ostiary_canon::{Digest, Revision, dsse::Keyring};
use ostiary_proto::admission::v1::{
    self as wire, watch_admissions_request::Message as Request, watch_admissions_response::Message,
};
use serde::{Deserialize, Serialize};

pub(crate) use self::effects::{Effects, Fault, Keep, Tell, Touched};
use self::{head::Signed, ledger::Ledger, snapshot::Incoming, watchtime::WatchTime};
use crate::{
    downstream::RelayedHead,
    status::Phase,
    time::Bounds,
    view::{Held, Trouble},
};

/// What the rules need to know of the configuration.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) scope: ViewScope,
    pub(crate) trust: Keyring,
    pub(crate) router_id: String,
    pub(crate) max_skew: SignedDuration,
    pub(crate) head_within: Duration,
    pub(crate) silence: Duration,
    pub(crate) max_entries: usize,
}

/// A verified revision and its root: nothing older is believed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Floor {
    pub(crate) revision: Revision,
    pub(crate) root: Digest,
    /// Tells two contents of one revision apart: a control plane that is told of a revoked key at its start signs another
    /// root for the same revision, and the one that was signed later counts.
    pub(crate) issued_at: Timestamp,
}

/// A revision that was acknowledged although no head covers it yet.
#[derive(Clone, Copy, Debug)]
struct Promise {
    revision: Revision,
    /// Boot clock until which an older lease could live.
    until: i64,
}

/// One scope's copy.
pub(crate) struct Copy {
    rules: Rules,
    ledger: Ledger,
    floor: Option<Floor>,
    verified: Option<Signed>,
    /// Where the next step must start: anywhere from the end of the last step to the last revision known to be the same.
    joins: (Revision, Revision),
    promise: Option<Promise>,
    /// Boot clock of the first applied step that no head covers.
    unsigned_since: Option<i64>,
    incoming: Option<Incoming>,
    /// What resuming was asked for, until it is answered.
    asked: Option<Revision>,
    time: WatchTime,
    trouble: Option<Trouble>,
    phase: Phase,
}

/// Longer than any lease: after it, whoever still shows an older head has not read its database in all that time.
const LONGEST_LEASE: Duration = Duration::from_secs(60);

// === impl Copy ===

impl Copy {
    /// An empty copy that believes nothing older than `floor`.
    pub(crate) fn new(rules: Rules, floor: Option<Floor>) -> Self {
        Self {
            rules,
            ledger: Ledger::default(),
            floor,
            verified: None,
            joins: (Revision(0), Revision(0)),
            promise: None,
            unsigned_since: None,
            incoming: None,
            asked: None,
            time: WatchTime::default(),
            trouble: Some(Trouble::Empty),
            phase: Phase::Away,
        }
    }

    /// Whether a copy that was read from disk has come as far as `floor`; that holds from then on.
    pub(crate) fn reaches(&mut self, floor: Option<Floor>) -> bool {
        let (Some(own), Some(known)) = (&mut self.floor, floor) else { return floor.is_none() };
        if own.revision == known.revision && own.root == known.root {
            own.issued_at = own.issued_at.max(known.issued_at);
            return true;
        }
        own.revision > known.revision
    }

    /// Before any echo: judges leases by the machine's own time of day. For a copy from disk.
    pub(crate) fn assume_wall(&mut self, wall: Timestamp, boot: i64) {
        self.time.assume(Bounds::of_wall(wall, boot, self.rules.max_skew));
    }

    /// A connection is being opened: what is said first.
    pub(crate) fn open(&mut self, boot: i64) -> Effects {
        self.incoming = None;
        self.phase = Phase::Opening;
        self.time.heard(boot);
        let resume = self.resumable();
        let asked = resume.map(|signed| signed.revision);
        let start = wire::WatchStart {
            scope: self.rules.scope.to_string(),
            router_id: self.rules.router_id.clone(),
            resume: resume.map(|signed| wire::RevisionToken { revision: signed.revision.0 }),
            resume_root: resume.map(|signed| signed.root.as_bytes().to_vec().into()).unwrap_or_default(),
        };
        self.asked = asked;
        Effects { send: vec![Request::Start(start)], ..Effects::default() }
    }

    /// The other end answers: asks for the time, which would seem later had it been asked while the connection was made.
    pub(crate) fn opened(&mut self, boot: i64) -> Effects {
        self.time.heard(boot);
        Effects { send: vec![self.time.echo(boot)], ..Effects::default() }
    }

    /// The connection is gone; the copy serves on while its lease lives.
    pub(crate) fn closed(&mut self) {
        self.incoming = None;
        self.asked = None;
        self.time.lost();
        self.phase = Phase::Away;
    }

    /// Takes one message at the boot clock's `boot`.
    pub(crate) fn receive(&mut self, message: Message, boot: i64) -> Effects {
        self.time.heard(boot);
        let done = match message {
            Message::SnapshotBegin(begin) => self.snapshot_begins(&begin),
            Message::SnapshotChunk(chunk) => self.snapshot_grows(&chunk),
            Message::SnapshotEnd(end) => self.snapshot_ends(end.head, boot),
            Message::Delta(delta) => self.steps(delta, boot),
            Message::Heartbeat(heartbeat) => self.heartbeat(heartbeat.head, boot),
            Message::Resync(_) => {
                // The copy stays as it is; only the history does not go on.
                self.asked = None;
                self.phase = Phase::Snapshot;
                Ok(Effects::default())
            }
            Message::EchoReply(reply) => Ok(self.echoed(&reply, boot)),
            Message::Resumed(resumed) => self.resumed(Revision(resumed.revision)),
        };
        done.unwrap_or_else(|fault| self.refuse(fault))
    }

    /// Time passed: `wall` is what this machine takes for the time of day.
    pub(crate) fn tick(&mut self, wall: Timestamp, boot: i64) -> Effects {
        let mut effects = Effects::default();
        let before = self.trouble();
        self.time.measure(wall, boot, self.rules.max_skew);
        if self.promise.is_some_and(|promise| boot >= promise.until) {
            self.promise = None;
        }
        if self.unsigned_since.is_some_and(|since| passed(since, boot) > self.rules.head_within) {
            self.unsigned_since = None;
            self.trouble = Some(Trouble::HeadOverdue);
            // What no head covered may be made up: it is not resumed from.
            effects.end = Some(Fault::HeadOverdue);
        }
        if self.phase != Phase::Away {
            if self.time.silent_for(boot) > self.rules.silence {
                effects.end = Some(Fault::Silent);
            }
            effects.send.extend(self.time.echo_if_due(boot));
        }
        if self.trouble() != before {
            effects.held = Some(self.held());
        }
        effects
    }

    /// What decisions read.
    pub(crate) fn held(&self) -> Held {
        Held {
            index: self.ledger.index(),
            verified: self.verified.as_ref().map_or(Revision(0), |signed| signed.revision),
            lease_until: self.verified.as_ref().map_or(Timestamp::MIN, |signed| signed.lease_until),
            clock: self.time.clock(),
            trouble: self.trouble(),
        }
    }

    /// The envelope of the newest verified head.
    pub(crate) fn head(&self) -> Option<Bytes> {
        self.verified.as_ref().map(|signed| signed.envelope.clone())
    }

    /// The same, to be passed on.
    pub(crate) fn verified_head(&self) -> Option<RelayedHead> {
        self.head().map(|envelope| self.relayed(envelope))
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn floor(&self) -> Option<Floor> {
        self.floor
    }

    /// Whether this connection brought the copy in step: what resets the back-off.
    pub(crate) fn in_step(&self) -> bool {
        self.phase == Phase::Following && self.trouble.is_none()
    }

    fn trouble(&self) -> Option<Trouble> {
        self.trouble.or(self.time.trouble())
    }

    /// From where the history may be asked to go on: only from a head that still describes what is held underneath.
    fn resumable(&self) -> Option<&Signed> {
        if self.trouble.is_some() { None } else { self.verified.as_ref() }
    }

    fn echoed(&mut self, reply: &wire::EchoReply, boot: i64) -> Effects {
        let at = reply.at.as_ref().and_then(timestamp_from_wire);
        if !at.is_some_and(|at| self.time.answered(reply.nonce, at, boot)) {
            return Effects { ignored: true, ..Effects::default() };
        }
        Effects { held: Some(self.held()), ..Effects::default() }
    }

    fn resumed(&mut self, revision: Revision) -> Result<Effects, Fault> {
        if self.asked.take() != Some(revision) {
            return Err(Fault::Gap(format!("resumed at {revision}, which was not asked for")));
        }
        // Steps up to what is applied come again, and are recognised by their revisions.
        self.joins = (revision, revision);
        self.phase = Phase::Following;
        Ok(Effects { send: vec![applied(revision)], ..Effects::default() })
    }

    fn refuse(&mut self, fault: Fault) -> Effects {
        let mut effects = Effects::default();
        if let Some((reason, revision)) = fault.refusal(self.ledger.revision()) {
            effects.send.push(Request::Refused(wire::Refused {
                revision: revision.0,
                reason: reason.into(),
                detail: fault.to_string(),
            }));
        }
        // Whoever found it said so if it throws doubt on what is held, and not only on what was offered.
        effects.held = Some(self.held());
        self.incoming = None;
        effects.end = Some(fault);
        effects
    }

    fn promise(&mut self, revision: Revision, boot: i64) {
        let until = boot.saturating_add(nanos(LONGEST_LEASE));
        self.promise = Some(Promise { revision, until });
    }
}

/// Says that nothing older than `revision` is decided on any more.
fn applied(revision: Revision) -> Request {
    Request::Applied(wire::Applied { revision: revision.0 })
}

fn passed(since: i64, boot: i64) -> Duration {
    Duration::from_nanos(boot.saturating_sub(since).max(0).unsigned_abs())
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
