//! Compiles the `.proto` files with protox, a compiler written in Rust, so that nobody has to install `protoc`.

use std::{error::Error, fs, path::PathBuf};

use protox::prost::Message as _;

const FILES: [&str; 5] = [
    "ostiary/admission/v1/admission.proto",
    "ostiary/admission/v1/types.proto",
    "ostiary/admission/v1/watch.proto",
    "ostiary/drift/v1/drift.proto",
    "ostiary/jobs/v1/jobs.proto",
];

/// Bytes that are passed on as they came: sharing them costs no copy.
const SHARED: [&str; 2] = [".ostiary.jobs.v1", ".ostiary.admission.v1"];

/// Clients and servers are left out for whoever only needs the messages.
const RPC: &str = "#[cfg(feature = \"rpc\")]";

#[expect(clippy::disallowed_methods, reason = "OUT_DIR is how cargo tells a build script where to write")]
fn main() -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(FILES, ["."])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut code = tonic_prost_build::configure().client_mod_attribute(".", RPC).server_mod_attribute(".", RPC);
    code = code.boxed(".ostiary.admission.v1.Entry.entry.record");
    for path in SHARED {
        code = code.bytes(path);
    }
    code.compile_fds(descriptors)?;
    for file in FILES {
        println!("cargo::rerun-if-changed={file}");
    }
    Ok(())
}
