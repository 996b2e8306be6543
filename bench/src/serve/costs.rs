//! What it costs to hold versions, to change one, and to decide in process.

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use ostiary_admission::{Index, Observed, Query, View as _};
use ostiary_canon::Revision;

use crate::{
    child::Costs,
    corpus::{self, Question},
    stats::median,
    stopwatch::{CpuWatch, Stopwatch},
};

/// Changes of one version that are timed; odd, so that the median is one of them.
const PUBLISHES: usize = 201;

/// How often the mix is gone through, to outlast the clock's steps.
const PASSES: usize = 8;

/// Linux pages of this program's platforms.
const PAGE: f64 = 4096.0;

/// Fills `index` with `versions` and measures.
pub fn fill(index: &Index, versions: usize, now: Timestamp) -> Result<Costs> {
    let before = resident_bytes()?;
    let watch = Stopwatch::start();
    index.publish(corpus::records(versions, now), Revision(1)).context("failed to fill the index")?;
    let load_seconds = watch.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a million is far below 2^52")]
    let bytes_per_version = (resident_bytes()? - before) / versions as f64;
    let (mut times, mut records, mut shards) = (Vec::new(), Vec::new(), 0);
    for n in 0..PUBLISHES {
        // Predecessors only, so that no question changes its answer; and back again.
        let one = (n * versions / PUBLISHES) / 2 * 2;
        let change = corpus::quarantined(one, now);
        let watch = Stopwatch::start();
        let published = index.publish([change], Revision(n as u64 + 2)).context("failed to publish one version")?;
        times.push(watch.elapsed().as_secs_f64() * 1e6);
        #[expect(clippy::cast_precision_loss, reason = "a shard holds hundreds")]
        records.push(published.records as f64);
        shards = shards.max(published.shards);
    }
    let questions = corpus::questions(versions);
    Ok(Costs {
        versions,
        load_seconds,
        bytes_per_version,
        publish_us: median(times),
        publish_shards: shards,
        publish_records: median(records),
        decision_ns: decision_ns(index, &questions, now)?,
        decision_hot_ns: decision_ns(index, &questions[64..128], now)?,
    })
}

/// Nanoseconds of CPU of one decision over `questions`, digests already read.
fn decision_ns(index: &Index, questions: &[Question], now: Timestamp) -> Result<f64> {
    let queries: Vec<Query<'_>> = questions.iter().map(|question| query(&question.request)).collect();
    let passes = PASSES * corpus::QUESTIONS / queries.len();
    let watch = CpuWatch::start();
    let mut allowed = 0;
    for _ in 0..passes {
        allowed += queries.iter().filter(|query| index.check(query, None, now).allows()).count();
    }
    let nanos = watch.nanos();
    ensure!(allowed > 0, "no question was allowed");
    #[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
    let decisions = (passes * queries.len()) as f64;
    Ok(nanos / decisions)
}

fn query(request: &ostiary_proto::admission::v1::CheckAdmissionRequest) -> Query<'_> {
    Query {
        agent: &request.agent,
        version: &request.version,
        card_digest: Observed::read(&request.card_digest),
        profile: Some(&request.profile),
        contract_digest: Observed::read(&request.contract_digest),
        producer_digest: Observed::Omitted,
        consumer: Some(&request.consumer),
        interface: Some(&request.interface),
        cohort_key: Some(&request.cohort_key),
    }
}

fn resident_bytes() -> Result<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm").context("failed to read the resident memory")?;
    let pages: f64 = statm.split(' ').nth(1).context("no resident pages")?.parse()?;
    Ok(pages * PAGE)
}
