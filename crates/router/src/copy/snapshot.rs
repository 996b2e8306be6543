//! A snapshot: built aside, then taken as a whole or not at all.

use bytes::Bytes;
use ostiary_admission::wire::Sent;
use ostiary_canon::Revision;
use ostiary_proto::admission::v1 as wire;

use super::{
    Copy, applied,
    effects::{Effects, Fault, Keep, Tell, Touched},
    head::Signed,
    ledger::{self, Ledger},
};
use crate::status::Phase;

/// A snapshot that is coming.
pub(super) struct Incoming {
    revision: Revision,
    announced: u64,
    entries: Vec<Sent>,
    not_understood: usize,
}

// === impl Copy ===

impl Copy {
    pub(super) fn snapshot_begins(&mut self, begin: &wire::SnapshotBegin) -> Result<Effects, Fault> {
        let revision = Revision(begin.revision);
        // Known before a million entries are read for nothing.
        self.refuse_older(revision)?;
        if begin.entries > self.rules.max_entries as u64 {
            return Err(too_many(begin.entries));
        }
        self.phase = Phase::Snapshot;
        self.asked = None;
        self.incoming = Some(Incoming { revision, announced: begin.entries, entries: Vec::new(), not_understood: 0 });
        Ok(Effects::default())
    }

    pub(super) fn snapshot_grows(&mut self, chunk: &wire::SnapshotChunk) -> Result<Effects, Fault> {
        let Some(incoming) = &mut self.incoming else {
            return Err(Fault::Gap("entries of a snapshot that has not begun".to_owned()));
        };
        for bytes in &chunk.entries {
            let entry = ledger::read(bytes, incoming.revision)?;
            // It has no leaf: the root would be the same with it and without.
            if entry.new_leaf().is_none() {
                return Err(Fault::Gap("a removal in a snapshot".to_owned()));
            }
            incoming.not_understood += usize::from(entry.strange.is_some());
            incoming.entries.push(entry);
        }
        if incoming.entries.len() as u64 > incoming.announced {
            return Err(Fault::Gap(format!("more than the announced {} entries", incoming.announced)));
        }
        Ok(Effects::default())
    }

    pub(super) fn snapshot_ends(&mut self, envelope: Bytes, boot: i64) -> Result<Effects, Fault> {
        let Some(incoming) = self.incoming.take() else {
            return Err(Fault::Gap("the end of a snapshot that has not begun".to_owned()));
        };
        let signed = self.verify(&envelope)?;
        if signed.revision != incoming.revision {
            return Err(Fault::Root(signed.revision));
        }
        self.refuse_older(signed.revision)?;
        let mut ledger = Ledger::of_snapshot(incoming.entries, signed.revision);
        if ledger.root() != signed.root || ledger.entries() != signed.entries {
            return Err(Fault::Root(signed.revision));
        }
        self.ledger = ledger;
        Ok(self.snapshot_taken(signed, incoming.not_understood, boot))
    }

    fn snapshot_taken(&mut self, signed: Signed, not_understood: usize, boot: i64) -> Effects {
        let revision = signed.revision;
        let head = signed.envelope.clone();
        self.confirm(signed, boot);
        self.joins = (revision, revision);
        self.phase = Phase::Following;
        Effects {
            held: Some(self.held()),
            touched: Touched::Everything,
            keep: Some(Keep::Whole),
            send: vec![applied(revision)],
            tell: Some(Tell::Replaced(self.relayed(head))),
            not_understood,
            ..Effects::default()
        }
    }
}

fn too_many(entries: u64) -> Fault {
    Fault::Gap(format!("a snapshot of {entries} entries is longer than this router takes"))
}
