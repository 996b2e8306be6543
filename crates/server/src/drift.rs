//! Another card in a question to our own decision point is a report, too (P-03): nobody has to send it.
//!
//! The decision tells this queue and goes on. What does not fit is dropped: whoever asks again is heard then.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{Decision, Observed, Query};
use ostiary_canon::{AgentId, Digest, VersionLabel};
use ostiary_domain::{
    DriftReportId, StoreError,
    drift::{Claim, DriftFinding, DriftKind, NewDriftReport, observer},
    ports::Idempotency,
};
use tokio::sync::mpsc;

use crate::{app::App, error::chain};

/// Where decisions leave what they saw.
#[derive(Clone, Debug)]
pub struct Sightings(mpsc::Sender<Sighting>);

/// Reports what was left.
#[derive(Debug)]
pub struct Observer {
    app: Arc<App>,
    seen: mpsc::Receiver<Sighting>,
    reported: BTreeMap<Sighting, Timestamp>,
}

/// Another card than the admitted one, in a question.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sighting {
    agent: AgentId,
    label: VersionLabel,
    card: Digest,
}

/// Sightings that wait: a flood of questions fills this and no more.
const WAITING: usize = 256;
/// Different sightings that are remembered as reported.
const REMEMBERED: usize = 4_096;
/// After so long a sighting is news again; the control plane has looked by then.
const NEWS_AGAIN: SignedDuration = SignedDuration::from_mins(10);

/// A queue for sightings, and who works it off.
#[must_use]
pub fn observed(app: &Arc<App>) -> (Sightings, Observer) {
    let (tell, seen) = mpsc::channel(WAITING);
    (Sightings(tell), Observer { app: Arc::clone(app), seen, reported: BTreeMap::new() })
}

// === impl Sightings ===

impl ostiary_pdp::Mismatches for Sightings {
    fn mismatched(&self, query: &Query<'_>, _: &Decision) {
        let Observed::Digest(card) = query.card_digest else { return };
        let (Ok(agent), Ok(label)) = (query.agent.parse(), query.version.parse()) else { return };
        // A full queue is no reason to let a router wait.
        let _ = self.0.try_send(Sighting { agent, label, card });
    }
}

// === impl Observer ===

impl Observer {
    /// Works until dropped, or until nobody can tell anything any more.
    pub async fn work(mut self) {
        while let Some(sighting) = self.seen.recv().await {
            let now = self.app.clock.now();
            if self.is_news(&sighting, now)
                && let Err(error) = self.report(&sighting, now).await
            {
                self.reported.remove(&sighting);
                tracing::warn!(agent = %sighting.agent, error = %chain(&error), "another card was not reported");
            }
        }
    }

    fn is_news(&mut self, sighting: &Sighting, now: Timestamp) -> bool {
        if self.reported.get(sighting).is_some_and(|last| now.duration_since(*last) < NEWS_AGAIN) {
            return false;
        }
        if self.reported.len() >= REMEMBERED {
            self.reported.retain(|_, last| now.duration_since(*last) < NEWS_AGAIN);
        }
        if self.reported.len() >= REMEMBERED {
            // Made-up digests. The store counts reports by itself, so what is told twice does no harm.
            self.reported.clear();
        }
        self.reported.insert(sighting.clone(), now);
        true
    }

    async fn report(&self, sighting: &Sighting, now: Timestamp) -> Result<(), StoreError> {
        let id = self.app.ids.next("drift");
        let by = observer();
        let report = NewDriftReport {
            agent: sighting.agent.clone(),
            label: sighting.label.clone(),
            key: Idempotency { request: Digest::of(id.as_bytes()), key: id.clone() },
            claim: Claim {
                router_id: by.name.clone(),
                kind: DriftKind::Card,
                finding: DriftFinding::Mismatch,
                expected: None,
                observed: Some(sighting.card),
                first_seen: now,
                last_seen: now,
                count: 1,
                sample_reference: None,
            },
            id: DriftReportId(id),
            by,
        };
        match self.app.store.report_drift(report).await {
            Ok(_) => {
                self.app.committed();
                Ok(())
            }
            // Too many, or gone since: both are answers.
            Err(StoreError::Refused(refusal)) => {
                tracing::debug!(agent = %sighting.agent, %refusal, "another card was not reported");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}
