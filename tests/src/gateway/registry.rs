//! The installation: an agent on the official SDK, admitted as its README says, and sidecars.

use std::{fs, net::SocketAddr, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    program::{self, Running},
    target::{SdkAgent, get, root},
};

/// The agent.
pub const AGENT: &str = "acme/text-statistics";
/// Its version.
pub const VERSION: &str = "1.0.0";
/// What it was verified for.
pub const PROFILE: &str = "a2a-jsonrpc-1.0";

const SCRIPT: &str = "text_statistics_agent.py";

/// Callers of the control plane: name, role, namespaces.
const CALLERS: [(&str, &str, &str); 3] = [("admin", "admin", "*"), ("router", "router", "*"), ("far", "router", "far")];

/// A control plane with one admitted agent.
pub struct Registry {
    agent: SdkAgent,
    server: Running,
    folder: TempDir,
    /// Of the agent's card.
    pub digest: String,
}

/// A sidecar.
pub struct Sidecar {
    running: Running,
}

// === impl Registry ===

impl Registry {
    /// Starts agent and control plane, and admits the agent up to ACTIVE by real verification.
    ///
    /// # Errors
    /// When any of it fails.
    pub fn start() -> Result<Self> {
        let mut registry = Self::bare()?;
        registry.admit()?;
        Ok(registry)
    }

    /// Starts agent and control plane, which knows nothing of it.
    ///
    /// # Errors
    /// When any of it fails.
    pub fn bare() -> Result<Self> {
        let agent = SdkAgent::python(SCRIPT, &[])?;
        let folder = TempDir::new().context("failed to make a folder")?;
        let server = serve(&folder)?;
        Ok(Self { agent, server, folder, digest: String::new() })
    }

    /// Where the agent listens.
    #[must_use]
    pub const fn agent(&self) -> SocketAddr {
        self.agent.address()
    }

    /// Address of the gRPC API.
    ///
    /// # Errors
    /// Never, for a server that came up.
    pub fn grpc(&self) -> Result<&str> {
        self.server.said["grpc"].as_str().context("the server names no gRPC address")
    }

    /// Where the HTTP API listens.
    ///
    /// # Errors
    /// Never, for a server that came up.
    pub fn http(&self) -> Result<SocketAddr> {
        let url = self.server.said["http"].as_str().context("the server names no HTTP address")?;
        Ok(url.trim_start_matches("http://").parse()?)
    }

    /// The file with the control plane's keys, as a sidecar takes it.
    ///
    /// # Errors
    /// When the control plane does not serve them.
    pub fn trust(&self) -> Result<PathBuf> {
        let file = self.folder.path().join("keys.json");
        let answer = get(self.http()?, "/.well-known/ostiary-keys.json")?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        fs::write(&file, body)?;
        Ok(file)
    }

    /// A folder that goes with this installation.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Runs a command as the administrator; it must end well.
    ///
    /// # Errors
    /// When it does not.
    pub fn admin(&self, arguments: &[&str]) -> Result<Value> {
        let (code, said) = self.try_admin(arguments)?;
        ensure!(code == 0, "ostiary {arguments:?} ended with {code}: {said:#}");
        Ok(said)
    }

    /// Runs a command as the administrator: exit code and what it said.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn try_admin(&self, arguments: &[&str]) -> Result<(i32, Value)> {
        let token = self.folder.path().join("admin");
        let token = token.to_str().context("the folder's name is not UTF-8")?;
        let server = self.server.said["http"].as_str().context("the server names no HTTP address")?;
        program::json(&[arguments, &["--server", server, "--token-file", token]].concat())
    }

    /// Takes the agent's version off the road: the revision at which it is.
    ///
    /// # Errors
    /// When it is refused.
    pub fn quarantine(&self) -> Result<u64> {
        let done =
            self.admin(&["version", "quarantine", "--agent", AGENT, "--version", VERSION, "--reason", "test"])?;
        done["revision"].as_u64().with_context(|| format!("no revision: {done}"))
    }

    /// Starts a sidecar on free ports, or with these arguments.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn sidecar(&self, more: &[&str]) -> Result<Sidecar> {
        let trust = self.trust()?;
        let trust = trust.to_str().context("the folder's name is not UTF-8")?;
        let mut arguments = vec!["sidecar", "--token-env", "ROUTER_TOKEN", "--trust", trust];
        for (name, value) in [("--control-plane", self.grpc()?), ("--listen", "127.0.0.1:0"), ("--http", "127.0.0.1:0")]
        {
            if !more.contains(&name) {
                arguments.extend([name, value]);
            }
        }
        arguments.extend(more);
        let running = Running::start_with(&arguments, &[("ROUTER_TOKEN", &token("router"))])?;
        Ok(Sidecar { running })
    }

    fn admit(&mut self) -> Result<()> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let (bundle, environment) = (path("my-agent"), path("my-agent.environment.yaml"));
        let card = format!("http://{}/.well-known/agent-card.json", self.agent.address());
        let artifact = root().join("tests/targets/python").join(SCRIPT).display().to_string();
        let init = ["bundle", "init", "--card", &card, "--allow-private", "--allow-insecure-http"];
        let (code, said) = program::json(&[&init[..], &["--artifact", &artifact, "--out", &bundle]].concat())?;
        ensure!(code == 0, "no bundle: {said:#}");
        self.admin(&["namespace", "put", "acme"])?;
        self.admin(&["agent", "create", AGENT])?;
        self.admin(&["environment", "put", &environment])?;
        let env = "text-statistics";
        self.admin(&["version", "submit", "--namespace", "acme", "--bundle", &bundle, "--env", env, "--wait"])?;
        let which = ["version", "promote", "--agent", AGENT, "--version", VERSION, "--reason", "test", "--wait"];
        for to in ["canary", "active"] {
            self.admin(&[&which[..], &["--to", to]].concat())?;
        }
        let (_, digest) = program::json(&["card", "digest", &format!("{bundle}/agent-card.json")])?;
        self.digest = digest["card_digest"].as_str().context("no digest")?.to_owned();
        Ok(())
    }
}

// === impl Sidecar ===

impl Sidecar {
    /// What it printed when it was ready.
    #[must_use]
    pub const fn said(&self) -> &Value {
        &self.running.said
    }

    /// Where it serves gRPC, as printed.
    ///
    /// # Errors
    /// Never, for one that came up.
    pub fn grpc(&self) -> Result<&str> {
        self.running.said["grpc"].as_str().context("the sidecar names no gRPC address")
    }

    /// Where it serves HTTP.
    ///
    /// # Errors
    /// When that is a path.
    pub fn http(&self) -> Result<SocketAddr> {
        Ok(self.running.said["http"].as_str().context("the sidecar names no HTTP address")?.parse()?)
    }
}

/// The question about the agent, as a gateway's operator writes it into a URL.
#[must_use]
pub fn registered(digest: &str) -> String {
    format!("agent={AGENT}&version={VERSION}&card-digest={digest}&profile={PROFILE}")
}

/// The token of a caller: `admin`, `router`, or `far` for a router of another namespace.
#[must_use]
pub fn token(caller: &str) -> String {
    format!("token-of-{caller}-for-this-test")
}

fn serve(folder: &TempDir) -> Result<Running> {
    let at = |name: &str| folder.path().join(name).display().to_string();
    let mut config = format!("data_dir: {}\ndevelopment_namespaces: [acme]\n", at("data"));
    config.push_str("http: { listen: \"127.0.0.1:0\" }\ngrpc: { listen: \"127.0.0.1:0\" }\ntokens:\n");
    for (name, role, namespace) in CALLERS {
        fs::write(at(name), token(name))?;
        config.push_str(&format!(
            "  - {{ name: {name}, file: {}, person: {}, roles: [{role}], namespaces: [\"{namespace}\"] }}\n",
            at(name),
            role == "admin"
        ));
    }
    fs::write(at("ostiary.yaml"), config)?;
    Running::start(&["serve", "--config", &at("ostiary.yaml")])
}
