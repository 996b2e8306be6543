//! A control plane of one process: the real decision point over an index, and a proxy in front of it that can be cut.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_admission::{
    AdmissionClass, AdmissionRecord, Change, Decision, Evidence, HEAD_PAYLOAD_TYPE, Head, Index, Observed,
    ProfileGrant, Query, SignatureStatus, State,
};
use ostiary_canon::{
    Digest, Profile, Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_pdp::{Api, Decided, Freshen, HeadSource, Hub};
use ostiary_proto::{
    admission::v1::admission_service_server::AdmissionServiceServer,
    drift::v1::{
        self as drift,
        drift_service_server::{DriftService, DriftServiceServer},
    },
};
use ostiary_router::{Endpoint, Ports, Router, RouterConfig, System};
use tokio::{net::TcpListener, net::TcpStream, sync::watch, task::JoinSet};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use crate::clock::TestTime;

pub const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Plane {
    pub hub: Arc<Hub>,
    pub time: TestTime,
    pub key: Arc<SigningKey>,
    pub told: Arc<Told>,
    /// What happens, once, before a question waits for a revision, and before its answer leaves.
    pub hooks: Arc<Hooks>,
    /// Whether leases are extended, as while the database answers.
    pub fed: Arc<AtomicBool>,
    address: SocketAddr,
    open: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

/// What reports came.
#[derive(Default)]
pub struct Told {
    pub drift: Mutex<Vec<drift::ReportDriftRequest>>,
    pub outcomes: Mutex<Vec<drift::ReportOutcomesRequest>>,
    /// So many reports of outcomes are refused first.
    pub refuse: AtomicU32,
}

type Hook = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub struct Hooks {
    pub reaching: Mutex<Option<Hook>>,
    pub answering: Mutex<Option<Hook>>,
}

struct Heads(Arc<SigningKey>);

#[derive(Clone)]
struct Reports(Arc<Told>);

pub fn card(version: &str) -> Digest {
    Digest::of(version.as_bytes())
}

pub fn query<'q>(agent: &'q str, version: &'q str) -> Query<'q> {
    Query { agent, version, card_digest: Observed::Digest(card(version)), profile: Some(PROFILE), ..Query::default() }
}

pub fn record(agent: &str, version: &str, state: State) -> AdmissionRecord {
    let profile: Arc<Profile> = Arc::new(PROFILE.parse().unwrap());
    let expires_at = "2027-01-01T00:00:00Z".parse().unwrap();
    AdmissionRecord {
        agent: agent.parse().unwrap(),
        version: version.parse().unwrap(),
        state,
        canary_weight: 0,
        evidence: Some(Evidence {
            card_digest: card(version),
            contract_digest: Digest::of(b"contract"),
            producer_digest: Digest::of(b"producer"),
            evidence_digest: Digest::of(b"evidence"),
            verified_at: "2025-12-01T00:00:00Z".parse().unwrap(),
            expires_at,
            profiles: [ProfileGrant { profile, expires_at }].into(),
            class: AdmissionClass::Full,
            signature: SignatureStatus::Verified,
            stale: false,
            failed: false,
        }),
        holds: [].into(),
        sunset: None,
        waived: None,
        revision: Revision(0),
    }
}

/// Waits until `is` holds; fails the test after a while.
pub async fn until(what: &str, is: impl Fn() -> bool) {
    let waiting = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !is() {
            ticks.tick().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "never came about: {what}");
}

// === impl Plane ===

impl Plane {
    pub async fn start() -> Self {
        Self::with_time(TestTime::default()).await
    }

    pub async fn with_time(time: TestTime) -> Self {
        let key = Arc::new(SigningKey::from_seed([7; 32]));
        let hub = Arc::new(Hub::new(Arc::new(Index::new()), Arc::new(time.clone()), Arc::new(Heads(Arc::clone(&key)))));
        let (told, fed) = (Arc::new(Told::default()), Arc::new(AtomicBool::new(true)));
        let mut tasks = JoinSet::new();
        let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behind = inner.local_addr().unwrap();
        let hooks = Arc::new(Hooks::default());
        let api = Api::new(Arc::clone(&hub)).freshened_by(Arc::clone(&hooks) as _).counted_by(Arc::clone(&hooks) as _);
        let server = Server::builder()
            .add_service(AdmissionServiceServer::new(api))
            .add_service(DriftServiceServer::new(Reports(Arc::clone(&told))));
        tasks.spawn(async move { server.serve_with_incoming(TcpListenerStream::new(inner)).await.unwrap() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (open, is_open) = watch::channel(true);
        tasks.spawn(proxy(listener, behind, is_open));
        let plane = Self { hub, time, key, told, hooks, fed, address, open, _tasks: tasks };
        plane.extend();
        let (hub, time, fed) = (Arc::clone(&plane.hub), plane.time.clone(), Arc::clone(&plane.fed));
        let mut plane = plane;
        plane._tasks.spawn(async move {
            let mut ticks = tokio::time::interval(Duration::from_millis(20));
            loop {
                ticks.tick().await;
                if fed.load(Ordering::SeqCst) {
                    extend(hub.index(), &time);
                }
                hub.tick();
            }
        });
        plane
    }

    fn extend(&self) {
        extend(self.hub.index(), &self.time);
    }

    pub fn publish(&self, changes: impl IntoIterator<Item = Change>) -> Revision {
        let revision = Revision(self.hub.index().revision().0 + 1);
        self.hub.publish(changes, revision).unwrap();
        revision
    }

    pub fn set(&self, agent: &str, version: &str, state: State) -> Revision {
        self.publish([Change::Upsert(record(agent, version, state))])
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.address)).unwrap()
    }

    pub fn config(&self) -> RouterConfig {
        let mut config = RouterConfig::new(self.endpoint(), "router-1", Keyring::trusting([self.key.verifying_key()]));
        config.ask_within = Duration::from_secs(5);
        config
    }

    pub fn ports(&self) -> Ports {
        Ports { time: Arc::new(self.time.clone()), entropy: Arc::new(System) }
    }

    pub async fn router(&self) -> Router {
        self.router_with(self.config()).await
    }

    /// A router that is in step.
    pub async fn router_with(&self, config: RouterConfig) -> Router {
        let router = Router::connect_with(config, self.ports()).await.unwrap();
        assert!(router.ready(PATIENCE).await, "{:?}", router.status());
        // Until an echo is answered it takes the end of its lease two seconds too early.
        let certain =
            || router.control_time().is_some_and(|range| range.earliest + SignedDuration::from_secs(1) > range.latest);
        until("it knows the time", certain).await;
        router
    }

    /// Connections break, and no new ones are made.
    pub fn cut(&self) {
        self.open.send_replace(false);
    }

    pub fn mend(&self) {
        self.open.send_replace(true);
    }

    pub fn has_applied(&self, revision: Revision) -> bool {
        let proof = self.hub.proof(revision);
        proof.applied > 0 && proof.pending.is_empty()
    }
}

fn extend(index: &Index, time: &TestTime) {
    index.extend_lease(time.truth() + SignedDuration::from_secs(15));
}

async fn proxy(listener: TcpListener, behind: SocketAddr, mut open: watch::Receiver<bool>) {
    let mut pipes = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((mut near, _)) = accepted else { continue };
                if !*open.borrow() {
                    continue;
                }
                pipes.spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(behind).await {
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
            changed = open.changed() => {
                if changed.is_err() {
                    return;
                }
                if !*open.borrow() {
                    pipes.shutdown().await;
                }
            }
        }
    }
}

impl Hooks {
    fn run(hook: &Mutex<Option<Hook>>) {
        let hook = hook.lock().unwrap().take();
        tokio::task::block_in_place(|| hook.into_iter().for_each(|hook| hook()));
    }
}

#[tonic::async_trait]
impl Freshen for Hooks {
    async fn reach(&self, _: Revision) {
        Self::run(&self.reaching);
    }

    async fn newest(&self) -> Result<Revision, Status> {
        Err(Status::unavailable("nobody asks"))
    }
}

impl Decided for Hooks {
    fn decided(&self, _: &Query<'_>, _: &Decision) {
        Self::run(&self.answering);
    }
}

impl HeadSource for Heads {
    fn signed(&self, head: &Head) -> Option<Bytes> {
        Some(self.0.sign(HEAD_PAYLOAD_TYPE, head.payload()).to_json().into())
    }
}

#[tonic::async_trait]
impl DriftService for Reports {
    async fn report_drift(
        &self,
        request: Request<drift::ReportDriftRequest>,
    ) -> Result<Response<drift::ReportDriftResponse>, Status> {
        self.0.drift.lock().unwrap().push(request.into_inner());
        Ok(Response::new(drift::ReportDriftResponse::default()))
    }

    async fn report_outcomes(
        &self,
        request: Request<drift::ReportOutcomesRequest>,
    ) -> Result<Response<drift::ReportOutcomesResponse>, Status> {
        self.0.outcomes.lock().unwrap().push(request.into_inner());
        let refused = self.0.refuse.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if refused.is_ok() {
            return Err(Status::unavailable("not now"));
        }
        Ok(Response::new(drift::ReportOutcomesResponse::default()))
    }
}
