//! Compiles the `.proto` files with protox, a compiler written in Rust, so that nobody has to install `protoc`.

use std::{error::Error, fs, path::PathBuf};

use protox::prost::Message as _;

const FILES: [&str; 2] = ["ostiary/admission/v1/admission.proto", "ostiary/jobs/v1/jobs.proto"];

#[expect(clippy::disallowed_methods, reason = "OUT_DIR is how cargo tells a build script where to write")]
fn main() -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(FILES, ["."])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".ostiary.jobs.v1").compile_fds(descriptors)?;
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
    }
    Ok(())
}
