//! The servers under load, each in a process of its own: ready line out, questions about itself in, ends with its input.

mod check;
mod costs;
mod echo;
mod queries;

use anyhow::{Context as _, Result};
use clap::Subcommand;
use ostiary_proto::admission::v1::admission_service_server::{AdmissionService, AdmissionServiceServer};
use tokio::{net::TcpListener, task::JoinSet};
use tonic::transport::{Server, server::TcpIncoming};

use self::queries::Queries;
use crate::child::Ready;

/// The echo's name.
pub const ECHO: &str = "echo";
/// The name of the decision alone.
pub const DECISION: &str = "decision";
/// The name of the product as it ships.
pub const SHIPPED: &str = "shipped";
/// The router's token in this benchmark.
pub const TOKEN: &str = "a-router-token-of-the-benchmark";

/// Largest question that is read; the product's own limit.
const QUESTION: usize = 16 << 10;

/// What to serve.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum What {
    /// The bare echo
    Echo,
    /// The decision alone, and the product as it ships, over the same versions
    Check {
        /// How many versions
        versions: usize,
    },
}

/// Serves until the input ends.
pub async fn run(what: What) -> Result<()> {
    let queries = Queries::counted();
    let mut tasks = JoinSet::new();
    let (ready, _kept) = match what {
        What::Echo => {
            let mut ready = Ready::default();
            ready.ports.insert(ECHO.to_owned(), serve(&mut tasks, echo::Echo).await?);
            (ready, None)
        }
        What::Check { versions } => {
            let (ready, kept) = check::serve(&mut tasks, versions).await?;
            (ready, Some(kept))
        }
    };
    println!("{}", serde_json::to_string(&ready)?);
    // This thread only waits for its input; the workers serve.
    tokio::task::block_in_place(|| {
        for line in std::io::stdin().lines() {
            match line.context("failed to read the input")?.as_str() {
                "queries" => println!("{}", queries.count()),
                other => anyhow::bail!("`{other}` is no question to a server"),
            }
        }
        Ok(())
    })
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
