//! The whole A2A verification of the planning agent (static, conformance, security, judged and written) against a bare
//! client that makes the same exchanges.
//!
//! The bare client replays what the run recorded: the same requests in the same order with the same overlaps, over
//! connections that stay open, to an agent started anew. What both wait for on purpose does not count on either side; what
//! is left is what discovering, planning, recording, judging and writing add to the exchanges themselves.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use ostiary_contract::Bundle;
use ostiary_record::{NoSink, Outcome, Run};
use ostiary_sample::{Authority, Config, PlanningAgent, Running, Trust};
use ostiary_verify::{Harness, JudgeOptions, Request, drive, judge, recording_file};
use ostiary_worker::{
    bundle_dir,
    clock::SystemClock,
    local::{DEFAULT_ISSUER, Place, Surroundings, signer},
};
use tempfile::TempDir;
use tokio::process::Command;

use crate::{
    a2a::{replay::Replay, span::Logged},
    cli::Plan,
    report::{Goal, Report},
    stats::median,
    stopwatch::Stopwatch,
};

mod replay;
mod span;

/// Most times the wall time of the bare client.
const RATIO: f64 = 1.3;
/// Most resident memory of `ostiary verify`, in MiB.
const PEAK_MIB: f64 = 150.0;
/// The least work for each binding, so that nobody gets faster by doing less: drives of scenarios, and exchanges.
const LEAST: (usize, usize) = (20, 50);
/// The name in the agent's card and certificate.
const NAME: &str = "planning.example.test";
const AUDIENCE: &str = "https://planning.example.test/a2a";
/// Between two looks at the memory of a process; its high-water mark only rises.
const LOOK: Duration = Duration::from_millis(2);

/// The agent with its bundle and an environment for it.
struct World {
    bundle: Bundle,
    place: Place,
    environment: PathBuf,
    root_pem: String,
    agent: Running,
    _folder: TempDir,
}

/// One run, with what it took.
struct Verified {
    run: Run,
    /// Milliseconds without what it waited for on purpose.
    busy_ms: f64,
    /// Milliseconds that it waited on purpose.
    waited_ms: f64,
    waits: Vec<(u64, u64)>,
}

/// Runs the benchmark.
pub async fn run(ostiary: &Path, plan: &Plan) -> Result<Report> {
    let rounds = if plan.quick { 1 } else { plan.rounds };
    let (mut ratios, mut subject, mut bare, mut waited) = (vec![], vec![], vec![], vec![]);
    let mut work = Vec::new();
    // the first one is not counted: caches and the allocator warm up
    for round in 0..=rounds {
        let verified = World::start().await?.verify(round).await?;
        let world = World::start().await?;
        let bare_ms = replayed(&world, &verified).await?;
        work = done(&verified.run)?;
        if round == 0 {
            continue;
        }
        eprintln!("round {round} of {rounds}: {:.1} ms, bare client {bare_ms:.1} ms", verified.busy_ms);
        ratios.push(verified.busy_ms / bare_ms);
        subject.push(verified.busy_ms);
        bare.push(bare_ms);
        waited.push(verified.waited_ms);
    }
    let mut peaks = Vec::new();
    for _ in 0..rounds.min(3) {
        peaks.push(World::start().await?.peak_mib(ostiary).await?);
    }
    let told = |name: &str, values| Goal { name: name.to_owned(), value: median(values), limit: f64::INFINITY };
    let mut goals = vec![
        Goal { name: "wall time, times that of a bare client".to_owned(), value: median(ratios), limit: RATIO },
        Goal { name: "peak resident MiB of `ostiary verify`".to_owned(), value: median(peaks), limit: PEAK_MIB },
        told("ms of a verification, without waits", subject),
        told("ms of the bare client, without waits", bare),
        told("ms that the contract makes it wait", waited),
    ];
    goals.extend(work);
    Ok(Report { bench: "a2a", rows: vec![], goals, costs: vec![] })
}

// === impl World ===

impl World {
    async fn start() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let files = bundle_dir::read(&bundles().join("planning-agent")).map_err(|p| anyhow::anyhow!("{p}"))?;
        let bundle = Bundle::load(&files).map_err(|p| anyhow::anyhow!("{p}"))?;
        let authority = Authority::generate()?;
        let root_pem = authority.root_pem();
        std::fs::write(folder.path().join("planning-agent.ca.pem"), &root_pem)?;
        let text = std::fs::read_to_string(bundles().join("planning-agent.environment.yaml"))?;
        let path = folder.path().join("environment.yaml");
        let place = |text: &str| -> Result<Place> {
            std::fs::write(&path, text)?;
            Ok(Place::read(&path)?)
        };
        let first = place(&text)?;
        let trust = Trust::from_jwks(DEFAULT_ISSUER, AUDIENCE, &signer(&first)?.jwks())?;
        let card = bundle.card.as_ref().context("the bundle has no card")?.bytes.clone();
        let tls = Some(authority.issue(&[NAME])?);
        let agent = PlanningAgent::start(Config { tls, ..Config::new(card, trust) }).await?;
        // the agent is our own, and needs no patience
        let unlimited = text.replace("calls: 2000", "calls: 2000, rate_per_s: 0");
        ensure!(unlimited != text, "the shipped environment names no `calls: 2000`");
        let place = place(&unlimited.replace("127.0.0.1:9100", &agent.addr().to_string()))?;
        Ok(Self { bundle, place, environment: path.clone(), root_pem, agent, _folder: folder })
    }

    /// What `ostiary verify --record` does, up to the bytes of report and recordings.
    async fn verify(&self, round: u32) -> Result<Verified> {
        let watch = Stopwatch::start();
        let harness = Harness::standard();
        let mut surroundings = Surroundings::of(&self.place).await?;
        let logged =
            Arc::new(Logged::new(Arc::clone(&surroundings.ports.timer), Arc::clone(&surroundings.ports.clock)));
        surroundings.ports.timer = Arc::<Logged>::clone(&logged);
        let request = Request {
            bundle: &self.bundle,
            card_url: surroundings.card_url.as_deref(),
            // the agent is asked over A2A alone
            mcp: Vec::new(),
            environment: surroundings.facts.clone(),
            gate: None,
            only: Vec::new(),
            seed: 1,
            run_id: format!("bench-{round}"),
            started_at: SystemClock.now(),
            allowance: surroundings.allowance,
        };
        let run = drive(&harness, &request, &surroundings.ports, &NoSink).await;
        let report = judge(&harness, &run, &self.bundle, &JudgeOptions::default());
        let written = (serde_json::to_vec(&report)?, recording_file::write(&run));
        let took = watch.elapsed();
        ensure!(report.verdict == Outcome::Pass, "the honest agent must pass: {}", report.statement);
        ensure!(!written.0.is_empty() && !written.1.is_empty(), "nothing was written");
        let waits = logged.waits();
        let idle = span::idle(&span::exchanges(&run), &waits);
        let waited_ms = milliseconds(Duration::from_nanos(idle));
        Ok(Verified { run, busy_ms: milliseconds(took) - waited_ms, waited_ms, waits })
    }

    /// The most memory that the shipped program needs for it.
    async fn peak_mib(&self, ostiary: &Path) -> Result<f64> {
        let folder = bundles().join("planning-agent");
        let mut child = Command::new(ostiary)
            .arg("verify")
            .arg(folder)
            .arg("--env")
            .arg(&self.environment)
            .args(["--format", "json"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start `{}`", ostiary.display()))?;
        let status = format!("/proc/{}/status", child.id().context("it has ended")?);
        let mut peak: f64 = 0.0;
        let ended = loop {
            let kib = std::fs::read_to_string(&status).ok().and_then(|text| high_water(&text));
            peak = peak.max(kib.unwrap_or(0.0) / 1024.0);
            if let Some(ended) = child.try_wait()? {
                break ended;
            }
            tokio::time::sleep(LOOK).await;
        };
        ensure!(ended.success() && peak > 0.0, "`{}` ended with {ended}", ostiary.display());
        Ok(peak)
    }
}

/// Milliseconds of the bare client, without what it waits for because the run did.
async fn replayed(world: &World, verified: &Verified) -> Result<f64> {
    let surroundings = Surroundings::of(&world.place).await?;
    let replay = Replay::new(world.agent.addr(), (NAME, world.root_pem.as_str()), &verified.waits)?;
    let concurrency = surroundings.allowance.concurrency;
    let identity = Arc::clone(&surroundings.ports.identity);
    let watch = Stopwatch::start();
    let (exchanges, waits) = replay.run(&verified.run, identity.as_ref(), concurrency).await?;
    let took = watch.elapsed();
    Ok(milliseconds(took.saturating_sub(Duration::from_nanos(span::idle(&exchanges, &waits)))))
}

/// How much was done for each binding, which may not shrink.
fn done(run: &Run) -> Result<Vec<Goal>> {
    let mut by_profile = std::collections::BTreeMap::<&str, (usize, usize)>::new();
    for recording in &run.recordings {
        let Some(profile) = recording.axes.profile.as_deref() else { continue };
        let (drives, exchanges) = by_profile.entry(profile).or_default();
        *drives += 1;
        *exchanges += recording.exchanges().len();
    }
    ensure!(!by_profile.is_empty(), "nothing was driven");
    let mut goals = Vec::new();
    for (profile, (drives, exchanges)) in by_profile {
        let enough = drives >= LEAST.0 && exchanges >= LEAST.1;
        ensure!(enough, "{drives} drives and {exchanges} exchanges over {profile}: less than {LEAST:?}");
        for (what, n) in [("drives of scenarios", drives), ("exchanges", exchanges)] {
            let value = f64::from(u32::try_from(n)?);
            goals.push(Goal { name: format!("{what}, {profile}"), value, limit: f64::INFINITY });
        }
    }
    Ok(goals)
}

fn bundles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bundles")
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The most that was resident, in KiB, of a `/proc/<pid>/status`.
fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
