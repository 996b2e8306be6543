//! CheckAdmission against a bare echo.
//!
//! The echo speaks the same service over the same transport, reads the same questions and builds an answer of the same
//! size; what is left between the two is what Ostiary adds to a call.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use ostiary_proto::admission::v1::{Consistency, FullyConsistent, consistency::Requirement};

use crate::{
    child::Server,
    cli::Plan,
    corpus::{self, Question},
    load::Clients,
    report::{Goal, Report, Row},
    rounds::{Paired, Target, pair},
    serve::{DECISION, ECHO, SHIPPED, TOKEN},
    stats::median,
};

/// Least share of the echo's throughput that the decision alone must reach.
const DECISION_GOAL: f64 = 0.9;

/// The same for the product as it ships.
const SHIPPED_GOAL: f64 = 0.8;

/// Most CPU per answer at the largest size, relative to the smallest.
const GROWTH_LIMIT: f64 = 1.10;

/// Questions in flight.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];

/// Everything under load: the servers, and per subject the baseline with the same questions.
struct Field {
    servers: Vec<Server>,
    baseline: Vec<Target>,
    subjects: Vec<Target>,
}

/// All rounds of one number of questions in flight; a column is a subject.
type Columns = Vec<Vec<Paired>>;

/// Runs the benchmark.
pub async fn run(plan: &Plan) -> Result<Report> {
    let (sizes, rounds): (&[usize], _) =
        if plan.quick { (&[1_000, 20_000], 1) } else { (&[1_000, 100_000, 1_000_000], plan.rounds) };
    let seconds = if plan.quick { plan.seconds.min(0.4) } else { plan.seconds };
    ensure!(seconds >= 0.1, "each measurement needs at least 0.1 seconds");
    let mut field = Field::start(sizes).await?;
    let before = field.queries().await?;
    let mut report = Report { bench: "check", rows: vec![], goals: vec![], costs: field.costs() };
    for in_flight in IN_FLIGHT {
        let mut columns: Columns = field.subjects.iter().map(|_| Vec::new()).collect();
        for number in 1..=rounds {
            eprintln!("{in_flight} in flight, round {number} of {rounds}");
            let duration = Duration::from_secs_f64(seconds);
            for ((subject, echo), column) in field.subjects.iter().zip(&field.baseline).zip(&mut columns) {
                column.push(pair(&field.servers, echo, subject, in_flight, duration).await?);
            }
        }
        for (subject, column) in field.subjects.iter().zip(&columns) {
            report.rows.push(Row { goal_throughput: goal(subject.name, plan), ..row(subject, in_flight, column) });
        }
        if !plan.quick {
            report.goals.extend(growth(&field.subjects, in_flight, &columns));
        }
    }
    let made = field.queries().await? - before;
    #[expect(clippy::cast_precision_loss, reason = "a count that must be zero")]
    report.goals.push(Goal { name: "database queries during all checks".to_owned(), value: made as f64, limit: 0.0 });
    field.prove_the_counter().await?;
    let shards = report.costs.iter().map(|costs| costs.publish_shards).max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    report.goals.push(Goal {
        name: "shards copied to publish one version".to_owned(),
        value: shards as f64,
        limit: 1.0,
    });
    Ok(report)
}

// === impl Field ===

impl Field {
    async fn start(sizes: &[usize]) -> Result<Self> {
        eprintln!("starting an echo and servers with {sizes:?} versions");
        let mut field =
            Self { servers: vec![Server::start(&["echo".to_owned()]).await?], baseline: vec![], subjects: vec![] };
        for &size in sizes {
            let questions: Arc<[Question]> = corpus::questions(size).into();
            field.servers.push(Server::start(&["check".to_owned(), size.to_string()]).await?);
            let server = field.servers.len() - 1;
            for name in [DECISION, SHIPPED] {
                field.subjects.push(field.target(name, size, server, &questions).await?);
                field.baseline.push(field.target(ECHO, size, 0, &questions).await?);
            }
        }
        Ok(field)
    }

    async fn target(
        &self,
        name: &'static str,
        size: usize,
        server: usize,
        questions: &Arc<[Question]>,
    ) -> Result<Target> {
        let clients = Clients::connect(&self.servers[server].address(name)?, TOKEN).await?;
        Ok(Target { name, size, server, clients, questions: Arc::clone(questions), judged: name != ECHO })
    }

    fn costs(&self) -> Vec<crate::child::Costs> {
        self.servers.iter().filter_map(|server| server.ready.costs.clone()).collect()
    }

    async fn queries(&mut self) -> Result<u64> {
        let mut sum = 0;
        for server in &mut self.servers {
            sum += server.queries().await?;
        }
        Ok(sum)
    }

    /// A question that may not be answered from memory must be counted, or the count of zero would mean nothing.
    async fn prove_the_counter(&mut self) -> Result<()> {
        let before = self.queries().await?;
        for target in self.subjects.iter().filter(|target| target.name == SHIPPED) {
            let mut question = target.questions[QUESTION_THAT_IS_ALLOWED].request.clone();
            let requirement = Some(Requirement::FullyConsistent(FullyConsistent {}));
            question.consistency = Some(Consistency { requirement });
            target.clients.ask(question).await?;
        }
        let counted = self.queries().await? - before;
        ensure!(counted > 0, "the counter of database queries counts nothing");
        Ok(())
    }
}

/// Any that is not among the denied ones.
const QUESTION_THAT_IS_ALLOWED: usize = 10;

/// One short round says nothing about speed: a quick run only checks answers, queries and shards.
fn goal(variant: &str, plan: &Plan) -> f64 {
    match variant {
        _ if plan.quick => 0.0,
        DECISION => DECISION_GOAL,
        _ => SHIPPED_GOAL,
    }
}

fn row(subject: &Target, in_flight: usize, column: &[Paired]) -> Row {
    let of = |ratio: fn(&Paired) -> f64| median(column.iter().map(ratio).collect());
    Row {
        case: format!("{}/{in_flight}", short(subject.size)),
        variant: subject.name,
        ratio_throughput: of(|p| p.subject.throughput / p.baseline.throughput),
        ratio_p99: of(|p| p.subject.p99_us / p.baseline.p99_us),
        ratio_cpu: of(|p| p.subject.cpu_us / p.baseline.cpu_us),
        rounds: u32::try_from(column.len()).unwrap_or(u32::MAX),
        goal_throughput: 0.0,
        throughput: of(|p| p.subject.throughput),
        cpu_us: of(|p| p.subject.cpu_us),
    }
}

/// How CPU per answer grows from the smallest to the largest size, by variant: the ratio in each round, both relative to
/// the echo beside them.
fn growth(subjects: &[Target], in_flight: usize, columns: &[Vec<Paired>]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for variant in [DECISION, SHIPPED] {
        let mut of_variant = subjects.iter().zip(columns).filter(|(subject, _)| subject.name == variant);
        let (Some((small, least)), Some((large, most))) = (of_variant.next(), of_variant.next_back()) else { continue };
        let relative = |paired: &Paired| paired.subject.cpu_us / paired.baseline.cpu_us;
        let ratios = least.iter().zip(most).map(|(least, most)| relative(most) / relative(least)).collect();
        goals.push(Goal {
            name: format!("{variant}, {in_flight} in flight: CPU at {} / at {}", short(large.size), short(small.size)),
            value: median(ratios),
            limit: GROWTH_LIMIT,
        });
    }
    goals
}

fn short(size: usize) -> String {
    match size {
        1_000_000.. => format!("{}M", size / 1_000_000),
        1_000.. => format!("{}k", size / 1_000),
        _ => size.to_string(),
    }
}
