//! The servers under load, each in a process of its own: ready line out, questions about itself in, ends with its input.

mod check;
mod costs;
mod echo;
mod queries;
mod watch;
mod watchers;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use ostiary_proto::admission::v1::admission_service_server::{AdmissionService, AdmissionServiceServer};
use tokio::{net::TcpListener, task::JoinSet};
use tonic::transport::{Server, server::TcpIncoming};

pub use self::watch::SEED;
use self::{echo::Echo, queries::Queries, watch::Steps, watchers::Watchers};
use crate::child::Ready;

/// The echo's name.
pub const ECHO: &str = "echo";
/// The name of the decision alone.
pub const DECISION: &str = "decision";
/// The name of the product as it ships.
pub const SHIPPED: &str = "shipped";
/// The name of the watched hub.
pub const WATCH: &str = "watch";
/// The router's token in this benchmark.
pub const TOKEN: &str = "a-router-token-of-the-benchmark";

/// Largest question that is read; the product's own limit.
const QUESTION: usize = 16 << 10;

/// What to serve.
#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// The bare echo
    Echo,
    /// The decision alone, and the product as it ships, over the same versions
    Check {
        /// How many versions
        versions: usize,
    },
    /// What routers watch
    Watch {
        /// How many versions
        versions: usize,
    },
    /// Not a server at all: those who watch one
    Watchers {
        /// Router libraries, rather than bare readers
        #[arg(long)]
        routers: bool,
        /// The server
        address: String,
        /// How many
        number: usize,
    },
}

/// What is served, as far as it can be asked to do something.
enum Served {
    Echo(Echo, u64),
    Check(#[expect(dead_code, reason = "it is only kept alive")] check::Kept),
    Watch(Steps),
    Watchers(Watchers),
}

/// Serves until the input ends.
pub async fn run(what: What) -> Result<()> {
    let queries = Queries::counted();
    let mut tasks = JoinSet::new();
    let (ready, mut served) = start(&mut tasks, what).await?;
    println!("{}", serde_json::to_string(&ready)?);
    // This thread only waits for its input; the workers serve.
    let runtime = tokio::runtime::Handle::current();
    tokio::task::block_in_place(|| {
        for line in std::io::stdin().lines() {
            let line = line.context("failed to read the input")?;
            match line.as_str() {
                "queries" => println!("{}", queries.count()),
                command => runtime.block_on(served.obey(command))?,
            }
        }
        Ok(())
    })
}

async fn start(tasks: &mut JoinSet<Result<()>>, what: What) -> Result<(Ready, Served)> {
    Ok(match what {
        What::Echo => {
            let mut ready = Ready::default();
            let echo = Echo::new();
            ready.ports.insert(ECHO.to_owned(), serve(tasks, echo.clone()).await?);
            (ready, Served::Echo(echo, 0))
        }
        What::Check { versions } => {
            let (ready, kept) = check::serve(tasks, versions).await?;
            (ready, Served::Check(kept))
        }
        What::Watch { versions } => {
            let (ready, steps) = watch::serve(tasks, versions).await?;
            (ready, Served::Watch(steps))
        }
        What::Watchers { routers, address, number } => {
            let watchers = match routers {
                true => Watchers::routers(&address, number).await?,
                false => Watchers::bare(tasks, &address, number).await?,
            };
            (Ready::default(), Served::Watchers(watchers))
        }
    })
}

// === impl Served ===

impl Served {
    /// `next`: which step would be next. `step`: makes it, answers what it cost in microseconds. `expect N`: waits until all watchers have seen step
    /// N; answers twice, when it waits and when they have.
    async fn obey(&mut self, command: &str) -> Result<()> {
        match (self, command.split_once(' ').unwrap_or((command, ""))) {
            (Self::Echo(echo, step), ("step", _)) => {
                *step += 1;
                echo.step(*step);
                println!("0 {step}");
            }
            (Self::Echo(_, step), ("next", _)) => println!("{}", *step + 1),
            (Self::Watch(steps), ("next", _)) => println!("{}", steps.next()),
            (Self::Watch(steps), ("step", _)) => {
                let (cost, step) = steps.step()?;
                println!("{cost} {step}");
            }
            (Self::Watchers(watchers), ("expect", step)) => {
                watchers.expect(step.parse().with_context(|| format!("`{step}` is no step"))?);
                println!("waiting");
                watchers.all().await?;
                println!("all");
            }
            (_, (other, _)) => anyhow::bail!("`{other}` is no command here"),
        }
        Ok(())
    }
}

/// Serves one admission service on a port of its own, the same way for baseline and subject.
async fn serve(tasks: &mut JoinSet<Result<()>>, service: impl AdmissionService) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("failed to listen")?;
    let port = listener.local_addr()?.port();
    let service = AdmissionServiceServer::new(service).max_decoding_message_size(QUESTION);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tasks.spawn(async move { Ok(Server::builder().add_service(service).serve_with_incoming(incoming).await?) });
    Ok(port)
}
