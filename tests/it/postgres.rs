//! Control planes on a real PostgreSQL: from a bundle to a routers' answer, over a restart, through an outage, and with a
//! second server beside the first.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use ostiary_store_postgres::cluster::Cluster;
use ostiary_tests::{
    program::{self, Running},
    target::root,
};
use serde_json::Value;
use tempfile::TempDir;

const AGENT: &str = "team/agent-fixture-planning";
const VERSION: &str = "3.4.1";
const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";

/// The shortest lease that a server takes, so that the test of its end does not take long.
const LEASE_SECONDS: u64 = 5;
/// Longest wait for something that takes a lease or a poll.
const SOON: Duration = Duration::from_secs(30);

/// A database, the sample agent, and people with tokens.
struct Site {
    folder: TempDir,
    cluster: Cluster,
    _agent: Running,
}

impl Site {
    async fn new() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let cluster = Cluster::start()?;
        fs::write(folder.path().join("database-url"), cluster.database().await)?;
        for who in ["ada", "olga", "otto", "router-1"] {
            fs::write(folder.path().join(format!("{who}.token")), format!("{who}-secret-0123456789abcdef0123456789"))?;
        }
        let environment = environment(folder.path())?;
        let agent = Running::start(&["sample", &bundle(), "--env", text(&environment)?])?;
        Ok(Self { folder, cluster, _agent: agent })
    }

    /// Starts a server with its own data directory on the one database.
    fn serve(&self, name: &str) -> Result<Running> {
        let path = self.folder.path();
        let mut config = format!(
            "data_dir: {0}/{name}\ndatabase: {{ postgres: {{ url_file: {0}/database-url, connections: 4 }} }}\n\
             http: {{ listen: '127.0.0.1:0' }}\ngrpc: {{ listen: '127.0.0.1:0' }}\n\
             admission: {{ lease_seconds: {LEASE_SECONDS} }}\nworker: {{ environment_files: {0} }}\ntokens:\n",
            path.display()
        );
        for (who, role, person) in [
            ("ada", "admin", true),
            ("olga", "publisher", true),
            ("otto", "operator", true),
            ("router-1", "router", false),
        ] {
            config.push_str(&format!(
                "  - {{ name: {who}, file: {}/{who}.token, roles: [{role}], namespaces: ['*'], person: {person} }}\n",
                path.display()
            ));
        }
        let file = path.join(format!("{name}.yaml"));
        fs::write(&file, config)?;
        let checked = program::run(&["config", "check", "--config", text(&file)?])?;
        ensure!(checked.status.success(), "{checked:?}");
        Running::start(&["serve", "--config", text(&file)?])
    }

    /// A second server signs with the first one's key.
    fn share_key(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (self.folder.path().join(from), self.folder.path().join(to));
        fs::create_dir(&to)?;
        fs::copy(from.join("signing-key.pem"), to.join("signing-key.pem")).context("failed to share the key")?;
        Ok(())
    }

    /// Runs a command as somebody at a server.
    fn as_(&self, who: &str, server: &Running, arguments: &[&str]) -> Result<(Output, Value)> {
        let token = self.folder.path().join(format!("{who}.token"));
        let http = server.said["http"].as_str().context("the server did not say where it is")?;
        let remote = ["--server", http, "--token-file", text(&token)?, "--format", "json"];
        let output = program::run(&[arguments, &remote].concat())?;
        let said = serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?}: {output:?}"))?;
        Ok((output, said))
    }

    /// Runs a command that must work.
    fn done(&self, who: &str, server: &Running, arguments: &[&str]) -> Result<Value> {
        let (output, said) = self.as_(who, server, arguments)?;
        ensure!(output.status.success(), "{who}: {arguments:?}: {output:?}");
        Ok(said)
    }

    /// Acts on the version.
    fn act(&self, who: &str, server: &Running, arguments: &[&str]) -> Result<(Output, Value)> {
        self.as_(who, server, &[arguments, &["--agent", AGENT, "--version", VERSION]].concat())
    }

    /// What a router is told by a server, from its memory.
    fn check(&self, server: &Running, card: &str) -> Result<String> {
        let grpc = server.said["grpc"].as_str().context("the server did not say where it is")?;
        let question = ["check", "--card-digest", card, "--profile", PROFILE, "--grpc", grpc];
        let (_, said) = self.act("router-1", server, &question)?;
        Ok(said["reason"].as_str().with_context(|| format!("no reason in {said}"))?.to_owned())
    }

    /// Waits until a router is told `wanted`.
    async fn check_until(&self, server: &Running, card: &str, wanted: &str) -> Result<()> {
        let told = async {
            while self.check(server, card)? != wanted {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(SOON, told).await.with_context(|| format!("not {wanted} within {SOON:?}"))?
    }

    /// From a bundle to REGISTRY_ADMITTED; answers the card's digest.
    fn admit(&self, server: &Running) -> Result<String> {
        self.done("ada", server, &["namespace", "put", "team"])?;
        self.done("ada", server, &["agent", "create", AGENT])?;
        let environment = self.folder.path().join("staging.yaml");
        self.done("ada", server, &["environment", "put", text(&environment)?])?;
        let submit = ["version", "submit", "--namespace", "team", "--bundle", &bundle(), "--env", "staging", "--wait"];
        let admitted = self.done("olga", server, &submit)?;
        ensure!(admitted["state"] == "REGISTRY_ADMITTED", "{admitted}");
        Ok(admitted["subject"]["card_digest"].as_str().context("no card digest")?.to_owned())
    }

    fn activate(&self, server: &Running) -> Result<()> {
        for (to, state) in [("canary", "CANARY"), ("active", "ACTIVE")] {
            let promote = ["version", "promote", "--reason", "ready", "--to", to, "--wait"];
            let (output, promoted) = self.act("otto", server, &promote)?;
            ensure!(promoted["state"] == state, "{output:?}");
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_planes_on_postgresql_admit_restart_and_fail_closed() -> Result<()> {
    let site = Site::new().await?;
    let first = site.serve("a")?;
    let card = site.admit(&first)?;
    assert_eq!(site.check(&first, &card)?, "NOT_ADMITTED");
    site.activate(&first)?;
    assert_eq!(site.check(&first, &card)?, "ALLOWED");

    drop(first);
    let first = site.serve("a")?;
    assert_eq!(site.check(&first, &card)?, "ALLOWED", "what was committed survives a killed server");
    assert_eq!(site.done("ada", &first, &["audit", "verify"])?["intact"], true);

    site.share_key("a", "b")?;
    let second = site.serve("b")?;
    assert_eq!(site.check(&second, &card)?, "ALLOWED", "a second server knows what the first one admitted");

    outage(&site, &first, &card).await?;

    let (output, _) = site.act("otto", &first, &["version", "quarantine", "--reason", "an incident"])?;
    assert!(output.status.success(), "{output:?}");
    site.check_until(&second, &card, "QUARANTINED").await?;
    assert_eq!(site.done("ada", &second, &["audit", "verify"])?["intact"], true);
    Ok(())
}

/// The database goes away and comes back.
async fn outage(site: &Site, server: &Running, card: &str) -> Result<()> {
    site.cluster.stop()?;
    let (output, said) = site.act("otto", server, &["version", "quarantine", "--reason", "an incident"])?;
    assert_eq!(said["error"]["code"], "UNAVAILABLE", "{output:?}");
    assert!(said["error"]["message"].as_str().is_some_and(|m| m.contains("database does not answer")), "{said}");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    site.check_until(server, card, "VIEW_STALE").await?;

    site.cluster.restart()?;
    site.check_until(server, card, "ALLOWED").await
}

#[test]
fn a_database_that_does_not_answer_stops_the_start_and_is_named_without_its_password() -> Result<()> {
    let folder = TempDir::new()?;
    let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let url = folder.path().join("url");
    fs::write(&url, format!("postgres://ostiary:hunter2@127.0.0.1:{free}/ostiary"))?;
    let config = folder.path().join("ostiary.yaml");
    let text_of = format!(
        "data_dir: {0}/data\ndatabase: {{ postgres: {{ url_file: {0}/url }} }}\nhttp: {{ listen: '127.0.0.1:0' }}\n\
         grpc: {{ listen: '127.0.0.1:0' }}\n",
        folder.path().display()
    );
    fs::write(&config, text_of)?;
    let started = program::run(&["serve", "--config", text(&config)?])?;
    let said = String::from_utf8_lossy(&[started.stdout.as_slice(), started.stderr.as_slice()].concat()).into_owned();
    assert_eq!(started.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("127.0.0.1:{free}/ostiary")) && !said.contains("hunter2"), "{said}");
    Ok(())
}

fn bundle() -> String {
    root().join("bundles/planning-agent").display().to_string()
}

/// An environment for the sample agent on a port of its own.
fn environment(folder: &Path) -> Result<PathBuf> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let shipped = fs::read_to_string(format!("{}.environment.yaml", bundle()))?;
    let moved = shipped.replace("127.0.0.1:9100", &format!("127.0.0.1:{port}")).replace("name: local", "name: staging");
    ensure!(moved != shipped, "the shipped environment looks different");
    let path = folder.join("staging.yaml");
    fs::write(&path, moved)?;
    Ok(path)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is not UTF-8")
}
