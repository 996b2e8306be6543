//! The server stops at each named place of a gate; afterwards the version is in one legal state and the gate goes on.
//!
//! Covers L-01 under faults.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use jiff::SignedDuration;
use ostiary_domain::{Crashed, Failpoint, Failpoints, NoFailpoints};
use serde_json::Value;

use crate::app::{AGENT, AUDITOR, TestApp, VERSION};

/// Breaks off once, at one place; what the caller holds is lost, what is committed stays.
#[derive(Debug)]
struct Once {
    at: Failpoint,
    hit: AtomicBool,
}

impl Failpoints for Once {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        if point == self.at && !self.hit.swap(true, Ordering::SeqCst) {
            return Err(Crashed(point));
        }
        Ok(())
    }
}

async fn survives(point: Failpoint) {
    let once = Arc::new(Once { at: point, hit: AtomicBool::new(false) });
    let mut app = TestApp::with(Arc::new(NoFailpoints), |_| {}).await;
    app.restart_with(once.clone()).await;
    let taken = app.submit().await.0 == 202;
    app.until("the place was passed", || async { once.hit.load(Ordering::SeqCst) }).await;
    app.restart_with(Arc::new(NoFailpoints)).await;
    // Whoever held a lease is gone; its run is handed out again when the lease lapses.
    app.advance(SignedDuration::from_secs(61)).await;
    if app.status().await["state"].is_null() {
        assert!(!taken, "a submission that was taken is there");
        assert_eq!(app.submit().await.0, 202);
    }
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED", "{point}: {:#}", app.status().await);
    let (_, evidence) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/evidence")).await;
    let decided = |record: &&Value| record["standing"] == "decided" && record["outcome"] == "PASS";
    let evidence = evidence.as_array().expect("a list").clone();
    let gates: Vec<&str> = evidence.iter().filter(decided).filter_map(|record| record["gate"].as_str()).collect();
    let once_each: BTreeSet<&str> = gates.iter().copied().collect();
    assert_eq!(gates.len(), once_each.len(), "{point}: no gate was committed twice: {gates:?}");
    let (_, audit) = app.get(AUDITOR, "/api/v1/audit/verify").await;
    assert_eq!(audit["intact"], true, "{point}: {audit}");
}

macro_rules! survives {
    ($($name:ident: $point:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                survives(Failpoint::$point).await;
            }
        )*

        /// The places tested here.
        const TESTED: &[Failpoint] = &[$(Failpoint::$point),*];
    };
}

survives! {
    submission_that_was_written_and_not_committed: SubmitWritten,
    submission_that_was_committed_and_not_answered: SubmitCommitted,
    job_that_was_claimed_by_nobody: JobClaimed,
    run_that_was_driven_and_not_uploaded: RunDriven,
    run_that_was_uploaded_and_not_judged: RunUploaded,
    gate_that_was_judged_and_not_signed: GateJudged,
    evidence_that_was_signed_and_not_stored: EvidenceSigned,
    commit_that_was_guarded_and_wrote_nothing: CommitGuarded,
    commit_that_wrote_the_version_only: CommitVersionWritten,
    commit_that_wrote_no_audit: CommitEvidenceWritten,
    commit_that_wrote_all_and_did_not_commit: CommitWritten,
    commit_that_nobody_was_told_of: CommitDone,
    index_that_was_not_published: IndexNotPublished,
}

#[test]
fn every_place_is_tested() {
    assert_eq!(Failpoint::ALL, TESTED);
}
