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

use crate::{evidence, operate, outcomes, store::SqliteStore, transaction::Writing, version};

mod report;
mod revalidation;

// === impl SqliteStore ===

impl Drift for SqliteStore {
    fn report_drift(&self, report: NewDriftReport) -> Answer<'_, DriftReported> {
        Box::pin(take(self, report))
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
        Box::pin(revalidation::claim(self, lease_for))
    }

    fn revalidations<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Revalidation>> {
        Box::pin(async move { revalidation::of_agent(self.reading("revalidation.list").await?.db(), agent).await })
    }

    fn looked(&self, look: Look) -> Answer<'_, Looked> {
        Box::pin(looked(self, look))
    }

    fn add_outcomes(&self, window: Window) -> Answer<'_, bool> {
        Box::pin(outcomes::add(self, window))
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
        Box::pin(async move {
            let mut tx = self.writing("drift.forget").await?;
            let now = tx.now();
            let forgotten = report::forget(tx.db(), now, keep.drift).await?;
            let forgotten = forgotten + outcomes::forget(tx.db(), now, keep.outcomes).await?;
            tx.commit().await?;
            Ok(forgotten)
        })
    }
}

// === a report ===

async fn take(store: &SqliteStore, new: NewDriftReport) -> Result<DriftReported, StoreError> {
    let mut tx = store.writing("drift.report").await?;
    if let Some(before) = report::answered(tx.db(), &new).await? {
        return Ok(before);
    }
    let key = speaks_for(&mut tx, &new.agent, &new.label).await?;
    let loaded = operate::loaded(tx.db(), &key).await?;
    let background = background(&mut tx, &new, &key).await?;
    let (at, ids) = (tx.moment().await?, ids(&tx));
    let judged = change::report(loaded, &background, &new, &ids, at).map_err(operate::undone)?;
    let audit = judged.changes.audit.clone();
    operate::write(&mut tx, judged.changes, at).await?;
    tx.hit(Failpoint::CommitVersionWritten)?;
    if let Some(open) = &judged.revalidation {
        revalidation::put(tx.db(), open).await?;
    }
    report::insert(tx.db(), &new, (&key, judged.action), at).await?;
    tx.record(audit, at).await?;
    finish(tx).await?;
    Ok(DriftReported { id: new.id, action: judged.action, revision: at.revision, repeated: false })
}

async fn speaks_for(tx: &mut Writing, agent: &AgentId, label: &VersionLabel) -> Result<VersionRef, StoreError> {
    let tries = version::tries(tx.db(), agent, label).await?;
    let unknown = || Refusal::Unknown { what: "version", id: format!("{agent}@{label}") };
    speaking(&tries).map(|version| version.key.clone()).ok_or_else(|| unknown().into())
}

async fn background(tx: &mut Writing, new: &NewDriftReport, key: &VersionRef) -> Result<Background, StoreError> {
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

async fn looked(store: &SqliteStore, look: Look) -> Result<Looked, StoreError> {
    let mut tx = store.writing("revalidation.looked").await?;
    let open = &look.claimed;
    if revalidation::load(tx.db(), &open.version).await?.as_ref() != Some(open) {
        return Ok(Looked::Late);
    }
    tx.hit(Failpoint::CommitGuarded)?;
    let loaded: Loaded = operate::loaded(tx.db(), &open.version).await?;
    let siblings = version::of_agent(tx.db(), &open.version.agent).await?;
    let seconded = report::seconded(tx.db(), open).await?;
    let (at, ids) = (tx.moment().await?, ids(&tx));
    let seen = change::looked(loaded, (&siblings, seconded), &look, &ids, at).map_err(operate::undone)?;
    let revision = seen.changes.is_some().then_some(at.revision);
    if let Some(changes) = seen.changes {
        let audit = changes.audit.clone();
        operate::write(&mut tx, changes, at).await?;
        tx.hit(Failpoint::CommitVersionWritten)?;
        keep(&mut tx, &look, seen.evidence, at).await?;
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
    finish(tx).await?;
    Ok(answer)
}

async fn keep(tx: &mut Writing, look: &Look, standing: Option<Standing>, at: Moment) -> Result<(), StoreError> {
    let (Saw::Card(seen), Some(standing)) = (&look.saw, standing) else { return Ok(()) };
    let Some((new, explained)) = &seen.evidence else { return Ok(()) };
    let record = new.clone().recorded(look.claimed.version.clone(), standing, at.revision);
    evidence::insert(tx.db(), &record).await?;
    evidence::insert_report(tx.db(), &record.id, explained).await
}

// === both ===

fn ids(tx: &Writing) -> DriftIds {
    DriftIds { hold: HoldId(tx.id("hold")), job: JobId(tx.id("job")) }
}

async fn finish(tx: Writing) -> Result<(), StoreError> {
    tx.hit(Failpoint::CommitWritten)?;
    let failpoints = tx.failpoints();
    tx.commit().await?;
    failpoints.hit(Failpoint::CommitDone).map_err(StoreError::Crashed)
}
