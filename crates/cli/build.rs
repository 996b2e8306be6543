//! Puts the planning agent's bundle into the binary, so that the demo runs anywhere.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

#[expect(clippy::disallowed_methods, reason = "cargo talks to build scripts by environment variables")]
fn main() -> io::Result<()> {
    let variable = |name: &str| env::var(name).map(PathBuf::from).map_err(io::Error::other);
    let bundle = variable("CARGO_MANIFEST_DIR")?.join("../../bundles/planning-agent").canonicalize()?;
    println!("cargo::rerun-if-changed={}", bundle.display());
    let mut files = Vec::new();
    collect(&bundle, &mut files)?;
    files.sort();
    let mut source = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&bundle).map_err(io::Error::other)?.display().to_string();
        source.push_str(&format!("    ({name:?}, include_bytes!({:?})),\n", file.display().to_string()));
    }
    source.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("planning_agent.rs"), source)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
