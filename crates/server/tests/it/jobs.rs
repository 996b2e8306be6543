//! Workers from outside: over gRPC, under leases that can be lost.
//!
//! Covers the lease and epoch of jobs, and that a worker holds no key.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_record::{DigestSource, EnvironmentFacts, Gate};
use ostiary_worker::jobs::{Disposition, Job, Jobs, JobsError, Pace, Ran, Remote, RemoteJobs, Worker};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::app::{AGENT, AUDITOR, PUBLISHER, ROUTER, TestApp, VERSION, WORKER, token};

/// A server that leaves all runs to workers from outside.
async fn without_own_worker() -> TestApp {
    let app = TestApp::with(Arc::new(ostiary_domain::NoFailpoints), |config| config.worker.embedded = 0).await;
    assert_eq!(app.submit().await.0, 202);
    app
}

fn remote(app: &TestApp, caller: &str) -> RemoteJobs {
    RemoteJobs::connect(&Remote { url: app.running().grpc_url(), token: token(caller) }).expect("a valid address")
}

async fn claim(app: &TestApp) -> Job {
    let jobs = remote(app, WORKER);
    jobs.claim("w", Duration::from_secs(5)).await.expect("answers").expect("a job waits")
}

fn run(app: &TestApp, job: &Job) -> Bytes {
    serde_json::to_vec(&app.candidate.run_of(job)).expect("encodes").into()
}

async fn evidence(app: &TestApp) -> usize {
    let (_, list) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/evidence")).await;
    list.as_array().expect("a list").len()
}

#[tokio::test]
async fn worker_from_outside_takes_a_version_to_admission() {
    let app = without_own_worker().await;
    let jobs = Arc::new(remote(&app, WORKER));
    let worker = Worker::new("outside", jobs, Arc::new(app.candidate.clone()), Pace::default());
    let stop = CancellationToken::new();
    for _ in 0..3 {
        assert_eq!(worker.once(&stop).await, Ok(Some(Ran::Uploaded)));
    }
    app.until("admitted", || async { app.state().await == "REGISTRY_ADMITTED" }).await;
}

#[tokio::test]
async fn job_carries_all_that_a_worker_needs_and_nothing_to_sign_with() {
    let app = without_own_worker().await;
    let job = claim(&app).await;
    assert_eq!((job.gate, job.attempt, job.version.as_str()), (Gate::Static, 1, VERSION));
    assert_eq!(job.bundle_digest, app.bundle.digest);
    assert_eq!(job.environment, app.card.environment().into_bytes());
}

#[tokio::test]
async fn lost_lease_cannot_commit() {
    let app = without_own_worker().await;
    let late = claim(&app).await;
    app.advance(SignedDuration::from_secs(31)).await;
    let lost = Err(JobsError::LeaseLost(late.ticket.job_id.clone()));
    let jobs = remote(&app, WORKER);
    assert_eq!(jobs.upload(&late.ticket, run(&app, &late)).await.map(drop), lost);
    assert_eq!(jobs.heartbeat(&late.ticket).await.map(drop), lost);
    assert_eq!((app.state().await.as_str(), evidence(&app).await), ("DRAFT", 0));
    let again = claim(&app).await;
    assert_eq!(again.ticket.job_id, late.ticket.job_id, "the run is handed out again");
    assert!(again.ticket.epoch > late.ticket.epoch);
    assert_eq!(jobs.upload(&late.ticket, run(&app, &late)).await.map(drop), lost, "an older epoch never wins");
    jobs.upload(&again.ticket, run(&app, &again)).await.expect("the newer one does");
    assert_eq!(app.state().await, "STATIC_VALIDATED");
}

#[tokio::test]
async fn heartbeat_keeps_a_lease_alive() {
    let app = without_own_worker().await;
    let job = claim(&app).await;
    let jobs = remote(&app, WORKER);
    for _ in 0..4 {
        app.advance(SignedDuration::from_secs(20)).await;
        jobs.heartbeat(&job.ticket).await.expect("still ours");
    }
    jobs.upload(&job.ticket, run(&app, &job)).await.expect("still ours");
    assert_eq!(app.state().await, "STATIC_VALIDATED");
}

#[tokio::test]
async fn guessed_token_of_a_lease_is_worth_nothing() {
    let app = without_own_worker().await;
    let job = claim(&app).await;
    let mut forged = job.ticket.clone();
    forged.token = "0".repeat(64);
    let jobs = remote(&app, WORKER);
    assert!(matches!(jobs.upload(&forged, run(&app, &job)).await, Err(JobsError::LeaseLost(_))));
    assert_eq!(evidence(&app).await, 0);
}

#[tokio::test]
async fn upload_that_is_no_run_of_this_job_is_refused() {
    let app = without_own_worker().await;
    let job = claim(&app).await;
    let jobs = remote(&app, WORKER);
    let mut other_gate = app.candidate.run_of(&job);
    other_gate.gate = Some(Gate::Security);
    let mut lenient = app.candidate.run_of(&job);
    lenient.environment = EnvironmentFacts { strictness: "development".to_owned(), ..lenient.environment };
    let environment = |change: fn(&mut EnvironmentFacts)| {
        let mut told = app.candidate.run_of(&job);
        change(&mut told.environment);
        Bytes::from(serde_json::to_vec(&told).expect("encodes"))
    };
    let uploads = [
        ("an artifact that nobody was to look at", environment(|e| e.artifact_digest = Some("sha256:00".to_owned()))),
        ("a word for having looked", environment(|e| e.producer_digest_source = Some(DigestSource::Observed))),
        ("another way", environment(|e| e.connect_to = [("a:1".to_owned(), "b:2".to_owned())].into())),
        ("other authorities", environment(|e| e.trust_roots = Some("sha256:00".to_owned()))),
        ("garbage", Bytes::from_static(b"garbage")),
        ("no run", Bytes::from_static(b"{}")),
        ("another gate", serde_json::to_vec(&other_gate).expect("encodes").into()),
        ("a more lenient environment", serde_json::to_vec(&lenient).expect("encodes").into()),
    ];
    for (case, upload) in uploads {
        let answer = jobs.upload(&job.ticket, upload).await;
        assert!(matches!(answer, Err(JobsError::Refused(_))), "{case}: {answer:?}");
    }
    assert_eq!((app.state().await.as_str(), evidence(&app).await), ("DRAFT", 0));
    jobs.upload(&job.ticket, run(&app, &job)).await.expect("the honest run is still taken");
}

#[tokio::test]
async fn run_that_cannot_be_made_is_given_up_and_can_be_asked_for_again() {
    let app = TestApp::start().await;
    app.candidate.cannot_run(Some(Disposition::Fail));
    app.submit().await;
    app.drain_jobs().await;
    let status = app.status().await;
    assert_eq!((status["state"].as_str(), status["jobs"][0]["state"].as_str()), (Some("DRAFT"), Some("failed")));
    assert_eq!(status["jobs"][0]["last_error"], "the candidate is not there");
    app.candidate.cannot_run(None);
    let path = format!("{AGENT}/versions/{VERSION}/gates/static");
    assert_eq!(app.post(PUBLISHER, &path, &json!({"reason": "it is up"})).await.0, 202);
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED");
}

#[tokio::test]
async fn run_of_a_withdrawn_version_is_cancelled() {
    let app = without_own_worker().await;
    let job = claim(&app).await;
    let path = format!("{AGENT}/versions/{VERSION}/withdraw");
    assert_eq!(app.post(PUBLISHER, &path, &json!({"reason": "wrong bundle"})).await.0, 200);
    let jobs = remote(&app, WORKER);
    assert_eq!(jobs.heartbeat(&job.ticket).await, Ok(ostiary_worker::jobs::Beat::Cancelled));
}

#[tokio::test]
async fn only_workers_claim() {
    let app = without_own_worker().await;
    for caller in [ROUTER, PUBLISHER, "nobody"] {
        let refused = remote(&app, caller).claim("w", Duration::ZERO).await;
        assert!(matches!(refused, Err(JobsError::Refused(_))), "{caller}: {refused:?}");
    }
}

#[tokio::test]
async fn claim_waits_for_work_and_gets_it_at_once() {
    let app = TestApp::with(Arc::new(ostiary_domain::NoFailpoints), |config| config.worker.embedded = 0).await;
    let jobs = remote(&app, WORKER);
    assert!(jobs.claim("w", Duration::from_millis(50)).await.expect("answers").is_none());
    let (claimed, (status, _)) = tokio::join!(jobs.claim("w", Duration::from_secs(10)), app.submit());
    assert_eq!(status, 202);
    assert_eq!(claimed.expect("answers").expect("work came").gate, Gate::Static);
}
