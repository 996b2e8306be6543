//! The loop against a scripted server: what it does when runs fail, leases go and servers are away.

use std::{collections::VecDeque, sync::Mutex};

use ostiary_canon::Digest;
use ostiary_record::Gate;
use tokio::sync::Notify;

use super::*;
use crate::jobs::Ticket;

#[derive(Default)]
struct Script {
    claims: Mutex<VecDeque<Result<Option<Job>, JobsError>>>,
    beat: Option<Result<Beat, JobsError>>,
    uploads: Mutex<VecDeque<Result<(), JobsError>>>,
    log: Mutex<Vec<String>>,
}

impl Script {
    fn said(&self) -> Vec<String> {
        self.log.lock().expect("no test thread panics while it holds the log").clone()
    }

    fn say(&self, what: impl Into<String>) {
        self.log.lock().expect("no test thread panics while it holds the log").push(what.into());
    }
}

impl Jobs for Script {
    fn claim<'a>(&'a self, _: &'a str, _: Duration) -> BoxFuture<'a, Result<Option<Job>, JobsError>> {
        let next = self.claims.lock().expect("unpoisoned").pop_front();
        Box::pin(async move {
            match next {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn heartbeat<'a>(&'a self, _: &'a Ticket) -> BoxFuture<'a, Result<Beat, JobsError>> {
        let answer = self.beat.clone().expect("the test expects a heartbeat");
        Box::pin(async move { answer })
    }

    fn upload<'a>(&'a self, _: &'a Ticket, run: Bytes) -> BoxFuture<'a, Result<Digest, JobsError>> {
        self.say("upload");
        let answer = self.uploads.lock().expect("unpoisoned").pop_front().unwrap_or(Ok(()));
        Box::pin(async move { answer.map(|()| Digest::of(&run)) })
    }

    fn fail<'a>(
        &'a self,
        _: &'a Ticket,
        disposition: Disposition,
        why: &'a str,
    ) -> BoxFuture<'a, Result<(), JobsError>> {
        self.say(format!("{disposition:?}: {why}"));
        Box::pin(async { Ok(()) })
    }
}

/// What the candidate's side does.
enum Plays {
    Done,
    Fails(Disposition),
    Hangs,
    /// Says that it has begun, and hangs.
    Begins(Arc<Notify>),
}

impl Runner for Plays {
    fn run<'a>(&'a self, job: &'a Job, _: &'a CancellationToken) -> BoxFuture<'a, Result<Run, RunFailure>> {
        Box::pin(async move {
            match self {
                Self::Done => Ok(empty_run(job.gate)),
                Self::Fails(disposition) => Err(RunFailure { disposition: *disposition, why: "no agent".to_owned() }),
                Self::Hangs => std::future::pending().await,
                Self::Begins(begun) => {
                    begun.notify_one();
                    std::future::pending().await
                }
            }
        })
    }
}

fn empty_run(gate: Gate) -> Run {
    Run {
        format: ostiary_record::run::RUN_FORMAT.to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        harness_version: "test".to_owned(),
        gate: Some(gate),
        environment: ostiary_record::EnvironmentFacts::default(),
        recordings: Vec::new(),
        not_run: Vec::new(),
    }
}

fn job() -> Job {
    Job {
        ticket: Ticket { job_id: "run-1".to_owned(), token: "secret-token".to_owned(), epoch: 1 },
        lease_until: jiff::Timestamp::UNIX_EPOCH,
        agent: "acme/planner".parse().expect("a valid name"),
        version: "1.0.0".parse().expect("a valid label"),
        attempt: 1,
        gate: Gate::Static,
        bundle: Bytes::new(),
        bundle_digest: Digest::of(b""),
        environment: Bytes::new(),
    }
}

fn worker(script: &Arc<Script>, plays: Plays) -> Worker {
    let millis = Duration::from_millis(1);
    let pace = Pace { claim_wait: Duration::ZERO, heartbeat: millis * 5, first_pause: millis };
    Worker::new("w", Arc::clone(script) as Arc<dyn Jobs>, Arc::new(plays), pace)
}

fn waiting(jobs: impl IntoIterator<Item = Result<Option<Job>, JobsError>>) -> Script {
    Script { claims: Mutex::new(jobs.into_iter().collect()), ..Script::default() }
}

async fn ran(script: Script, plays: Plays) -> (Option<Ran>, Vec<String>) {
    let script = Arc::new(script);
    let ran = worker(&script, plays).once(&CancellationToken::new()).await.expect("claims");
    (ran, script.said())
}

#[tokio::test]
async fn finished_run_is_uploaded() {
    let script = Script { beat: Some(Ok(Beat::Extended(jiff::Timestamp::UNIX_EPOCH))), ..waiting([Ok(Some(job()))]) };
    assert_eq!(ran(script, Plays::Done).await, (Some(Ran::Uploaded), vec!["upload".to_owned()]));
}

#[tokio::test]
async fn failed_run_is_given_back_as_the_runner_says() {
    for disposition in [Disposition::Retry, Disposition::Fail] {
        let (ran, said) = ran(waiting([Ok(Some(job()))]), Plays::Fails(disposition)).await;
        assert_eq!(ran, Some(Ran::GivenBack(disposition)));
        assert_eq!(said, [format!("{disposition:?}: no agent")]);
    }
}

#[tokio::test]
async fn lost_lease_drops_the_run_and_writes_nothing() {
    let lost = Err(JobsError::LeaseLost("run-1".to_owned()));
    let script = Script { beat: Some(lost), ..waiting([Ok(Some(job()))]) };
    assert_eq!(ran(script, Plays::Hangs).await, (Some(Ran::Abandoned), Vec::new()));
}

#[tokio::test]
async fn cancelled_run_is_dropped() {
    let script = Script { beat: Some(Ok(Beat::Cancelled)), ..waiting([Ok(Some(job()))]) };
    assert_eq!(ran(script, Plays::Hangs).await, (Some(Ran::Abandoned), Vec::new()));
}

#[tokio::test]
async fn upload_is_repeated_while_the_server_is_away() {
    let away = || Err(JobsError::Unavailable("down".to_owned()));
    let script = Script {
        uploads: Mutex::new([away(), away(), Ok(())].into()),
        beat: Some(Ok(Beat::Extended(jiff::Timestamp::UNIX_EPOCH))),
        ..waiting([Ok(Some(job()))])
    };
    let (ran, said) = ran(script, Plays::Done).await;
    assert_eq!((ran, said.len()), (Some(Ran::Uploaded), 3));
}

#[tokio::test]
async fn refused_upload_is_given_back_and_not_repeated() {
    let refused = Err(JobsError::Refused("too large".to_owned()));
    let script = Script { uploads: Mutex::new([refused].into()), ..waiting([Ok(Some(job()))]) };
    let (ran, said) = ran(script, Plays::Done).await;
    assert_eq!(ran, Some(Ran::GivenBack(Disposition::Fail)));
    assert_eq!(said, ["upload", "Fail: server refused: too large"]);
}

#[tokio::test]
async fn run_under_way_at_shutdown_is_given_back_for_another_worker() {
    let alive = Some(Ok(Beat::Extended(jiff::Timestamp::UNIX_EPOCH)));
    let script = Arc::new(Script { beat: alive, ..waiting([Ok(Some(job()))]) });
    let (stop, begun) = (CancellationToken::new(), Arc::new(Notify::new()));
    let worker = worker(&script, Plays::Begins(Arc::clone(&begun)));
    let stopping = async {
        begun.notified().await;
        stop.cancel();
    };
    let (worked, ()) = tokio::join!(worker.work(&stop), stopping);
    assert_eq!(worked, Ok(()));
    assert_eq!(script.said(), ["Retry: the worker is shutting down"]);
}

#[tokio::test]
async fn server_that_refuses_the_worker_ends_the_loop_but_one_that_is_away_does_not() {
    let script = Arc::new(waiting([
        Err(JobsError::Unavailable("starting".to_owned())),
        Ok(None),
        Err(JobsError::Refused("no such role".to_owned())),
    ]));
    let ended = worker(&script, Plays::Done).work(&CancellationToken::new()).await;
    assert_eq!(ended, Err(JobsError::Refused("no such role".to_owned())));
}

#[test]
fn lease_token_is_not_printed() {
    assert!(!format!("{:?}", job()).contains("secret-token"));
}
