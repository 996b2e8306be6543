//! Every fault of a stream, against the rules alone.

mod anything;
mod clocks;
mod faults;
mod steps;
pub(crate) mod upstream;

use jiff::SignedDuration;
use ostiary_admission::{Decision, DecisionReason, ViewScope};
use ostiary_canon::{Revision, dsse::Keyring};
use ostiary_proto::admission::v1::{
    self as wire, RefusalReason, watch_admissions_request::Message as Request, watch_admissions_response::Message,
};

use self::upstream::{Upstream, query};
use super::{Copy, Effects, Fault, Floor, Rules};
use crate::test_clock::{SECOND, at};

/// A copy at one end and an upstream at the other, with one clock that both agree on until a test says otherwise.
struct Pair {
    copy: Copy,
    upstream: Upstream,
    boot: i64,
    /// By how much this machine's time of day is off.
    wall_off: i64,
    sent: Vec<Request>,
}

fn rules(keys: Keyring) -> Rules {
    Rules {
        scope: ViewScope::All,
        trust: keys,
        router_id: "r1".to_owned(),
        max_skew: SignedDuration::from_secs(2),
        head_within: std::time::Duration::from_secs(3),
        silence: std::time::Duration::from_secs(6),
        max_entries: 1_000,
    }
}

// === impl Pair ===

impl Pair {
    /// Both empty, nothing said yet.
    fn apart() -> Self {
        let upstream = Upstream::new();
        Self { copy: Copy::new(rules(upstream.keyring()), None), upstream, boot: 0, wall_off: 0, sent: Vec::new() }
    }

    /// `acme/planner` 1.0.0 is active, and the copy has it.
    fn in_step() -> Self {
        let mut pair = Self::apart();
        pair.upstream.activate("acme/planner", "1.0.0");
        pair.open();
        let messages = pair.upstream.snapshot(pair.boot);
        pair.take_all(messages);
        assert!(pair.allows("acme/planner", "1.0.0"), "the honest twin");
        pair
    }

    fn open(&mut self) {
        let effects = self.copy.open(self.boot);
        self.note(&effects);
        let effects = self.copy.opened(self.boot);
        self.note(&effects);
        self.answer_echoes(&effects);
    }

    fn answer_echoes(&mut self, effects: &Effects) {
        for request in &effects.send {
            if let Request::Echo(echo) = request {
                let reply = self.upstream.echo(echo.nonce, self.boot);
                self.copy.receive(reply, self.boot);
            }
        }
    }

    fn note(&mut self, effects: &Effects) {
        self.sent.extend(effects.send.iter().cloned());
        if effects.end.is_some() {
            self.copy.closed();
        }
    }

    fn take(&mut self, message: Message) -> Effects {
        let effects = self.copy.receive(message, self.boot);
        self.note(&effects);
        effects
    }

    fn take_all(&mut self, messages: impl IntoIterator<Item = Message>) -> Option<Fault> {
        messages.into_iter().find_map(|message| self.take(message).end)
    }

    fn tick(&mut self) -> Effects {
        let wall = at(self.boot + self.wall_off);
        let effects = self.copy.tick(wall, self.boot);
        self.note(&effects);
        self.answer_echoes(&effects);
        effects
    }

    fn wait(&mut self, seconds: i64) -> Effects {
        self.boot += seconds * SECOND;
        self.tick()
    }

    fn heartbeat(&mut self) -> Effects {
        let head = self.upstream.heartbeat(self.boot);
        self.take(head)
    }

    fn ask(&self, agent: &str, version: &str) -> Decision {
        self.copy.held().check(&query(agent, version), None, self.boot)
    }

    fn allows(&self, agent: &str, version: &str) -> bool {
        self.ask(agent, version).allows()
    }

    fn reason(&self, agent: &str, version: &str) -> DecisionReason {
        self.ask(agent, version).reason
    }

    fn last_refusal(&self) -> Option<RefusalReason> {
        self.sent.iter().rev().find_map(|request| match request {
            Request::Refused(refused) => Some(refused.reason()),
            _ => None,
        })
    }

    fn last_applied(&self) -> Option<u64> {
        self.sent.iter().rev().find_map(|request| match request {
            Request::Applied(wire::Applied { revision }) => Some(*revision),
            _ => None,
        })
    }

    fn last_start(&self) -> &wire::WatchStart {
        let mut starts = self.sent.iter().rev().filter_map(|request| match request {
            Request::Start(start) => Some(start),
            _ => None,
        });
        starts.next().unwrap()
    }
}
