//! The sample agent as a process of its own, for trying things out.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use ostiary_contract::{
    Environment,
    environment::{HarnessIdentity, Identity, TokenAlgorithm},
};
use ostiary_sample::{Authority, Config, Lie, PlanningAgent, StoreAt, TlsIdentity, Trust};
use ostiary_worker::local::{DEFAULT_AUDIENCE, DEFAULT_ISSUER, Place, signer};
use serde_json::{Value, json};
use url::Url;

use crate::{console::Console, error::CliError, exit::Exit, local, system};

/// Runs the planning agent of the documentation until it is interrupted, as an environment expects it: at the address
/// where connections go, trusting the tokens of the harness. Its certificate authority is made anew and written to the
/// environment's `trust_roots`
#[derive(Args, Debug)]
pub(crate) struct Sample {
    /// The bundle whose card it serves
    bundle: PathBuf,
    /// The environment it is going to be verified in
    #[arg(long, value_name = "FILE")]
    env: PathBuf,
    /// Where its store lives; without it, in memory
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// A promise it breaks
    #[arg(long = "lie", value_name = "NAME")]
    lies: Vec<Lie>,
}

// === impl Sample ===

impl Sample {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let bundle = local::bundle(&self.bundle)?;
        let card = bundle.card.as_ref().ok_or_else(|| CliError::usage("the bundle has no agent card"))?;
        let place = Place::read(&self.env);
        let place = place.map_err(|e| CliError::because(format!("cannot use `{}`", self.env.display()), &e))?;
        let mut config = Config::new(card.bytes.clone(), trust(&place)?);
        let host = declared_host(&card.value)?;
        config.listen = destination(&place.environment, &host)?;
        config.lies = self.lies.iter().copied().collect();
        config.tls = identity(&place, &host)?;
        if let Some(path) = self.store {
            config.store = StoreAt::File(path);
        }
        let running = PlanningAgent::start(config).await;
        let running = running.map_err(|e| CliError::because("cannot start the sample agent", &e))?;
        let said = json!({"url": running.base_url(), "host": host});
        console.result(&said, |console, _| {
            console.line(format!("the planning agent `{host}` listens on {}", running.base_url()));
        });
        system::interrupted().await?;
        running.stop().await;
        Ok(Exit::Done)
    }
}

/// The tokens that the harness of this environment signs.
pub(crate) fn trust(place: &Place) -> Result<Trust, CliError> {
    let signer = signer(place).map_err(|e| CliError::because("cannot tell whose tokens to take", &e))?;
    let names = match &place.environment.identity {
        Identity::Harness(harness) => harness.clone(),
        Identity::TokenCommand(_) | Identity::ClientCredentials(_) => HarnessIdentity::default(),
    };
    if names.algorithm != TokenAlgorithm::EdDsa {
        let error = CliError::usage("the sample agent takes tokens signed with EdDSA only");
        return Err(error.hint("remove `identity.algorithm`"));
    }
    let (issuer, audience) = (names.issuer_name(), names.audience);
    let (issuer, audience) =
        (issuer.as_deref().unwrap_or(DEFAULT_ISSUER), audience.as_deref().unwrap_or(DEFAULT_AUDIENCE));
    Trust::from_jwks(issuer, audience, &signer.jwks()).map_err(|e| CliError::because("cannot use the key", &e))
}

/// The host of the card's first interface.
pub(crate) fn declared_host(card: &Value) -> Result<String, CliError> {
    let url = card["supportedInterfaces"][0]["url"].as_str().and_then(|url| Url::parse(url).ok());
    let host = url.and_then(|url| url.host_str().map(str::to_owned));
    host.ok_or_else(|| CliError::usage("the card declares no interface with a URL"))
}

/// Where connections to the declared host go.
fn destination(environment: &Environment, host: &str) -> Result<SocketAddr, CliError> {
    let from = format!("{host}:443");
    let to = environment.connect_to.get(&from).and_then(|to| to.parse().ok());
    to.ok_or_else(|| {
        CliError::usage("the environment does not say where the agent is to listen")
            .hint(format!("write `connect_to: {{ \"{from}\": \"127.0.0.1:9100\" }}`"))
    })
}

/// A certificate under the declared name; its authority goes where the environment looks for it.
fn identity(place: &Place, host: &str) -> Result<Option<TlsIdentity>, CliError> {
    let Some((root, file)) = place.root.as_ref().zip(place.environment.trust_roots.as_ref()) else {
        return Ok(None);
    };
    let cannot = |e| CliError::because("cannot speak TLS", &e);
    let authority = Authority::generate().map_err(cannot)?;
    let identity = authority.issue(&[host]).map_err(cannot)?;
    local::write(&root.join(file), authority.root_pem().as_bytes())?;
    Ok(Some(identity))
}
