//! The router library: how long until it holds a million versions, and what a decision on them costs, its clock included.

use std::{hint::black_box, time::Duration};

use anyhow::{Context as _, Result, ensure};
use ostiary_admission::{Observed, Query};
use ostiary_canon::dsse::{Keyring, SigningKey};
use ostiary_proto::admission::v1::Outcome;
use ostiary_router::{Router, RouterConfig};
use tonic::transport::Endpoint;

use crate::{
    child::Server,
    cli::Plan,
    corpus::{self, QUESTIONS, Question},
    report::{Goal, Report},
    serve::{SEED, WATCH},
    stats::median,
    stopwatch::{CpuWatch, Stopwatch},
};

/// Most CPU nanoseconds of a decision about one of 64 hot agents, at any size.
const HOT_NS: f64 = 100.0;

/// The same about any of a million, in random order.
const RANDOM_NS: f64 = 1_500.0;

/// Longest wait for a full copy.
const PATIENCE: Duration = Duration::from_secs(120);

/// Questions in one measurement.
const DECISIONS: usize = QUESTIONS * 4;

/// Runs the benchmark.
pub async fn run(plan: &Plan) -> Result<Report> {
    let sizes: &[usize] = if plan.quick { &[1_000] } else { &[1_000, 100_000, 1_000_000] };
    let rounds = if plan.quick { 1 } else { plan.rounds };
    let mut goals = Vec::new();
    for &size in sizes {
        eprintln!("{size} versions");
        let server = Server::start(&[WATCH.to_owned(), size.to_string()]).await?;
        let watch = Stopwatch::start();
        let router = connect(&server.address(WATCH)?).await?;
        let seconds = watch.elapsed().as_secs_f64();
        let questions = corpus::questions(size);
        let limit = |limit| if plan.quick { f64::INFINITY } else { limit };
        let mut goal =
            |name: &str, value, limit| goals.push(Goal { name: format!("{name}, {size} versions"), value, limit });
        let hot: Vec<Question> = questions.iter().filter(|q| q.expected == Outcome::Allow).take(64).cloned().collect();
        goal("CPU nanoseconds of an ALLOW, 64 hot", measure(&router, &hot, rounds)?, limit(HOT_NS));
        let mixed = measure(&router, &questions[64..128], rounds)?;
        goal("CPU nanoseconds of a decision, 64 hot, one in eight denied", mixed, f64::INFINITY);
        goal("CPU nanoseconds of a decision, random", measure(&router, &questions, rounds)?, limit(RANDOM_NS));
        goal("seconds until its copy is complete and verified", seconds, f64::INFINITY);
        router.stop().await;
    }
    Ok(Report { bench: "router", rows: vec![], goals, costs: vec![] })
}

async fn connect(address: &str) -> Result<Router> {
    let trust = Keyring::trusting([SigningKey::from_seed(SEED).verifying_key()]);
    let endpoint = Endpoint::from_shared(address.to_owned())?;
    let router = Router::connect(RouterConfig::new(endpoint, "bench", trust)).await?;
    ensure!(router.ready(PATIENCE).await, "the router has no copy after {PATIENCE:?}: {:?}", router.status());
    Ok(router)
}

/// Median nanoseconds of CPU of a decision over `questions`, digests already read.
fn measure(router: &Router, questions: &[Question], rounds: u32) -> Result<f64> {
    let queries: Vec<Query<'_>> = questions.iter().map(|question| query(&question.request)).collect();
    let passes = DECISIONS / queries.len();
    let mut times = Vec::new();
    for _ in 0..rounds {
        let watch = CpuWatch::start();
        let mut allowed = 0;
        for _ in 0..passes {
            allowed += queries.iter().filter(|query| black_box(router.check(query)).allows()).count();
        }
        let nanos = watch.nanos();
        let first = router.check(queries.first().context("no question")?);
        ensure!(allowed * 10 > passes * queries.len() * 8, "too few questions were allowed: {first:?}");
        #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
        times.push(nanos / (passes * queries.len()) as f64);
    }
    Ok(median(times))
}

fn query(request: &ostiary_proto::admission::v1::CheckAdmissionRequest) -> Query<'_> {
    Query {
        agent: &request.agent,
        version: &request.version,
        card_digest: Observed::read(&request.card_digest),
        profile: Some(&request.profile),
        contract_digest: Observed::read(&request.contract_digest),
        consumer: Some(&request.consumer),
        interface: Some(&request.interface),
        cohort_key: Some(&request.cohort_key),
        ..Query::default()
    }
}
