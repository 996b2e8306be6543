//! The one binary `ostiary`: the control plane, the worker, the demo, and the commands of people and CI.
//!
//! Everything that decides lives elsewhere; here arguments become calls and results become lines, tables or JSON. Must
//! not know SQL, and must not judge anything itself.
//!
//! Start at [`commands::Cli`]; one file a group of commands. Exit codes are in [`Exit`], for every command and format.

mod api;
mod commands;
mod console;
mod demo;
mod error;
mod exit;
mod local;
mod progress;
mod report;
mod router;
mod run;
mod sidecar;
mod system;

pub use commands::Cli;
pub use error::CliError;
pub use exit::Exit;
pub use run::main;
