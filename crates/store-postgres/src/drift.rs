//! The port over drift reports, revalidations and outcomes; and the two transactions that move a version by them.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{
    Failpoint, HoldId, JobId, Moment, Refusal, Standing, StoreError, VersionRef,
    change::{self, DriftIds, Loaded},
    drift::{Background, DriftReport, DriftReported, Look, Looked, NewDriftReport, Revalidation, Saw},
    outcomes::{OutcomeSum, Window},
    ports::{Answer, Drift, Keep},
    version::speaking,
};

use crate::{
    evidence, operate, outcomes,
    store::PostgresStore,
    transaction::{Revising, Writing},
    version,
};

mod report;
mod revalidation;

// === impl PostgresStore ===

impl Drift for PostgresStore {
    fn report_drift(&self, report: NewDriftReport) -> Answer<'_, DriftReported> {
        Box::pin(self.transaction("drift.report", report, |tx, report| Box::pin(take(tx, report))))
    }

    fn drift_reports<'a>(
        &'a self,
        agent: &'a AgentId,
        label: &'a VersionLabel,
        limit: u32,
    ) -> Answer<'a, Vec<DriftReport>> {
        Box::pin(async move { report::of_label(self.reading("drift.list").await?.db(), agent, label, limit).await })
    }

    fn claim_revalidation(&self, lease_for: SignedDuration) -> Answer<'_, Option<Revalidation>> {
        Box::pin(
            self.transaction("revalidation.claim", lease_for, |tx, lease_for| {
                Box::pin(revalidation::claim(tx, lease_for))
            }),
        )
    }

    fn revalidations<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Revalidation>> {
        Box::pin(async move { revalidation::of_agent(self.reading("revalidation.list").await?.db(), agent).await })
    }

    fn looked(&self, look: Look) -> Answer<'_, Looked> {
        Box::pin(self.transaction("revalidation.looked", look, |tx, look| Box::pin(looked(tx, look))))
    }

    fn add_outcomes(&self, window: Window) -> Answer<'_, bool> {
        Box::pin(self.transaction("outcome.add", window, |tx, window| Box::pin(outcomes::add(tx, window))))
    }

    fn outcomes<'a>(
        &'a self,
        agent: &'a AgentId,
        label: &'a VersionLabel,
        since: Timestamp,
    ) -> Answer<'a, Vec<OutcomeSum>> {
        Box::pin(async move { outcomes::sums(self.reading("outcome.sum").await?.db(), agent, label, since).await })
    }

    fn forget_reports(&self, keep: Keep) -> Answer<'_, u64> {
        Box::pin(self.transaction("drift.forget", keep, |tx, keep| Box::pin(forget(tx, keep))))
    }
}

async fn forget(tx: &mut Writing, keep: &Keep) -> Result<u64, StoreError> {
    let now = tx.now();
    let forgotten = report::forget(tx.db(), now, keep.drift).await?;
    Ok(forgotten + outcomes::forget(tx.db(), now, keep.outcomes).await?)
}

// === a report ===

async fn take(tx: &mut Revising, new: &NewDriftReport) -> Result<DriftReported, StoreError> {
    if let Some(before) = report::answered(tx.db(), new).await? {
        return Ok(before);
    }
    let key = speaks_for(tx, &new.agent, &new.label).await?;
    let loaded = operate::loaded(tx.db(), &key).await?;
    let background = background(tx, new, &key).await?;
    let (at, ids) = (tx.moment(), ids(tx));
    let judged = change::report(loaded, &background, new, &ids, at).map_err(operate::undone)?;
    let audit = judged.changes.audit.clone();
    operate::write(tx, judged.changes, at).await?;
    tx.hit(Failpoint::CommitVersionWritten)?;
    if let Some(open) = &judged.revalidation {
        revalidation::put(tx.db(), open).await?;
    }
    report::insert(tx.db(), new, (&key, judged.action), at).await?;
    tx.record(audit, at).await?;
    finish(tx)?;
    Ok(DriftReported { id: new.id.clone(), action: judged.action, revision: at.revision, repeated: false })
}

async fn speaks_for(tx: &mut Revising, agent: &AgentId, label: &VersionLabel) -> Result<VersionRef, StoreError> {
    let tries = version::tries(tx.db(), agent, label).await?;
    let unknown = || Refusal::Unknown { what: "version", id: format!("{agent}@{label}") };
    speaking(&tries).map(|version| version.key.clone()).ok_or_else(|| unknown().into())
}

async fn background(tx: &mut Revising, new: &NewDriftReport, key: &VersionRef) -> Result<Background, StoreError> {
    let now = tx.now();
    let open = revalidation::load(tx.db(), key).await?;
    let others = match (&open, new.claim.other_card()) {
        (Some(open), Some(card)) => report::others(tx.db(), (open, &card), &new.by).await?,
        _ => false,
    };
    Ok(Background {
        siblings: version::of_agent(tx.db(), &new.agent).await?,
        seconded: others,
        unfounded: report::last_unfounded(tx.db(), key, &new.by).await?,
        recent: report::recent(tx.db(), key, &new.by, now).await?,
        open,
    })
}

// === a look ===

async fn looked(tx: &mut Revising, look: &Look) -> Result<Looked, StoreError> {
    let open = &look.claimed;
    if revalidation::load(tx.db(), &open.version).await?.as_ref() != Some(open) {
        return Ok(Looked::Late);
    }
    tx.hit(Failpoint::CommitGuarded)?;
    let loaded: Loaded = operate::loaded(tx.db(), &open.version).await?;
    let siblings = version::of_agent(tx.db(), &open.version.agent).await?;
    let seconded = report::seconded(tx.db(), open).await?;
    let (at, ids) = (tx.moment(), ids(tx));
    let seen = change::looked(loaded, (&siblings, seconded), look, &ids, at).map_err(operate::undone)?;
    let revision = seen.changes.is_some().then_some(at.revision);
    if let Some(changes) = seen.changes {
        let audit = changes.audit.clone();
        operate::write(tx, changes, at).await?;
        tx.hit(Failpoint::CommitVersionWritten)?;
        keep(tx, look, seen.evidence, at).await?;
        tx.hit(Failpoint::CommitEvidenceWritten)?;
        tx.record(audit, at).await?;
    }
    let answer = match (seen.conclusion, seen.revalidation) {
        (Some(conclusion), _) => {
            revalidation::remove(tx.db(), &open.version).await?;
            report::conclude(tx.db(), open, conclusion, at.time).await?;
            Looked::Concluded { conclusion, revision }
        }
        (None, next) => {
            let next = next.unwrap_or_else(|| open.clone());
            revalidation::put(tx.db(), &next).await?;
            Looked::Again { at: next.not_before, revision }
        }
    };
    finish(tx)?;
    Ok(answer)
}

async fn keep(tx: &mut Revising, look: &Look, standing: Option<Standing>, at: Moment) -> Result<(), StoreError> {
    let (Saw::Card(seen), Some(standing)) = (&look.saw, standing) else { return Ok(()) };
    let Some((new, explained)) = &seen.evidence else { return Ok(()) };
    let record = new.clone().recorded(look.claimed.version.clone(), standing, at.revision);
    evidence::insert(tx.db(), &record).await?;
    evidence::insert_report(tx.db(), &record.id, explained).await
}

// === both ===

fn ids(tx: &Revising) -> DriftIds {
    DriftIds { hold: HoldId(tx.id("hold")), job: JobId(tx.id("job")) }
}

fn finish(tx: &mut Revising) -> Result<(), StoreError> {
    tx.hit_after_commit(Failpoint::CommitDone);
    tx.hit(Failpoint::CommitWritten)
}
