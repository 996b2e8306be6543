//! An agent that sends push notifications, with a receiver for them in its environments.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::{DECLARED_GRPC, World, layered, url};
use crate::{
    program,
    target::{SdkAgent, free_address},
};

/// A running agent, where its notifications are received, and the proxy that they leave by.
pub struct Pushing {
    world: World,
    receiver: SocketAddr,
    proxy: Option<SocketAddr>,
}

/// What an environment says beside where the agent is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// `production` instead of `development`.
    pub production: bool,
    /// Whether the receiver is said to be on the loopback, where it is; else it is said to be public.
    pub loopback: bool,
    /// Further members of `callbacks`.
    pub callbacks: &'a str,
    /// No receiver at all.
    pub nowhere: bool,
}

/// The bundle of the agent that pushes.
const LAYERS: [&str; 2] = ["text-statistics", "text-statistics-push"];

// === impl Pushing ===

impl Pushing {
    /// The text statistics agent on the official Python SDK, open to everybody; `more` are further arguments. It leaves by
    /// a proxy of the run.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn open(more: &[&str]) -> Result<Self> {
        let proxy = free_address()?;
        let by = format!("http://{proxy}");
        Ok(Self { proxy: Some(proxy), ..Self::python(&LAYERS, None, &[more, &["--push-proxy", &by]].concat())? })
    }

    /// The same, leaving by itself.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn by_itself(more: &[&str]) -> Result<Self> {
        Self::python(&LAYERS, None, more)
    }

    /// The same over all three bindings.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn bindings(more: &[&str]) -> Result<Self> {
        let grpc = free_address()?;
        let (port, rest) = (grpc.port().to_string(), url("/rest"));
        let arguments = [&["--rest-url", &rest, "--grpc-port", &port, "--grpc-url", DECLARED_GRPC], more].concat();
        let layers = [LAYERS[0], LAYERS[1], "text-statistics-push-bindings"];
        Self::python(&layers, Some(grpc), &arguments)
    }

    /// The same, with a guard that refuses every address that is not public, our receiver's included.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn guarded() -> Result<Self> {
        Self::started(&LAYERS, None, &["--push"], free_address()?)
    }

    /// The agent whose card declares no push notifications.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn undeclared(more: &[&str]) -> Result<Self> {
        let receiver = free_address()?;
        let to = format!("http://{receiver}/");
        Self::started(&LAYERS[..1], None, &[more, &["--push-to", &to]].concat(), receiver)
    }

    /// The text statistics agent on the official JavaScript SDK.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn javascript() -> Result<Self> {
        let (folder, receiver) = (TempDir::new().context("failed to make a folder")?, free_address()?);
        let (public, to) = (url("/rpc"), format!("http://{receiver}/"));
        let arguments = ["--public-url", &public, "--push", "--push-to", &to];
        let agent = SdkAgent::javascript("text_statistics_agent.mjs", &arguments)?;
        let bundle = layered(folder.path(), &["text-statistics", "javascript", "javascript-push"])?;
        let world = World { agent, folder, bundle, identity: None, grpc: None };
        Ok(Self { world, receiver, proxy: None })
    }

    /// The text statistics agent on the official Rust SDK, with what that leaves out mended.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn rust() -> Result<Self> {
        let (folder, receiver) = (TempDir::new().context("failed to make a folder")?, free_address()?);
        let (public, to) = (url("/rpc"), format!("http://{receiver}/"));
        let agent = SdkAgent::rust(&["--public-url", &public, "--push", "--push-to", &to])?;
        let bundle = layered(folder.path(), &["text-statistics", "rust", "rust-push"])?;
        let world = World { agent, folder, bundle, identity: None, grpc: None };
        Ok(Self { world, receiver, proxy: None })
    }

    fn python(layers: &[&str], grpc: Option<SocketAddr>, more: &[&str]) -> Result<Self> {
        let receiver = free_address()?;
        let to = format!("http://{receiver}/");
        Self::started(layers, grpc, &[&["--push", "--push-to", &to], more].concat(), receiver)
    }

    fn started(layers: &[&str], grpc: Option<SocketAddr>, more: &[&str], receiver: SocketAddr) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let public = url("/rpc");
        let agent = SdkAgent::python("text_statistics_agent.py", &[&["--public-url", &public], more].concat())?;
        let bundle = layered(folder.path(), layers)?;
        Ok(Self { world: World { agent, folder, bundle, identity: None, grpc }, receiver, proxy: None })
    }

    /// The folder of its environments.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.world.folder.path()
    }

    /// `ostiary verify` as a user calls it: exit code and report.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn verify(&self, place: Place<'_>, more: &[&str]) -> Result<(i32, Value)> {
        let environment = self.environment(place)?;
        let bundle = self.world.bundle.to_str().context("the folder's name is not UTF-8")?;
        let environment = environment.to_str().context("the folder's name is not UTF-8")?;
        program::json(&[&["verify", bundle, "--env", environment], more].concat())
    }

    fn environment(&self, place: Place<'_>) -> Result<PathBuf> {
        let file = self.world.folder.path().join("environment.yaml");
        let mut text = self.world.environment_text(self.world.address(), self.world.grpc());
        if place.production {
            text = text.replace("strictness: development", "strictness: production");
        }
        if !place.nowhere {
            let receiver = self.receiver;
            let reach =
                if place.loopback { String::new() } else { format!(", reachable: public, base: 'http://{receiver}'") };
            text += &format!("  callbacks: {{ listen: '{receiver}'{reach}{} }}\n", place.callbacks);
        }
        if let Some(proxy) = self.proxy {
            text += &format!("  observers: [{{ kind: egress, listen: '{proxy}', only_way_out: true }}]\n");
        }
        fs::write(&file, text).context("failed to write the environment")?;
        Ok(file)
    }
}
