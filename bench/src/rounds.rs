//! Rounds: baseline and subject take turns in short slices, so that a noisy second hits both.

use std::{sync::Arc, time::Duration};

use anyhow::Result;

use crate::{
    child::Server,
    corpus::Question,
    load::{Clients, Load, Shape},
};

/// Load before a measurement that is not counted: connections warm, workers awake.
const WARM_UP: Duration = Duration::from_millis(100);

/// Turns of each in one measurement. Other work on the machine comes and goes within seconds.
const SLICES: u32 = 8;

/// Something that is put under load.
pub struct Target {
    /// The name of what is served.
    pub name: &'static str,
    /// How many versions it holds.
    pub size: usize,
    /// Which server process.
    pub server: usize,
    /// Its clients.
    pub clients: Clients,
    /// What it is asked.
    pub questions: Arc<[Question]>,
    /// Whether its answers are compared with the expected ones.
    pub judged: bool,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Answers a second.
    pub throughput: f64,
    /// The 99th percentile in microseconds.
    pub p99_us: f64,
    /// Microseconds of server CPU for one answer.
    pub cpu_us: f64,
}

/// A subject and the baseline beside it.
#[derive(Clone, Copy, Debug)]
pub struct Paired {
    /// The subject.
    pub subject: Sample,
    /// The baseline.
    pub baseline: Sample,
}

/// One target while it is measured.
struct Turn<'a> {
    target: &'a Target,
    server: &'a Server,
    cpu_before: f64,
    load: Load,
}

/// Measures `subject` beside `baseline`, each for `duration`. They must not share a server process.
pub async fn pair(
    servers: &[Server],
    baseline: &Target,
    subject: &Target,
    in_flight: usize,
    duration: Duration,
) -> Result<Paired> {
    let shape = |duration| Shape { in_flight, duration };
    for target in [baseline, subject] {
        target.clients.run(&target.questions, target.judged, shape(WARM_UP)).await?;
    }
    // CPU is read once around all slices: the other one idles meanwhile, and the kernel's clock counts in steps.
    let mut baseline = Turn::new(servers, baseline)?;
    let mut subject = Turn::new(servers, subject)?;
    for slice in 0..SLICES {
        // Who comes first alternates too.
        let turns = if slice % 2 == 0 { [&mut baseline, &mut subject] } else { [&mut subject, &mut baseline] };
        for turn in turns {
            turn.slice(shape(duration / SLICES)).await?;
        }
    }
    Ok(Paired { subject: subject.sample()?, baseline: baseline.sample()? })
}

// === impl Turn ===

impl<'a> Turn<'a> {
    fn new(servers: &'a [Server], target: &'a Target) -> Result<Self> {
        let server = &servers[target.server];
        Ok(Self { target, server, cpu_before: server.cpu_seconds()?, load: Load::default() })
    }

    async fn slice(&mut self, shape: Shape) -> Result<()> {
        let load = self.target.clients.run(&self.target.questions, self.target.judged, shape).await?;
        self.load.add(load);
        Ok(())
    }

    fn sample(mut self) -> Result<Sample> {
        let cpu_seconds = self.server.cpu_seconds()? - self.cpu_before;
        let answers = self.load.answers();
        Ok(Sample {
            throughput: answers / self.load.seconds,
            p99_us: self.load.p99_us(),
            cpu_us: cpu_seconds * 1e6 / answers,
        })
    }
}
