//! The `ostiary` binary; everything it does is in the library.

use std::process::ExitCode;

/// Many threads allocate at once where a thousand streams are served.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ostiary_cli::main()
}
