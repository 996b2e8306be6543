//! A quarantine on its way to the last watcher, against a bare broadcast stream; and what routers that ask meanwhile
//! notice of it.
//!
//! Server, watchers and askers are processes of their own. Both sides pay the same: the command is written, the last
//! watcher answers. A bare watcher reads a message; ours verifies what it must, applies it and acknowledges it.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;

use crate::{
    child::Server,
    cli::Plan,
    corpus::{self, Question},
    load::{Clients, Load, Shape},
    report::{Goal, Report},
    serve::{ECHO, TOKEN, WATCH},
    stats::median,
    stopwatch::Stopwatch,
};

/// Most bare broadcasts that a quarantine may take to be applied by the last watcher.
const FAN_OUT: f64 = 2.0;

/// Most times as long for five times as many watchers.
const LINEAR: f64 = 6.0;

/// Most times as long at the 99th percentile for who asks during it.
const UNARY: f64 = 3.0;

/// Most microseconds to publish one step.
const PUBLISH_US: f64 = 1_000.0;

/// Versions that each watcher keeps.
const VERSIONS: usize = 200;

/// Between two steps: heads of the last one have arrived and been verified.
const PAUSE: Duration = Duration::from_millis(700);

/// Between two steps while others ask.
const SHORT_PAUSE: Duration = Duration::from_millis(50);

/// Questions in flight beside the steps.
const IN_FLIGHT: usize = 16;

/// One server and those who watch it.
struct Side {
    name: &'static str,
    server: Server,
    watchers: Server,
    clients: Clients,
}

/// What the rounds gave.
#[derive(Default)]
struct Measured {
    fan_out: Vec<f64>,
    subject_ms: Vec<f64>,
    bare_ms: Vec<f64>,
    publish_us: Vec<f64>,
    unary: Vec<f64>,
    unary_bare: Vec<f64>,
}

/// Runs the benchmark.
pub async fn run(plan: &Plan) -> Result<Report> {
    let (number, steps, rounds) = if plan.quick { (20, 3, 1) } else { (1_000, 10, plan.rounds) };
    eprintln!("starting twice {number} watchers");
    let mut bare = Side::start(ECHO, number).await?;
    let mut subject = Side::start(WATCH, number).await?;
    let mut measured = Measured::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let (mut ours, mut theirs) = (vec![], vec![]);
        for step in 0..steps {
            // Who comes first alternates.
            for turn in [step % 2, (step + 1) % 2] {
                let (side, times) = if turn == 0 { (&mut bare, &mut theirs) } else { (&mut subject, &mut ours) };
                let (ms, publish_us) = side.step().await?;
                times.push(ms);
                if turn == 1 {
                    measured.publish_us.push(publish_us);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        let (ours, theirs) = (median(ours), median(theirs));
        measured.fan_out.push(ours / theirs);
        measured.subject_ms.push(ours);
        measured.bare_ms.push(theirs);
        measured.unary.push(subject.unary(plan).await?);
        measured.unary_bare.push(bare.unary(plan).await?);
    }
    drop(bare);
    let growth = if plan.quick { None } else { Some(growth(subject, number, &measured, steps).await?) };
    Ok(report(measured, growth, number, plan.quick))
}

/// How much longer it takes with five times as many watchers.
async fn growth(mut subject: Side, number: usize, measured: &Measured, steps: usize) -> Result<f64> {
    eprintln!("starting {number} x 5 watchers");
    drop(subject.watchers);
    subject.watchers = watchers(WATCH, &subject.server.address(WATCH)?, number * 5).await?;
    let mut times = vec![];
    for _ in 0..steps {
        times.push(subject.step().await?.0);
        tokio::time::sleep(PAUSE * 3).await;
    }
    Ok(median(times) / median(measured.subject_ms.clone()))
}

fn report(measured: Measured, growth: Option<f64>, number: usize, quick: bool) -> Report {
    let goal = |name: String, value, limit| Goal { name, value, limit: if quick { f64::INFINITY } else { limit } };
    let ours = median(measured.subject_ms);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let each = ours * 1e3 / number as f64;
    let mut goals = vec![
        goal(format!("quarantine to the last of {number}, in bare broadcasts"), median(measured.fan_out), FAN_OUT),
        goal("microseconds to publish a step".to_owned(), median(measured.publish_us), PUBLISH_US),
        goal("p99 of a check during fan-outs, in p99 without".to_owned(), median(measured.unary), UNARY),
    ];
    goals.extend(growth.map(|growth| goal("five times the watchers, in times as long".to_owned(), growth, LINEAR)));
    let told = |name: String, value| Goal { name, value, limit: f64::INFINITY };
    goals.extend([
        told(format!("milliseconds to the last of {number}, bare"), median(measured.bare_ms)),
        told(format!("milliseconds to the last of {number}, ours"), ours),
        told("microseconds for each watcher, ours".to_owned(), each),
        told("p99 of an echo during bare fan-outs, in p99 without".to_owned(), median(measured.unary_bare)),
    ]);
    Report { bench: "watch", rows: vec![], goals, costs: vec![] }
}

// === impl Side ===

impl Side {
    async fn start(name: &'static str, number: usize) -> Result<Self> {
        let arguments: &[String] = &match name {
            WATCH => vec![WATCH.to_owned(), VERSIONS.to_string()],
            _ => vec![ECHO.to_owned()],
        };
        let server = Server::start(arguments).await?;
        let address = server.address(name)?;
        let watchers = watchers(name, &address, number).await?;
        let clients = Clients::connect(&address, TOKEN).await?;
        Ok(Self { name, server, watchers, clients })
    }

    /// Makes one step; answers milliseconds until the last watcher has it, and microseconds to publish it.
    async fn step(&mut self) -> Result<(f64, f64)> {
        let step = self.server.ask("next").await?;
        let waiting = self.watchers.ask(&format!("expect {step}")).await?;
        ensure!(waiting == "waiting", "the watchers said `{waiting}`");
        let watch = Stopwatch::start();
        let made = self.server.ask("step").await?;
        let all = self.watchers.line().await?;
        let ms = watch.elapsed().as_secs_f64() * 1e3;
        ensure!(all == "all", "the watchers said `{all}`");
        let (cost, _) = made.split_once(' ').with_context(|| format!("the server said `{made}`"))?;
        Ok((ms, cost.parse()?))
    }

    /// The 99th percentile of a check while steps are made, divided by the same while none is.
    async fn unary(&mut self, plan: &Plan) -> Result<f64> {
        let questions: Arc<[Question]> = corpus::questions(VERSIONS).into();
        let duration = Duration::from_secs_f64(plan.seconds.max(1.0));
        let shape = Shape { in_flight: IN_FLIGHT, duration };
        let judged = self.name != ECHO;
        let mut quiet = self.clients.run(&questions, judged, shape).await?;
        let clients = self.clients.clone();
        let mut asking = JoinSet::new();
        asking.spawn(async move { clients.run(&questions, judged, shape).await });
        let asked = loop {
            if let Some(asked) = asking.try_join_next() {
                break asked;
            }
            self.step().await?;
            tokio::time::sleep(SHORT_PAUSE).await;
        };
        let mut during: Load = asked.context("the asker ended")??;
        Ok(during.p99_us() / quiet.p99_us())
    }
}

async fn watchers(name: &str, address: &str, number: usize) -> Result<Server> {
    let mut arguments = vec!["watchers".to_owned()];
    if name == WATCH {
        arguments.push("--routers".to_owned());
    }
    arguments.extend([address.to_owned(), number.to_string()]);
    Server::start(&arguments).await
}
