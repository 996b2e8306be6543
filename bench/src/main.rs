//! The bare baselines and the benchmark cases: `cargo xtask bench NAME` calls this program.
//!
//! A case never compares with a number of yesterday: baseline and subject run interleaved on the machine of the day, the
//! ratio is taken in each round, and the median of the rounds is judged. Servers run in processes of their own (this
//! program started again), so that their CPU time is theirs alone. Start with `check`.

mod a2a;
mod check;
mod child;
mod cli;
mod corpus;
mod lint;
mod load;
mod report;
mod rounds;
mod router;
mod serve;
mod start;
mod stats;
mod stopwatch;
mod watch;

use std::process::ExitCode;

/// As the program that is shipped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    cli::run().await
}
