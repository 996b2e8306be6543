//! From a command and what a store has read to the writes of one transaction. Pure: every store acts on the same answer.

use ostiary_canon::Digest;
use serde_json::json;

use crate::{
    audit::{AuditAction, AuditDraft},
    hold::{Hold, Lifted},
    job::NewJob,
    lifecycle::Event,
    names::{Actor, HoldId, Moment, RowVersion, VersionRef},
    ports::{Baseline, Conflict, GateCommit, Guard, Refusal},
    route::{Route, RouteChange},
    version::Version,
};

pub use drift::{DriftIds, Reported, Seen, looked, report};
pub use operate::operate;

mod drift;
mod operate;
#[cfg(test)]
mod tests;

/// What a store reads before it asks for a decision, all in the transaction that will act on it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The try that the command is about.
    pub version: Version,
    /// Its agent's route.
    pub route: Route,
    /// The other versions on that route.
    pub peers: Vec<Version>,
    /// The digest of the policy in force.
    pub policy: Digest,
}

/// What a store is to write. Every version and the route carry the row version that they were read with: the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Versions as they are to be.
    pub versions: Vec<Version>,
    /// The route as it is to be.
    pub route: Option<Route>,
    /// Holds that are set; the versions above have them already.
    pub set: Vec<(VersionRef, Hold)>,
    /// Holds that are lifted; the versions above lack them already.
    pub lifted: Vec<(VersionRef, HoldId, Lifted)>,
    /// Jobs to queue, unless one for the same try and gate is there.
    pub jobs: Vec<NewJob>,
    /// What the audit is to say.
    pub audit: AuditDraft,
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undone {
    /// The caller's view is old.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The domain does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The writes of a judged gate, its evidence apart.
///
/// # Errors
/// When the world is not what the guard says, or the lifecycle or route refuses what follows.
pub fn gate(loaded: Loaded, commit: &GateCommit, next: Option<NewJob>, at: Moment) -> Result<Changes, Undone> {
    guarded(&loaded, &commit.guard)?;
    let from = loaded.version.state.name();
    let mut draft = Draft::of(loaded);
    let consequence = &commit.consequence;
    if let Some(change) = &consequence.route {
        draft.reroute(change.clone(), at)?;
    }
    if let Some(event) = &consequence.event {
        draft.apply(&commit.version, event.clone(), at)?;
    }
    for hold in &consequence.holds {
        draft.set_hold(&commit.version, hold.clone().set(at), at);
    }
    let outcome = commit.evidence.outcome;
    draft.about(&commit.version).note(commit.evidence.gate, outcome, commit.evidence.id.clone());
    draft.touch(&commit.version, at);
    let to = draft.about(&commit.version).state.name();
    let detail = json!({
        "gate": commit.evidence.gate,
        "outcome": outcome,
        "event": consequence.event.as_ref().map(|e| e.name().as_str()),
        "from": from,
        "to": to,
        "holds": consequence.holds.iter().map(|h| h.kind.as_str()).collect::<Vec<_>>(),
        "evidence": commit.evidence.id,
        "envelope": Digest::of(&commit.evidence.envelope),
        "manifest": commit.evidence.subject.manifest,
        "policy": commit.evidence.policy,
        "also": draft.also(&commit.version),
    });
    let audit = entry(AuditAction::Gate, &commit.actor, &commit.version, None, detail);
    Ok(draft.finish(next.into_iter().collect(), audit))
}

/// The audit entry of evidence that was kept without a transition.
#[must_use]
pub fn evidence_kept(commit: &GateCommit, because: &Undone) -> AuditDraft {
    let detail = json!({
        "gate": commit.evidence.gate,
        "outcome": commit.evidence.outcome,
        "evidence": commit.evidence.id,
        "envelope": Digest::of(&commit.evidence.envelope),
        "because": because.to_string(),
    });
    entry(AuditAction::EvidenceKept, &commit.actor, &commit.version, None, detail)
}

fn guarded(loaded: &Loaded, guard: &Guard) -> Result<(), Conflict> {
    let version = &loaded.version;
    if version.state.name() != guard.state {
        let (expected, found) = (guard.state, version.state.name());
        return Err(Conflict::State { version: version.key.clone(), expected, found });
    }
    if version.row != guard.row {
        return Err(Conflict::Row(version.key.to_string()));
    }
    if loaded.policy != guard.policy {
        return Err(Conflict::Policy);
    }
    match &guard.baseline {
        Baseline::Against(active) if *active != loaded.route.active => Err(Conflict::Baseline),
        Baseline::Against(_) | Baseline::NotCompared => Ok(()),
    }
}

fn entry(
    action: AuditAction,
    actor: &Actor,
    about: &VersionRef,
    reason: Option<String>,
    detail: serde_json::Value,
) -> AuditDraft {
    AuditDraft { actor: actor.clone(), action, subject: about.to_string(), reason, detail }
}

/// Changes in the making.
struct Draft {
    versions: Vec<Version>,
    touched: Vec<VersionRef>,
    route: Route,
    rerouted: bool,
    set: Vec<(VersionRef, Hold)>,
    lifted: Vec<(VersionRef, HoldId, Lifted)>,
}

// === impl Draft ===

impl Draft {
    fn of(loaded: Loaded) -> Self {
        let Loaded { version, route, peers, .. } = loaded;
        let mut versions = vec![version];
        versions.extend(peers);
        Self { versions, touched: Vec::new(), route, rerouted: false, set: Vec::new(), lifted: Vec::new() }
    }

    /// The version that `key` names; a store that forgot to load it has a bug.
    fn about(&mut self, key: &VersionRef) -> &mut Version {
        let found = self.versions.iter_mut().find(|v| v.key == *key);
        found.expect("the store loads the command's version and every version on the route")
    }

    fn touch(&mut self, key: &VersionRef, at: Moment) {
        self.about(key).revision = at.revision;
        if !self.touched.contains(key) {
            self.touched.push(key.clone());
        }
    }

    fn apply(&mut self, key: &VersionRef, event: Event, at: Moment) -> Result<(), Refusal> {
        let version = self.about(key);
        *version = version.clone().apply(event, at)?;
        self.touch(key, at);
        Ok(())
    }

    fn set_hold(&mut self, key: &VersionRef, hold: Hold, at: Moment) {
        self.about(key).holds.push(hold.clone());
        self.set.push((key.clone(), hold));
        self.touch(key, at);
    }

    fn lift_hold(&mut self, key: &VersionRef, id: &HoldId, lifted: Lifted, at: Moment) {
        self.about(key).holds.retain(|h| h.id != *id);
        self.lifted.push((key.clone(), id.clone(), lifted));
        self.touch(key, at);
    }

    /// Changes the route, and lets the other versions on it follow.
    fn reroute(&mut self, change: RouteChange, at: Moment) -> Result<(), Refusal> {
        let before = self.route.clone();
        let after = before.clone().apply(change.clone(), at.time)?;
        if let RouteChange::Promote { rollback_until, .. } = change {
            if let Some(old) = &before.previous {
                self.apply(&old.version, Event::RollbackWindowClosed, at)?;
            }
            if let Some(old) = &before.active {
                self.apply(old, Event::Superseded { rollback_until }, at)?;
            }
        }
        self.rerouted |= after != before;
        self.route = after;
        Ok(())
    }

    /// The other versions that changed with it, for the audit.
    fn also(&self, key: &VersionRef) -> Vec<serde_json::Value> {
        let others = self.versions.iter().filter(|v| v.key != *key && self.touched.contains(&v.key));
        others.map(|v| json!({"version": v.key.to_string(), "to": v.state.name()})).collect()
    }

    fn finish(self, jobs: Vec<NewJob>, audit: AuditDraft) -> Changes {
        let Self { versions, touched, route, rerouted, set, lifted } = self;
        let versions = versions.into_iter().filter(|v| touched.contains(&v.key)).collect();
        Changes { versions, route: rerouted.then_some(route), set, lifted, jobs, audit }
    }
}

/// A row that somebody looked at before it acts; `None` = it need not have looked.
fn looked_at(version: &Version, row: Option<RowVersion>) -> Result<(), Conflict> {
    match row {
        Some(row) if row != version.row => Err(Conflict::Row(version.key.to_string())),
        _ => Ok(()),
    }
}
