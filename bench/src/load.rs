//! The load generator: a fixed number of questions in flight, each answer checked.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use ostiary_proto::admission::v1::{CheckAdmissionRequest, admission_service_client::AdmissionServiceClient};
use tokio::task::JoinSet;
use tonic::{
    Request,
    metadata::{Ascii, MetadataValue},
    transport::{Channel, Endpoint},
};

use crate::{corpus::Question, stats, stopwatch::Stopwatch};

/// Connections of a loaded run: one would make HTTP/2 framing the bottleneck.
const CONNECTIONS: usize = 4;

/// Clients of one server, and what they send with every question.
#[derive(Clone)]
pub struct Clients {
    clients: Vec<AdmissionServiceClient<Channel>>,
    authorization: MetadataValue<Ascii>,
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Questions in flight.
    pub in_flight: usize,
    /// How long.
    pub duration: Duration,
}

/// What runs gave.
#[derive(Clone, Debug, Default)]
pub struct Load {
    /// Seconds.
    pub seconds: f64,
    /// The time of each answer in nanoseconds.
    times: Vec<u32>,
}

// === impl Clients ===

impl Clients {
    /// Connects to `address`.
    pub async fn connect(address: &str, token: &str) -> Result<Self> {
        let endpoint = Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true);
        let mut clients = Vec::with_capacity(CONNECTIONS);
        for _ in 0..CONNECTIONS {
            let channel = endpoint.connect().await.with_context(|| format!("failed to connect to {address}"))?;
            clients.push(AdmissionServiceClient::new(channel));
        }
        Ok(Self { clients, authorization: format!("Bearer {token}").parse()? })
    }

    /// One question.
    pub async fn ask(&self, question: CheckAdmissionRequest) -> Result<i32> {
        let mut client = self.clients[0].clone();
        let answer = client.check_admission(self.request(question)).await.context("a question failed")?;
        Ok(answer.into_inner().outcome)
    }

    /// Keeps `shape.in_flight` questions in flight until the time is over. With `judged`, each answer is compared with the
    /// expected one; an echo has no opinion.
    pub async fn run(&self, questions: &Arc<[Question]>, judged: bool, shape: Shape) -> Result<Load> {
        let connections = if shape.in_flight == 1 { 1 } else { CONNECTIONS };
        let watch = Stopwatch::start();
        let mut tasks = JoinSet::new();
        for task in 0..shape.in_flight {
            let asker = Asker {
                client: self.clients[task % connections].clone(),
                authorization: self.authorization.clone(),
                questions: Arc::clone(questions),
                next: questions.len() / shape.in_flight * task,
            };
            tasks.spawn(asker.run(watch, shape.duration, judged));
        }
        let mut times = Vec::new();
        while let Some(done) = tasks.join_next().await {
            times.append(&mut done.context("a task of the generator ended")??);
        }
        let seconds = watch.elapsed().as_secs_f64();
        ensure!(!times.is_empty(), "the run was too short for one answer");
        Ok(Load { seconds, times })
    }

    fn request(&self, question: CheckAdmissionRequest) -> Request<CheckAdmissionRequest> {
        authorized(question, &self.authorization)
    }
}

// === impl Load ===

impl Load {
    /// How many answers there were.
    #[expect(clippy::cast_precision_loss, reason = "counts of answers are far below 2^52")]
    pub fn answers(&self) -> f64 {
        self.times.len() as f64
    }

    /// The 99th percentile of the answer time, in microseconds.
    pub fn p99_us(&mut self) -> f64 {
        f64::from(stats::percentile(&mut self.times, 0.99)) / 1_000.0
    }

    /// Adds another run's answers and time.
    pub fn add(&mut self, mut other: Self) {
        self.seconds += other.seconds;
        self.times.append(&mut other.times);
    }
}

struct Asker {
    client: AdmissionServiceClient<Channel>,
    authorization: MetadataValue<Ascii>,
    questions: Arc<[Question]>,
    next: usize,
}

// === impl Asker ===

impl Asker {
    /// Asks one after the other; gives the answer times in nanoseconds.
    async fn run(mut self, watch: Stopwatch, duration: Duration, judged: bool) -> Result<Vec<u32>> {
        let mut times = Vec::with_capacity(1 << 14);
        while watch.elapsed() < duration {
            let question = &self.questions[self.next % self.questions.len()];
            self.next += 1;
            let (request, expected) = (question.request.clone(), i32::from(question.expected));
            let asked = Stopwatch::start();
            let answer = self.client.check_admission(authorized(request, &self.authorization)).await;
            times.push(u32::try_from(asked.elapsed().as_nanos()).unwrap_or(u32::MAX));
            let outcome = answer.context("a question failed")?.into_inner().outcome;
            ensure!(!judged || outcome == expected, "a question got another answer than it must get");
        }
        Ok(times)
    }
}

fn authorized(question: CheckAdmissionRequest, value: &MetadataValue<Ascii>) -> Request<CheckAdmissionRequest> {
    let mut request = Request::new(question);
    // Baselines get it too: all that differs between two runs is the server.
    request.metadata_mut().insert("authorization", value.clone());
    request
}
