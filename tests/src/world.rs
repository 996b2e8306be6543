//! An SDK agent, its bundle and an environment for it, laid out as a user would have them: as files.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use ostiary_lab::double::token::TokenSigner;
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    program,
    target::{SdkAgent, free_address, root},
};

pub mod pushing;
mod variants;

/// Where the cards of the test agents say that they are; connections are led to the agent, or to a proxy before it.
pub const DECLARED: &str = "text.example.test:8080";

/// Where the card of the agent with three bindings says that it speaks gRPC.
pub const DECLARED_GRPC: &str = "text.example.test:8081";

/// Who signs the tokens of the protected agent.
const ISSUER: &str = "https://issuer.example.test";

/// For whom the tokens are.
const AUDIENCE: &str = "text-statistics";

/// The seed of the synthetic issuer's key.
const SEED: [u8; 32] = [7; 32];

/// A running agent with its bundle and the folder that its environments are written to.
pub struct World {
    agent: SdkAgent,
    folder: TempDir,
    bundle: PathBuf,
    identity: Option<String>,
    grpc: Option<SocketAddr>,
}

// === impl World ===

impl World {
    /// The text statistics agent on the official SDK, open to everybody.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn open() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let agent = SdkAgent::python("text_statistics_agent.py", &["--public-url", &url("/rpc")])?;
        let bundle = layered(folder.path(), &["text-statistics"])?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: None })
    }

    /// The same agent, whose results have claims with sources and a picture; `more` says how, and what is wrong with them.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn charting(more: &[&str]) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let public = url("/rpc");
        let agent = SdkAgent::python("text_statistics_agent.py", &[&["--public-url", &public], more].concat())?;
        let bundle = layered(folder.path(), &["text-statistics", "text-statistics-chart"])?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: None })
    }

    /// The same agent, taking only the tokens of a synthetic issuer.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn protected() -> Result<Self> {
        Self::protected_with(&[])
    }

    /// The same; `more` are further arguments of its own.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn protected_with(more: &[&str]) -> Result<Self> {
        Self::with_tokens(&["text-statistics", "text-statistics-protected"], None, more)
    }

    /// The same agent with all three bindings; `more` are further arguments of its own.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn bindings(more: &[&str]) -> Result<Self> {
        let layers = ["text-statistics", "text-statistics-protected", "text-statistics-bindings"];
        let grpc = free_address()?;
        let (port, rest) = (grpc.port().to_string(), url("/rest"));
        let arguments = ["--rest-url", &rest, "--grpc-port", &port, "--grpc-url", DECLARED_GRPC];
        Self::with_tokens(&layers, Some(grpc), &[&arguments, more].concat())
    }

    /// The same agent, looking the keys of a synthetic issuer up by discovery; it signs with `algorithm`.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn discovering(algorithm: &str) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let serve = free_address()?;
        let issuer = format!("http://{serve}");
        let identity = format!("key_file: seed.hex, serve: '{serve}', algorithm: {algorithm}, audience: {AUDIENCE}");
        let layers = ["text-statistics", "text-statistics-protected"];
        Self::taking_tokens(folder, &layers, &["--discover", "--issuer", &issuer], identity)
    }

    fn with_tokens(layers: &[&str], grpc: Option<SocketAddr>, more: &[&str]) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let keys = folder.path().join("jwks.json");
        fs::write(&keys, TokenSigner::from_seed(SEED).jwks().to_string()).context("failed to write the keys")?;
        let keys = keys.to_str().context("the folder's name is not UTF-8")?;
        let identity = format!("key_file: seed.hex, token_issuer: {ISSUER}, audience: {AUDIENCE}");
        let arguments = [&["--jwks", keys, "--issuer", ISSUER], more].concat();
        Ok(Self { grpc, ..Self::taking_tokens(folder, layers, &arguments, identity)? })
    }

    fn taking_tokens(folder: TempDir, layers: &[&str], more: &[&str], identity: String) -> Result<Self> {
        fs::write(folder.path().join("seed.hex"), SEED.map(|b| format!("{b:02x}")).concat())?;
        let public = url("/rpc");
        let arguments = [&["--public-url", &public, "--audience", AUDIENCE], more].concat();
        let agent = SdkAgent::python("text_statistics_agent.py", &arguments)?;
        let bundle = layered(folder.path(), layers)?;
        fs::remove_file(bundle.join("authorization.yaml")).context("failed to take back `public: true`")?;
        Ok(Self { agent, folder, bundle, identity: Some(identity), grpc: None })
    }

    /// An agent on the published framework `fasta2a`.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn fasta2a() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let agent = SdkAgent::python("fasta2a_agent.py", &["--public-url", &url("/")])?;
        let bundle = layered(folder.path(), &["text-statistics", "fasta2a"])?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: None })
    }

    /// The text statistics agent on the official JavaScript SDK, open to everybody.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn javascript() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let agent = SdkAgent::javascript("text_statistics_agent.mjs", &["--public-url", &url("/rpc")])?;
        let bundle = layered(folder.path(), &["text-statistics", "javascript"])?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: None })
    }

    /// The same agent with all three bindings.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn javascript_bindings() -> Result<Self> {
        Self::javascript_bindings_with(&[])
    }

    /// The same; `more` are further arguments of its own.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn javascript_bindings_with(more: &[&str]) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let grpc = free_address()?;
        let (port, rpc, rest) = (grpc.port().to_string(), url("/rpc"), url("/rest"));
        let places = ["--public-url", &rpc, "--rest-url", &rest, "--grpc-port", &port, "--grpc-url", DECLARED_GRPC];
        let agent = SdkAgent::javascript("text_statistics_agent.mjs", &[&places, more].concat())?;
        let bundle = layered(folder.path(), &["text-statistics", "javascript", "javascript-bindings"])?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: Some(grpc) })
    }

    /// The same world with a change of the card in its bundle, as the arguments of the agent have it.
    ///
    /// # Errors
    /// When the card cannot be read or written.
    pub fn declaring(self, change: impl FnOnce(&mut Value)) -> Result<Self> {
        let file = self.bundle.join("agent-card.json");
        let mut card = serde_json::from_slice(&fs::read(&file).context("failed to read the card")?)?;
        change(&mut card);
        fs::write(&file, card.to_string()).context("failed to write the card")?;
        Ok(self)
    }

    /// Where the agent really listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.agent.address()
    }

    /// Where the agent really speaks gRPC.
    #[must_use]
    pub const fn grpc(&self) -> Option<SocketAddr> {
        self.grpc
    }

    /// The bundle's folder.
    #[must_use]
    pub fn bundle(&self) -> &Path {
        &self.bundle
    }

    /// Writes an environment in which the declared address leads to `target`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn environment(&self, target: SocketAddr) -> Result<PathBuf> {
        self.environment_at(target, self.grpc)
    }

    /// The same, with the declared address of gRPC leading to `grpc`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn environment_at(&self, target: SocketAddr, grpc: Option<SocketAddr>) -> Result<PathBuf> {
        let file = self.folder.path().join(format!("environment-{}.yaml", target.port()));
        fs::write(&file, self.environment_text(target, grpc)).context("failed to write the environment")?;
        Ok(file)
    }

    /// `ostiary verify` as a user calls it, with the declared address leading to `target`: exit code and report.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn verify(&self, target: SocketAddr, more: &[&str]) -> Result<(i32, Value)> {
        self.verify_at(target, self.grpc, more)
    }

    /// The same, with the declared address of gRPC leading to `grpc`.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn verify_at(&self, target: SocketAddr, grpc: Option<SocketAddr>, more: &[&str]) -> Result<(i32, Value)> {
        let environment = self.environment_at(target, grpc)?;
        let bundle = self.bundle.to_str().context("the folder's name is not UTF-8")?;
        let environment = environment.to_str().context("the folder's name is not UTF-8")?;
        program::json(&[&["verify", bundle, "--env", environment], more].concat())
    }

    fn environment_text(&self, target: SocketAddr, grpc: Option<SocketAddr>) -> String {
        let grpc = grpc.map(|grpc| format!(", \"{DECLARED_GRPC}\": \"{grpc}\"")).unwrap_or_default();
        let identity = if let Some(identity) = &self.identity {
            format!(
                "  identity: {{ issuer: harness, {identity} }}
  subjects:
    user-a: {{ profile: user, tenant_class: standard, tenant: tenant-fixture-a }}
    user-b: {{ profile: user, tenant_class: standard, tenant: tenant-fixture-b }}
    expired-a: {{ profile: user, tenant_class: standard, tenant: tenant-fixture-a, expired: true }}
    foreign-a: {{ profile: user, tenant_class: standard, tenant: tenant-fixture-a, foreign: true }}
"
            )
        } else {
            String::new()
        };
        format!(
            "environment:
  name: test
  strictness: development
  connect_to: {{ \"{DECLARED}\": \"{target}\"{grpc} }}
  allow_insecure_http: true
  a2a: {{ card_url: \"http://{DECLARED}/.well-known/agent-card.json\" }}
{identity}  cleared_effects: [read, write]
"
        )
    }
}

fn url(path: &str) -> String {
    format!("http://{DECLARED}{path}")
}

/// One bundle out of several folders, later ones over earlier ones.
fn layered(folder: &Path, layers: &[&str]) -> Result<PathBuf> {
    let bundle = folder.join("bundle");
    for layer in layers {
        copy(&root().join("tests/bundles").join(layer), &bundle)?;
    }
    Ok(bundle)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("failed to make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to read {}", from.display()))? {
        let (source, target) = entry.map(|e| (e.path(), to.join(e.file_name())))?;
        if source.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target).with_context(|| format!("failed to copy {}", source.display()))?;
        }
    }
    Ok(())
}
