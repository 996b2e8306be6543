//! The `ostiary` binary; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostiary_cli::main()
}
