//! A decision point on loopback, and routers that watch it.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{Change, HEAD_PAYLOAD_TYPE, Head, Index, View as _, ViewScope};
use ostiary_canon::{
    Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_pdp::{Api, Clock, Guard, HeadSource, Hub};
use ostiary_proto::admission::v1::{
    self as proto, admission_service_client::AdmissionServiceClient, admission_service_server::AdmissionServiceServer,
    watch_admissions_request::Message as Say, watch_admissions_response::Message,
};
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Status, Streaming,
    metadata::MetadataMap,
    transport::{Channel, Endpoint, Server, server::TcpIncoming},
};

use crate::{
    copy::Copy,
    world::{seconds, start},
};

/// Longest wait for anything: far beyond what it takes, so that a full machine is no failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// The lease that a fresh reading of the database gives.
pub(crate) const LEASE: i64 = 15;

pub(crate) async fn within<T>(what: &str, wanted: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, wanted).await.unwrap_or_else(|_| panic!("{what} took longer than {PATIENCE:?}"))
}

pub(crate) fn signing_key() -> SigningKey {
    SigningKey::from_seed([5; 32])
}

pub(crate) fn trusted() -> Keyring {
    Keyring::trusting([signing_key().verifying_key()])
}

/// The time, and how much earlier it may be, in milliseconds.
pub(crate) struct MockClock(AtomicI64, AtomicI64);

impl Clock for MockClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn passed(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst) - self.1.load(Ordering::SeqCst)).unwrap()
    }
}

pub(crate) struct Key(AtomicBool);

impl HeadSource for Key {
    fn signed(&self, head: &Head) -> Option<Bytes> {
        let usable = self.0.load(Ordering::SeqCst);
        usable.then(|| signing_key().sign(HEAD_PAYLOAD_TYPE, head.payload()).to_json().into())
    }
}

/// Lets callers in by a header that names their namespaces; without it nobody.
struct ByHeader;

impl ByHeader {
    fn names(caller: &MetadataMap) -> Result<Vec<&str>, Status> {
        let names = caller.get("namespaces").and_then(|value| value.to_str().ok());
        names.map(|names| names.split(',').collect()).ok_or_else(|| Status::unauthenticated("say who you are"))
    }
}

impl Guard for ByHeader {
    fn may_ask(&self, caller: &MetadataMap, namespace: &str) -> Result<bool, Status> {
        let names = Self::names(caller)?;
        Ok(names.contains(&"*") || names.contains(&namespace))
    }

    fn may_copy(&self, caller: &MetadataMap, scope: &ViewScope) -> Result<String, Status> {
        let names = Self::names(caller)?;
        let reaches = names.contains(&"*") || matches!(scope, ViewScope::Namespace(name) if names.contains(&&**name));
        if reaches { Ok("caller".to_owned()) } else { Err(Status::permission_denied("not yours")) }
    }
}

/// A decision point on loopback. Its hub's clock stands still unless told, and it ticks only when told.
pub(crate) struct Host {
    pub(crate) hub: Arc<Hub>,
    clock: Arc<MockClock>,
    key: Arc<Key>,
    address: SocketAddr,
    _serving: JoinSet<()>,
}

pub(crate) type Client = AdmissionServiceClient<Channel>;

impl Host {
    /// With these changes at revision 1 and a lease from now on.
    pub(crate) async fn with(changes: impl IntoIterator<Item = Change>) -> Self {
        let clock = Arc::new(MockClock(AtomicI64::new(start().as_millisecond()), AtomicI64::new(0)));
        let key = Arc::new(Key(AtomicBool::new(true)));
        let hub = Arc::new(Hub::new(Arc::new(Index::new()), Arc::clone(&clock) as _, Arc::clone(&key) as _));
        hub.publish(changes, Revision(1)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let api = Api::new(Arc::clone(&hub)).guarded_by(Arc::new(ByHeader));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let service = AdmissionServiceServer::new(api);
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            Server::builder().add_service(service).serve_with_incoming(incoming).await.unwrap();
        });
        let host = Self { hub, clock, key, address, _serving: serving };
        host.renew_lease();
        host
    }

    pub(crate) fn index(&self) -> &Index {
        self.hub.index()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The database was read just now.
    pub(crate) fn renew_lease(&self) {
        self.index().extend_lease(self.now() + seconds(LEASE));
    }

    pub(crate) fn lease_until(&self) -> Timestamp {
        self.index().freshness().lease_until
    }

    pub(crate) fn pass(&self, time: i64) {
        self.clock.0.fetch_add(time * 1_000, Ordering::SeqCst);
    }

    /// From now on the clock is only an estimate, which may be so much too late.
    pub(crate) fn may_be_late(&self, time: i64) {
        self.clock.1.store(time * 1_000, Ordering::SeqCst);
    }

    pub(crate) fn key_usable(&self, usable: bool) {
        self.key.0.store(usable, Ordering::SeqCst);
    }

    /// The next revision, with these changes.
    pub(crate) fn publish(&self, changes: impl IntoIterator<Item = Change>) -> Revision {
        let next = Revision(self.index().revision().0 + 1);
        self.hub.publish(changes, next).unwrap();
        next
    }

    /// So many looks at what is due: twenty are two seconds.
    pub(crate) fn ticks(&self, count: usize) {
        (0..count).for_each(|_| self.hub.tick());
    }

    pub(crate) async fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        // Little fits on the wire, so that who does not read is soon felt.
        let endpoint = endpoint.initial_stream_window_size(65_535);
        AdmissionServiceClient::new(within("connecting", endpoint.connect()).await.unwrap())
    }

    /// Opens a watch, on a connection of its own.
    pub(crate) async fn watch(&self, router: &str, scope: &str) -> Watcher {
        Watcher::open(self.client().await, router, Copy::of(scope), None).await
    }

    /// Goes on where `copy` is.
    pub(crate) async fn resume(&self, router: &str, copy: Copy) -> Watcher {
        let resume = copy.verified.as_ref().map(|head| (head.revision, head.root));
        let resume = resume.map(|(revision, root)| (revision, Bytes::copy_from_slice(root.as_bytes())));
        Watcher::open(self.client().await, router, copy, resume).await
    }

    /// Waits until the hub says so.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Hub) -> bool) {
        within(what, async {
            while !holds(&self.hub) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// A request as a caller that reaches `namespaces`.
pub(crate) fn as_caller<T>(namespaces: &'static str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("namespaces", namespaces.parse().unwrap());
    request
}

/// A router of the tests: a copy, and the stream that keeps it in step.
pub(crate) struct Watcher {
    pub(crate) copy: Copy,
    pub(crate) said: mpsc::Sender<proto::WatchAdmissionsRequest>,
    pub(crate) told: Streaming<proto::WatchAdmissionsResponse>,
}

impl Watcher {
    async fn open(mut client: Client, router: &str, copy: Copy, resume: Option<(Revision, Bytes)>) -> Self {
        let (said, queue) = mpsc::channel(64);
        let (revision, resume_root) = resume.map_or((None, Bytes::new()), |(revision, root)| (Some(revision), root));
        let start = proto::WatchStart {
            scope: copy.scope.to_string(),
            router_id: router.to_owned(),
            resume: revision.map(|revision| proto::RevisionToken { revision: revision.0 }),
            resume_root,
        };
        let start = proto::WatchAdmissionsRequest { message: Some(Say::Start(start)) };
        said.send(start).await.unwrap();
        let call = client.watch_admissions(as_caller("*", ReceiverStream::new(queue)));
        let told = within("opening a watch", call).await.unwrap().into_inner();
        Self { copy, said, told }
    }

    pub(crate) async fn say(&self, message: Say) {
        self.said.send(proto::WatchAdmissionsRequest { message: Some(message) }).await.unwrap();
    }

    pub(crate) async fn acknowledge(&self, revision: Revision) {
        self.say(Say::Applied(proto::Applied { revision: revision.0 })).await;
    }

    /// The next message, not applied.
    pub(crate) async fn heard(&mut self) -> Result<Message, Status> {
        let heard = within("the next message", self.told.message()).await?;
        Ok(heard.expect("a stream does not end by itself").message.expect("a message of a kind that we know"))
    }

    /// The next message, applied.
    pub(crate) async fn next(&mut self) -> Message {
        let message = self.heard().await.unwrap();
        self.copy.take(&message);
        message
    }

    /// Applies what comes until the copy is at `revision`.
    pub(crate) async fn reach(&mut self, revision: Revision) {
        while self.copy.revision < revision || !self.copy.complete {
            self.next().await;
        }
    }

    /// How the stream ends; what comes before is applied.
    pub(crate) async fn ends(&mut self) -> Status {
        loop {
            match self.heard().await {
                Ok(message) => self.copy.take(&message),
                Err(status) => return status,
            }
        }
    }
}
