//! Steps: what lowers trust is applied at once, anything else only under its head.

use bytes::Bytes;
use ostiary_admission::{Change, wire::Sent};
use ostiary_canon::{AgentId, Digest, Revision};
use ostiary_proto::admission::v1 as wire;

use super::{
    Copy, applied,
    effects::{Effects, Fault, Keep, Tell, Touched},
    ledger::{self, AnotherRoot},
};
use crate::{status::Phase, view::Trouble};

// === impl Copy ===

impl Copy {
    pub(super) fn steps(&mut self, delta: wire::Delta, boot: i64) -> Result<Effects, Fault> {
        let (from, to) = (Revision(delta.from), Revision(delta.to));
        if self.phase != Phase::Following {
            return Err(Fault::Gap("a step before any snapshot".to_owned()));
        }
        if to <= self.joins.1 {
            return Ok(Effects { ignored: true, ..Effects::default() });
        }
        if from < self.joins.0 || from > self.joins.1 {
            return Err(Fault::Gap(format!("a step from {from}, the copy is at {}", self.joins.1)));
        }
        if to <= self.ledger.revision() {
            // Applied before the connection broke; a head over all of it comes later.
            self.joins = (to, to);
            return Ok(Effects { send: vec![applied(to)], ignored: true, ..Effects::default() });
        }
        let entries = ledger::read_step(&delta.entries, to)?;
        let not_understood = entries.iter().filter(|entry| entry.strange.is_some()).count();
        let lowers = entries.iter().all(|entry| self.ledger.lowers(entry));
        if delta.head.is_empty() {
            if !lowers {
                return Err(Fault::RaiseWithoutHead(to));
            }
            self.lower(&entries, to, boot)?;
        } else {
            self.step_under_head(&entries, to, &delta.head, boot)?;
        }
        self.joins = (to, to);
        let head = (!delta.head.is_empty()).then(|| self.relayed(delta.head.clone()));
        Ok(Effects {
            held: Some(self.held()),
            touched: touched(&entries),
            keep: Some(Keep::Step { from, to, entries: delta.entries, head: delta.head }),
            send: vec![applied(to)],
            tell: Some(Tell::Stepped { changes: entries, to, head }),
            not_understood,
            ..Effects::default()
        })
    }

    /// Applies what only lowers trust; a head has to cover it soon.
    fn lower(&mut self, entries: &[Sent], to: Revision, boot: i64) -> Result<(), Fault> {
        self.step_or_disown(entries, to, None)?;
        self.unsigned_since.get_or_insert(boot);
        self.promise(to, boot);
        Ok(())
    }

    fn step_under_head(&mut self, entries: &[Sent], to: Revision, envelope: &Bytes, boot: i64) -> Result<(), Fault> {
        let signed = self.verify(envelope)?;
        if signed.revision != to {
            return Err(Fault::Root(signed.revision));
        }
        self.step_or_disown(entries, to, Some(signed.root))?;
        self.confirm(signed, boot);
        Ok(())
    }

    fn step_or_disown(&mut self, entries: &[Sent], to: Revision, root: Option<Digest>) -> Result<(), Fault> {
        self.ledger.step(entries, to, root).map_err(|AnotherRoot| {
            // Without a head before it the copy is still what its own head signs. What was lowered without a head is part
            // of this root: then the copy itself may not be what was sent. Nor can it be if it lost step.
            if self.unsigned_since.is_some() || root.is_none() {
                self.trouble = Some(Trouble::NotVerified);
            }
            Fault::Root(to)
        })
    }
}

fn touched(entries: &[Sent]) -> Touched {
    let agent = |entry: &Sent| match &entry.change {
        Change::Upsert(record) => Some(record.agent.clone()),
        Change::Remove(agent, _) => Some(agent.clone()),
        Change::Enforce(..) => None,
    };
    // A namespace's mode concerns all of its agents.
    entries.iter().map(agent).collect::<Option<Vec<AgentId>>>().map_or(Touched::Everything, Touched::Agents)
}
