//! A decision point on this machine.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use ostiary_admission::ViewScope;
use ostiary_canon::dsse::Keyring;
use ostiary_router::{Endpoint, Router, RouterConfig, Token};
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::evidence::trusted_keys;
use crate::{
    console::{Console, counted},
    error::CliError,
    exit::Exit,
    sidecar::{Answers, Place, Relay, Socket, Upstream, doubts, serve_grpc, serve_http},
    system,
};

/// Answers routers and gateways on this machine from a verified copy, until it is interrupted
#[derive(Args, Debug)]
pub(crate) struct Sidecar {
    /// Address of the control plane's gRPC API, or of another sidecar
    #[arg(long, env = "OSTIARY_GRPC", default_value = "http://127.0.0.1:8421", value_name = "URL")]
    control_plane: String,
    /// Name of the environment variable that holds a router's token
    #[arg(long, default_value = "OSTIARY_TOKEN", value_name = "NAME")]
    token_env: String,
    /// The keys that sign what is admitted (JWKS): the control plane's /.well-known/ostiary-keys.json
    #[arg(long, env = "OSTIARY_TRUST", value_name = "FILE")]
    trust: PathBuf,
    /// Where gRPC is served: questions, watch streams, Envoy's ext_authz
    #[arg(long, env = "OSTIARY_SIDECAR_LISTEN", default_value = "127.0.0.1:8431", value_name = "ADDRESS|unix:PATH")]
    listen: Place,
    /// Where HTTP is served: forward-auth, health, metrics
    #[arg(long, env = "OSTIARY_SIDECAR_HTTP", default_value = "127.0.0.1:8430", value_name = "ADDRESS|unix:PATH")]
    http: Place,
    /// Listens on addresses that other machines reach, too. Nobody is asked who they are
    #[arg(long)]
    allow_remote: bool,
    /// What is watched: everything, or one namespace
    #[arg(long, env = "OSTIARY_SIDECAR_SCOPE", default_value = "*", value_name = "*|NAMESPACE")]
    scope: String,
    /// Where the copy is kept, so that a start without the control plane goes on from it while its lease lives, and none
    /// goes back in time
    #[arg(long, env = "OSTIARY_SIDECAR_STATE", value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The name that operators see; unique in an installation. Without it, a new one
    #[arg(long, env = "OSTIARY_ROUTER_ID", value_name = "NAME")]
    router_id: Option<String>,
    /// How long the first verified copy is waited for, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS")]
    patience: u64,
    /// Starts without a copy, denies everything, and goes on trying
    #[arg(long)]
    keep_trying: bool,
}

/// A copy comes in milliseconds when nothing is wrong; only then it is worth finding out what is.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Where the keys come from.
const KEYS: &str =
    "save the control plane's /.well-known/ostiary-keys.json, over a way that you trust, and give it with --trust";

/// How long a stopping sidecar waits for what is under way.
const STOPPING: Duration = Duration::from_secs(5);

// === impl Sidecar ===

impl Sidecar {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let scope: ViewScope = self.scope.parse().map_err(|e| CliError::usage(format!("{e}")))?;
        self.refuse_strangers()?;
        let trust = trusted_keys(&self.trust).map_err(|e| e.hint(KEYS))?;
        let endpoint = self.endpoint()?;
        let token = self.token()?;
        let upstream = Upstream::new(&endpoint, &token, scope.clone())
            .ok_or_else(|| CliError::usage("the token holds characters that cannot be sent"))?;
        let (grpc, http) = (bound(&self.listen).await?, bound(&self.http).await?);
        let relay = Arc::new(Relay::new(scope.clone()));
        let config = self.router(endpoint, token, trust.clone(), (&scope, &relay));
        let router = Router::connect(config).await;
        let router = router.map_err(|e| {
            CliError::because("the router did not start", &e)
                .hint("--trust needs at least one key, and --state-dir a directory that can be written")
        })?;
        relay.clock().follow(router.clone());
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let hub = Arc::clone(relay.hub());
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move { hub.run().await }));
        let ready = self.wait(console, &router, (&upstream, &scope, &trust)).await;
        let answers = Answers::new(&relay, router.clone(), upstream.clone(), stop.clone());
        let places = ready.and_then(|()| Ok((place(&grpc)?, place(&http)?)))?;
        announce(console, &router, &places);
        tasks.spawn(told("gRPC", stop.clone(), serve_grpc(grpc, answers.clone(), upstream, stop.clone())));
        tasks.spawn(told("HTTP", stop.clone(), serve_http(http, answers, stop.clone())));
        tasks.close();
        let by_itself = tokio::select! {
            interrupted = system::interrupted() => interrupted.map(|()| false)?,
            () = stop.cancelled() => true,
        };
        stop.cancel();
        drop(tokio::time::timeout(STOPPING, tasks.wait()).await);
        router.stop().await;
        Ok(if by_itself { Exit::CouldNotRun } else { Exit::Done })
    }

    fn refuse_strangers(&self) -> Result<(), CliError> {
        match [&self.listen, &self.http].into_iter().find(|place| !place.is_local() && !self.allow_remote) {
            None => Ok(()),
            Some(place) => Err(CliError::usage(format!("`{place}` can be reached by other machines"))
                .hint("a sidecar asks nobody for a token: listen on 127.0.0.1 or unix:PATH, or say --allow-remote")),
        }
    }

    fn endpoint(&self) -> Result<Endpoint, CliError> {
        let hint = "give the address of a gRPC API, like http://127.0.0.1:8421; it does not speak TLS";
        if !self.control_plane.starts_with("http://") {
            return Err(CliError::usage(format!("`{}` is not spoken to", self.control_plane)).hint(hint));
        }
        Endpoint::from_shared(self.control_plane.clone())
            .map_err(|e| CliError::usage(format!("`{}` is no address: {e}", self.control_plane)).hint(hint))
    }

    fn token(&self) -> Result<String, CliError> {
        let token = system::variable(&self.token_env).map(|token| token.trim().to_owned());
        token.filter(|token| !token.is_empty()).ok_or_else(|| {
            CliError::usage(format!("the variable `{}` holds no token", self.token_env))
                .hint("put a token with the role `router` there, or name another variable with --token-env")
        })
    }

    fn router(
        &self,
        endpoint: Endpoint,
        token: String,
        trust: Keyring,
        (scope, relay): (&ViewScope, &Arc<Relay>),
    ) -> RouterConfig {
        let id = self.router_id.clone().unwrap_or_else(|| system::new_id("sidecar"));
        let mut config = RouterConfig::new(endpoint, id, trust);
        config.token = Some(Token::new(token));
        config.scopes = vec![scope.clone()];
        config.state_dir.clone_from(&self.state_dir);
        config.downstream = Some(Arc::clone(relay) as _);
        config
    }

    /// Waits for the first verified copy, and says what is wrong when none comes.
    async fn wait(
        &self,
        console: Console,
        router: &Router,
        (upstream, scope, trust): (&Upstream, &ViewScope, &Keyring),
    ) -> Result<(), CliError> {
        let patience = Duration::from_secs(self.patience);
        let spinner =
            spinner(console, &format!("waiting for a verified copy of `{scope}` from {}", self.control_plane));
        if router.ready(AT_ONCE.min(patience)).await || self.keep_trying {
            return Ok(());
        }
        let doubt = tokio::time::timeout(patience, doubts(upstream, &self.control_plane, scope, trust)).await;
        let doubt = doubt.ok().flatten();
        // an address where nobody is may be one where somebody will be
        let passes = doubt.as_ref().is_none_or(|doubt| doubt.is("Unavailable"));
        if passes && router.ready(patience.saturating_sub(AT_ONCE)).await {
            return Ok(());
        }
        drop(spinner);
        Err(doubt.unwrap_or_else(|| {
            let trouble = router.status().scopes.first().and_then(|scope| scope.trouble).unwrap_or("none came");
            CliError::could_not_run(format!("no verified copy within {} s: {trouble}", self.patience))
                .hint("look at the control plane's log; --keep-trying starts anyway and denies until one comes")
        }))
    }
}

/// Turns while it is waited for; only where a person watches.
fn spinner(console: Console, message: &str) -> ProgressBar {
    let bar = if console.live() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.set_style(ProgressStyle::default_spinner());
    bar.set_message(message.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn announce(console: Console, router: &Router, (grpc, http): &(Place, Place)) {
    let status = router.status();
    let said = json!({"grpc": grpc.to_string(), "http": http.to_string(), "status": status});
    console.result(&said, |console, _| {
        console.line(format!("gRPC  {grpc}"));
        console.line(format!("HTTP  {http}"));
        for scope in &status.scopes {
            let state = if scope.alive { "ready" } else { "denies until a verified copy comes" };
            let versions = counted(scope.versions, "version");
            console.line(format!("`{}` at revision {}, {versions}: {state}", scope.scope, scope.applied));
        }
    });
}

async fn bound(place: &Place) -> Result<Socket, CliError> {
    place.bind().await.map_err(|e| {
        CliError::because(format!("cannot listen on `{place}`"), &e).hint("choose another with --listen or --http")
    })
}

fn place(socket: &Socket) -> Result<Place, CliError> {
    socket.place().map_err(|e| CliError::because("a socket does not say where it is", &e))
}

/// A listener that ends takes the other one with it: half a sidecar would look alive.
async fn told<E: std::error::Error>(
    what: &'static str,
    stop: CancellationToken,
    served: impl Future<Output = Result<(), E>>,
) {
    if let Err(error) = served.await {
        tracing::error!(what, %error, "listener failed");
    }
    stop.cancel();
}
