//! A reverse proxy in front of one A2A agent that asks the router library before each request.
//!
//! It reads the agent's card itself, keeps it fresh, and asks with its digest: an agent that changes its card is denied
//! until the control plane has looked. Answers are streamed; with `--cut-after` a running one is cut when its version is
//! taken off the road. Both ends speak plain HTTP/1.1: put it beside the agent, behind whatever ends TLS.

mod card;
mod forward;

use std::{net::SocketAddr, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Parser;
use http::{Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use ostiary_canon::dsse::Jwks;
use ostiary_router::{
    AdmissionLayer, Ask, Endpoint, InFlight, Keyring, Question, Router, RouterConfig, Token, ViewScope,
};
use tokio::{net::TcpListener, task::JoinSet};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::{card::Card, forward::Upstream};

/// Checks each request before it reaches the agent.
#[derive(Parser)]
struct Arguments {
    /// Which agent: `namespace/agent`.
    #[arg(long)]
    agent: String,
    /// Which version of it runs upstream.
    #[arg(long)]
    version: String,
    /// What is spoken with it, for whom: `a2a-jsonrpc-1.0/user/standard`.
    #[arg(long)]
    profile: String,
    /// Where the agent is: `http://host:port`.
    #[arg(long)]
    upstream: Uri,
    /// Where the control plane, or a sidecar, speaks gRPC.
    #[arg(long)]
    control_plane: String,
    /// Name of the environment variable that holds the router's token.
    #[arg(long)]
    token_env: Option<String>,
    /// The control plane's public keys, a JSON Web Key Set.
    #[arg(long)]
    trust: PathBuf,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where the copy survives a restart.
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// Under which name operators see this router.
    #[arg(long, default_value = "checking-proxy")]
    router_id: String,
    /// Seconds after which a running answer is cut when its version is taken off the road; left out, it may end by itself.
    #[arg(long)]
    cut_after: Option<u64>,
    /// Seconds between two looks at the agent's card; it is not believed for longer than three times that.
    #[arg(long, default_value_t = 5)]
    card_every: u64,
}

/// What every answer of this proxy is.
type Answer = Response<UnsyncBoxBody<Bytes, Broken>>;
type Pending = Pin<Box<dyn Future<Output = Result<Answer, Broken>> + Send>>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The agent's side failed, or was cut.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Broken(BoxError);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    let router = Router::connect(configuration(&arguments)?).await?;
    let upstream = Arc::new(Upstream::of(&arguments.upstream, router.clone())?);
    let card = Arc::new(Card::default());
    let mut tasks = JoinSet::new();
    let every = Duration::from_secs(arguments.card_every.max(1));
    // Before the first request, so that it is not denied for want of a card.
    if let Err(error) = card.look(&upstream).await {
        tracing::warn!(%error, "the agent's card cannot be read");
    }
    tasks.spawn(keep_fresh(Arc::clone(&card), Arc::clone(&upstream), arguments_of(&arguments), every));
    let listener = TcpListener::bind(arguments.listen).await.context("cannot listen")?;
    println!("listening on http://{}", listener.local_addr()?);
    let serving = serve(listener, router.clone(), arguments_of(&arguments), card, upstream);
    tokio::select! {
        served = serving => served?,
        _ = tokio::signal::ctrl_c() => {}
    }
    tasks.shutdown().await;
    router.stop().await;
    Ok(())
}

/// The fixed part of each question.
fn arguments_of(arguments: &Arguments) -> Question {
    Question {
        agent: arguments.agent.as_str().into(),
        version: arguments.version.as_str().into(),
        profile: Some(arguments.profile.as_str().into()),
        ..Question::default()
    }
}

fn configuration(arguments: &Arguments) -> anyhow::Result<RouterConfig> {
    let endpoint = Endpoint::from_shared(arguments.control_plane.clone())?.connect_timeout(Duration::from_secs(5));
    let keys = std::fs::read(&arguments.trust).with_context(|| format!("cannot read {}", arguments.trust.display()))?;
    let keys: Jwks = serde_json::from_slice(&keys).context("--trust is no JSON Web Key Set")?;
    let mut config = RouterConfig::new(endpoint, &*arguments.router_id, Keyring::trusting(keys.verifying_keys()?));
    // One agent needs one namespace.
    let Some((namespace, _)) = arguments.agent.split_once('/') else {
        bail!("`--agent {}` is not `namespace/agent`", arguments.agent);
    };
    config.scopes = vec![ViewScope::Namespace(namespace.into())];
    config.token = arguments.token_env.as_deref().map(token).transpose()?;
    config.state_dir = arguments.state_dir.clone();
    if let Some(seconds) = arguments.cut_after {
        config.in_flight = InFlight::CutAfter(Duration::from_secs(seconds));
    }
    Ok(config)
}

#[expect(clippy::disallowed_methods, reason = "the variable is named on the command line")]
fn token(variable: &str) -> anyhow::Result<Token> {
    let text = std::env::var(variable).with_context(|| format!("the environment has no `{variable}`"))?;
    Ok(Token::new(text))
}

async fn keep_fresh(card: Arc<Card>, upstream: Arc<Upstream>, question: Question, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if let Err(error) = card.look(&upstream).await {
            tracing::warn!(%error, "the agent's card cannot be read");
            card.missed();
            upstream.router().report_unreachable(&question.agent, &question.version);
        }
    }
}

async fn serve(
    listener: TcpListener,
    router: Router,
    question: Question,
    card: Arc<Card>,
    upstream: Arc<Upstream>,
) -> anyhow::Result<()> {
    let ask = move |parts: &http::request::Parts| Ask {
        question: Question { card_digest: card.digest().into(), ..question.clone() },
        at_least: parts.headers.get("x-ostiary-at-least-revision").and_then(revision),
    };
    let forward = service_fn(move |request: Request<Incoming>| {
        let upstream = Arc::clone(&upstream);
        async move { upstream.forward(request).await }
    });
    let checked = AdmissionLayer::new(router.clone(), ask).layer(forward);
    let service = service_fn(move |request: Request<Incoming>| -> Pending {
        let (router, checked) = (router.clone(), checked.clone());
        Box::pin(async move {
            match request.uri().path() {
                "/healthz" => Ok(health(&router)),
                "/metrics" => Ok(text(StatusCode::OK, "text/plain; version=0.0.4", router.metrics())),
                _ => match checked.oneshot(request).await {
                    Ok(answer) => Ok(answer.map(|body| body.map_err(Broken).boxed_unsync())),
                    Err(error) => {
                        Ok(text(StatusCode::BAD_GATEWAY, "text/plain", format!("the agent does not answer: {error}")))
                    }
                },
            }
        })
    });
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        while connections.try_join_next().is_some() {}
        let service = TowerToHyperService::new(service.clone());
        connections.spawn(async move {
            let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

fn revision(value: &http::HeaderValue) -> Option<ostiary_router::Revision> {
    // Unreadable is not "any": nobody has reached the last revision of all.
    Some(ostiary_router::Revision(value.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)))
}

fn health(router: &Router) -> Answer {
    let status = router.status();
    let code = if status.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    text(code, "application/json", serde_json::to_string(&status).unwrap_or_default())
}

fn text(status: StatusCode, media: &'static str, text: String) -> Answer {
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(media));
    answer
}
