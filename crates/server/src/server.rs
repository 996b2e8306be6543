//! Starting and stopping: everything is wired here, once, and nowhere else.

mod work;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::SignedDuration;
use ostiary_admission::Index;
use ostiary_canon::dsse::{Jwks, Keyring, SigningKey};
use ostiary_domain::{
    Actor, Clock, Failpoints, Ids as _, NoFailpoints, Policy, ReplicaId, Signer, Store, StoreError, ports::StorePorts,
};
use ostiary_pdp::Hub;
use ostiary_verify::Harness;
use ostiary_worker::{jobs::Runner, local::JobRunner};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{
    app::App,
    auth::{Role, TokenTable, TokenTableError},
    config::{Config, RolesOf, TokenConfig},
    database::{Database, DatabaseError},
    driven::Driven,
    entropy::{Entropy, SystemEntropy},
    feed::{Feed, FeedError, FeedParts},
    granted::Granted,
    grpc::HubClock,
    heads::Heads,
    metrics::Metrics,
    proof::{Prover, ProverParts},
    recordings::{Recordings, RecordingsError},
    secret_file::{self, SecretFileError},
    snapshot::{self, Claim, Keeper, KeeperParts},
    system::{EntropyIds, KeySigner, SystemClock},
    tasks::Tasks,
    wake::Wake,
};

/// A server that is about to start.
pub struct Server {
    config: Config,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    failpoints: Arc<dyn Failpoints>,
    runner: Option<Arc<dyn Runner>>,
    harness: Option<Harness>,
}

/// What this server alone has: its key, and what it remembers.
struct Own {
    key: SigningKey,
    keys: Arc<Keyring>,
    index: Arc<Index>,
    snapshot: PathBuf,
    claim: Option<Claim>,
}

/// A server that answers.
#[derive(Debug)]
pub struct Running {
    /// Where the HTTP API listens.
    pub http_addr: SocketAddr,
    /// Where the gRPC API listens.
    pub grpc_addr: SocketAddr,
    /// Where the first administrator's token lies, when no tokens are configured.
    pub admin_token: Option<PathBuf>,
    app: Arc<App>,
    tasks: Tasks,
    database: Database,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be made.
    #[error("failed to make the data directory `{}`", path.display())]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The address is taken or not ours.
    #[error("failed to listen on {address} for {what}")]
    Listen {
        /// `HTTP` or `gRPC`.
        what: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The signing key or the first token.
    #[error("failed to read or make a secret")]
    Secret(#[from] SecretFileError),
    /// The tokens.
    #[error("failed to read the tokens")]
    Tokens(#[from] TokenTableError),
    /// The database, when it is opened.
    #[error("failed to open the database")]
    Open(#[from] DatabaseError),
    /// The database.
    #[error("failed to use the database")]
    Store(#[from] StoreError),
    /// The recordings.
    #[error("failed to open the recordings")]
    Recordings(#[from] RecordingsError),
    /// The index.
    #[error("failed to fill the admission index")]
    Feed(#[from] FeedError),
    /// A test named a failpoint that does not exist.
    #[cfg(feature = "failpoints")]
    #[error("failed to set the failpoint")]
    Failpoint(#[from] ostiary_domain::failpoint::UnknownFailpoint),
}

/// How long a stopping server waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(7);

/// How long it writes its snapshot: seconds for a million versions.
const KEEPING: Duration = Duration::from_secs(20);

/// How long it waits for the database after that: a task that did not stop may hold a connection for ever.
const CLOSING: Duration = Duration::from_secs(2);

/// Bundles that are taken at the same time: each may need some 32 MiB, twice.
const UPLOADS: usize = 8;

const SYSTEM: &str = "ostiary";

// === impl Server ===

impl Server {
    /// Starts a server with the machine's own clock and randomness, and a worker that drives real runs.
    ///
    /// # Errors
    /// When it cannot listen, or cannot use what it keeps.
    pub async fn start(config: Config) -> Result<Running, StartError> {
        let server = Self::new(config);
        #[cfg(feature = "failpoints")]
        let server = match crate::failpoint::AbortAt::from_environment()? {
            Some(point) => server.failpoints(Arc::new(point)),
            None => server,
        };
        server.run().await
    }

    /// A server to be started by [`Server::run`].
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        Self { config, clock, entropy, failpoints: Arc::new(NoFailpoints), runner: None, harness: None }
    }

    /// With another clock.
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// With another source of randomness.
    #[must_use]
    pub fn entropy(self, entropy: Arc<dyn Entropy>) -> Self {
        Self { entropy, ..self }
    }

    /// With failpoints.
    #[must_use]
    pub fn failpoints(self, failpoints: Arc<dyn Failpoints>) -> Self {
        Self { failpoints, ..self }
    }

    /// With other checks.
    #[must_use]
    pub fn harness(self, harness: Harness) -> Self {
        Self { harness: Some(harness), ..self }
    }

    /// With another driver of runs.
    #[must_use]
    pub fn runner(self, runner: Arc<dyn Runner>) -> Self {
        Self { runner: Some(runner), ..self }
    }

    /// Starts it. When this returns, it is ready: both listeners answer and the index is filled.
    ///
    /// # Errors
    /// When it cannot listen, or cannot use what it keeps.
    pub async fn run(self) -> Result<Running, StartError> {
        let dir = self.config.data_dir.clone();
        private_directory(&dir).map_err(|source| StartError::DataDir { path: dir.clone(), source })?;
        let http = listen("HTTP", self.config.http.listen).await?;
        let grpc = listen("gRPC", self.config.grpc.listen).await?;
        let key = secret_file::signing_key(&dir.join("signing-key.pem"), self.entropy.as_ref())?;
        let (tokens, admin_token) = self.tokens()?;
        let ids = Arc::new(EntropyIds::new(Arc::clone(&self.clock), Arc::clone(&self.entropy)));
        let ports = StorePorts::new(Arc::clone(&self.clock), ids.clone()).with_failpoints(Arc::clone(&self.failpoints));
        let database = Database::open(&self.config.database, &dir, ports).await?;
        let store = database.store();
        if store.current_policy().await?.is_none() {
            store.put_policy(Policy::one(), Actor::machine(SYSTEM)).await?;
        }
        let files = self.config.worker.environment_files.clone();
        let runner = self.runner.clone().unwrap_or_else(|| Arc::new(JobRunner::new(files)));
        let runner: Arc<dyn Runner> = Arc::new(Driven { runner, failpoints: Arc::clone(&self.failpoints) });
        let keys = Arc::new(Keyring::trusting([key.verifying_key()]));
        let snapshot = dir.join(snapshot::FILE);
        let (index, claim) = Keeper::load(&snapshot, store.as_ref(), &keys).await;
        let own = Own { key, keys, index: Arc::new(index), snapshot, claim };
        let app = self.app(own, tokens, ids, store)?;
        app.feed.refresh().await?;
        // Before the first answer: whoever waits for a quarantine from now on knows of us.
        app.granted.write().await?;
        let tasks = Tasks::default();
        let addresses = (address(&http), address(&grpc));
        work::serve(&tasks, &app, http, grpc);
        work::work(&tasks, &app, &runner);
        work::listen_to(&tasks, &app, &database);
        tracing::info!(http = %addresses.0, grpc = %addresses.1, "ready");
        Ok(Running { http_addr: addresses.0, grpc_addr: addresses.1, admin_token, app, tasks, database })
    }

    /// The configured tokens; without any, the first administrator's, which is made on first start.
    fn tokens(&self) -> Result<(TokenTable, Option<PathBuf>), StartError> {
        if !self.config.tokens.is_empty() {
            return Ok((TokenTable::new(&self.config.tokens)?, None));
        }
        let path = self.config.data_dir.join("admin.token");
        let (token, made) = secret_file::token(&path, self.entropy.as_ref())?;
        if made {
            tracing::warn!(path = %path.display(), "no tokens are configured; the administrator's was made");
        }
        let rights = RolesOf { roles: &[Role::Admin], namespaces: &["*"], person: true };
        Ok((TokenTable::new(&[TokenConfig::of("admin", &token, rights)])?, Some(path)))
    }

    fn app(
        self,
        own: Own,
        tokens: TokenTable,
        ids: Arc<EntropyIds>,
        store: Arc<dyn Store>,
    ) -> Result<Arc<App>, StartError> {
        let Own { key, keys, index, snapshot, claim } = own;
        let wake = Wake::default();
        let published = Jwks::of([&key.verifying_key()]);
        let signer: Arc<dyn Signer> = Arc::new(KeySigner::new(key));
        let keeper = KeeperParts {
            path: snapshot,
            index: Arc::clone(&index),
            store: Arc::clone(&store),
            clock: Arc::clone(&self.clock),
            keys: Arc::clone(&keys),
            signer: Arc::clone(&signer),
        };
        let heads = Arc::new(Heads::new(Arc::clone(&signer)));
        let clock = Arc::new(HubClock(Arc::clone(&self.clock)));
        let hub = Arc::new(Hub::new(Arc::clone(&index), clock, heads));
        let feed = Feed::new(FeedParts {
            store: Arc::clone(&store),
            hub: Arc::clone(&hub),
            clock: Arc::clone(&self.clock),
            keys,
            failpoints: Arc::clone(&self.failpoints),
            wake: wake.clone(),
            config: self.config.admission.clone(),
        });
        let feed = Arc::new(feed);
        let lease = SignedDuration::try_from(self.config.admission.lease()).unwrap_or(SignedDuration::MAX);
        let replica = ReplicaId(ids.next("replica"));
        let granted = Arc::new(Granted::new(Arc::clone(&hub), Arc::clone(&store), replica, lease));
        let prover = Prover::new(ProverParts {
            hub: Arc::clone(&hub),
            feed: Arc::clone(&feed),
            granted: Arc::clone(&granted),
            store: Arc::clone(&store),
            clock: Arc::clone(&self.clock),
        });
        Ok(Arc::new(App {
            recordings: Recordings::in_directory(&self.config.data_dir.join("recordings"))?,
            config: self.config,
            store,
            clock: self.clock,
            ids,
            signer,
            keys: published,
            keeper: Arc::new(Keeper::new(keeper, claim)),
            tokens: Arc::new(tokens),
            harness: Arc::new(self.harness.unwrap_or_else(Harness::standard)),
            index,
            hub,
            feed,
            granted,
            prover,
            wake,
            work: Wake::default(),
            metrics: Arc::new(Metrics::default()),
            failpoints: self.failpoints,
            uploads: Semaphore::new(UPLOADS),
        }))
    }
}

// === impl Running ===

impl Running {
    /// The parts, for tests and the demo that run in the same process.
    #[must_use]
    pub const fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// `http://…` of the HTTP API.
    #[must_use]
    pub fn http_url(&self) -> String {
        format!("http://{}", self.http_addr)
    }

    /// `http://…` of the gRPC API.
    #[must_use]
    pub fn grpc_url(&self) -> String {
        format!("http://{}", self.grpc_addr)
    }

    /// Returns when the server stops by itself, because one of its tasks panicked. Whoever waits then shuts it down.
    pub async fn stopped(&self) {
        self.tasks.stop().cancelled().await;
    }

    /// Takes the database away from the running server, as a lost disk would: for tests of what it still answers.
    pub async fn cut_database(&self) {
        self.database.clone().close().await;
    }

    /// Stops: finishes what is under way, gives runs back, closes the database.
    pub async fn shutdown(self) {
        let Self { app, tasks, database, .. } = self;
        let stopped = tasks.shut_down(PATIENCE).await;
        if !stopped {
            tracing::warn!("some tasks did not stop in time");
        }
        // Only who surely gives out nothing any more may say so.
        if stopped && !matches!(tokio::time::timeout(CLOSING, app.granted.close()).await, Ok(Ok(()))) {
            tracing::warn!(
                "other servers could not be told that this one is gone; proofs take a lease longer for a while"
            );
        }
        // The next start begins with what this one knew.
        if tokio::time::timeout(KEEPING, app.keeper.keep()).await.is_err() {
            tracing::warn!("the snapshot was not written in time; the next start reads more from the database");
        }
        drop(app);
        if tokio::time::timeout(CLOSING, database.close()).await.is_err() {
            tracing::warn!("the database is still in use; what was not committed is as if it had never been");
        }
    }
}

/// Makes the directory, readable by us alone: recordings hold what agents said.
fn private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

async fn listen(what: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { what, address, source })
}

fn address(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().expect("a bound listener has an address")
}
