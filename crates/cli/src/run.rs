//! From the process's arguments to its exit code.

use std::{io::IsTerminal as _, process::ExitCode};

use clap::Parser as _;
use ostiary_verify::output;
use tokio::runtime::Runtime;
use tracing_subscriber::EnvFilter;

use crate::{
    commands::Cli,
    console::{Console, Format},
    error::CliError,
    exit::Exit,
};

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let console = Console::new(cli.format);
    let ended = log(&cli.log).and_then(|()| in_runtime(cli, console));
    ended.unwrap_or_else(|error| complain(console, &error)).into()
}

fn in_runtime(cli: Cli, console: Console) -> Result<Exit, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| CliError::because("cannot start", &e))?;
    to_its_end(runtime, cli.command.run(console))
}

/// Runs a command, and leaves behind what still computes when it has ended: the judge of a server that was told to stop
/// cannot be interrupted, and would hold the process for as long as it likes.
fn to_its_end<T>(runtime: Runtime, command: impl Future<Output = T>) -> T {
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}

/// Logs go to standard error, so that standard output is the result and nothing else.
fn log(filter: &str) -> Result<(), CliError> {
    let filter = EnvFilter::try_new(filter).map_err(|e| {
        CliError::usage(format!("`{filter}` is no log filter: {e}")).hint("write `info`, or `ostiary_server=debug`")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // colour codes in a file or a collector are noise
    if std::io::stderr().is_terminal() {
        log.init()
    } else {
        log.with_ansi(false).init()
    }
    Ok(())
}

fn complain(console: Console, error: &CliError) -> Exit {
    let said = error.to_string();
    match console.format() {
        Format::Human => {}
        Format::Json | Format::Jsonl => {
            console.document(&error.to_json(), console.format() == Format::Json);
            return error.exit();
        }
        // whoever collects the document must not find an old one, or a green one
        Format::Junit => console.text(&output::junit_broken(&said)),
        Format::Sarif => console.document(&output::sarif_broken(&said), true),
        Format::Markdown => console.text(&output::markdown_broken(&said)),
    }
    console.complain(&said);
    error.exit()
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::{Runtime, to_its_end};

    #[test]
    fn a_judge_at_work_does_not_hold_the_process() {
        let (ended, end) = mpsc::channel();
        let (busy, work) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let runtime = Runtime::new().expect("it starts");
            let command = async move {
                // works until this test is over
                let judge = move || work.recv().is_err();
                drop(tokio::task::spawn_blocking(judge));
                "ended"
            };
            ended.send(to_its_end(runtime, command)).expect("the test waits");
        });
        assert_eq!(end.recv_timeout(Duration::from_secs(5)), Ok("ended"));
        drop(busy);
    }
}
