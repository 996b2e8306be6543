//! A small honest router on a real connection: keeps a copy, decides on it, says what it applied. And a frozen one.

use std::sync::Arc;

use ostiary_admission::{Decision, Index, Query, VerifiedHead, View as _, wire::Sent};
use ostiary_canon::{Revision, dsse::Keyring};
use ostiary_domain::Clock;
use ostiary_proto::admission::v1::{
    Applied, WatchAdmissionsRequest, WatchAdmissionsResponse, WatchStart,
    admission_service_client::AdmissionServiceClient, watch_admissions_request::Message as Say,
    watch_admissions_response::Message,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Streaming, transport::Channel};

use crate::app::{ROUTER, token};

/// What a router holds.
pub struct Router {
    pub index: Arc<Index>,
    keys: Keyring,
    said: mpsc::Sender<WatchAdmissionsRequest>,
    told: Streaming<WatchAdmissionsResponse>,
    snapshot: Vec<Sent>,
    at: Revision,
}

/// A router that keeps its copy in step by itself.
pub struct Followed {
    pub index: Arc<Index>,
    /// The revision that it acknowledged last.
    pub applied: watch::Receiver<Revision>,
    _task: JoinSet<()>,
}

impl Router {
    /// Opens a watch.
    pub async fn watch(url: String, router_id: &str, scope: &str, keys: Keyring) -> Self {
        let channel = Channel::from_shared(url).expect("a URL").connect().await.expect("listens");
        let (said, saying) = mpsc::channel(64);
        let start = WatchStart { scope: scope.into(), router_id: router_id.into(), ..WatchStart::default() };
        said.send(WatchAdmissionsRequest { message: Some(Say::Start(start)) }).await.expect("open");
        let mut request = Request::new(ReceiverStream::new(saying));
        let field = format!("Bearer {}", token(ROUTER)).parse().expect("ASCII");
        request.metadata_mut().insert("authorization", field);
        let told = AdmissionServiceClient::new(channel).watch_admissions(request).await.expect("watches").into_inner();
        Self { index: Arc::default(), keys, said, told, snapshot: Vec::new(), at: Revision(0) }
    }

    /// Reads one message and applies it; the revision that it may now be acknowledged, if any.
    pub async fn step(&mut self) -> Option<Revision> {
        let message = self.told.message().await.expect("goes on").expect("open").message.expect("understood");
        match message {
            Message::SnapshotBegin(begin) => self.at = Revision(begin.revision),
            Message::SnapshotChunk(chunk) => {
                let read = chunk.entries.iter().map(|entry| Sent::read(entry, self.at).expect("an entry"));
                self.snapshot.extend(read);
            }
            Message::SnapshotEnd(end) => {
                self.index.replace_sent(std::mem::take(&mut self.snapshot), self.at).expect("not older");
                self.trust(&end.head);
                return Some(self.at);
            }
            Message::Delta(delta) => {
                assert_eq!(delta.from, self.at.0, "deltas join");
                self.at = Revision(delta.to);
                let entries: Vec<_> = delta.entries.iter().map(|e| Sent::read(e, self.at).expect("an entry")).collect();
                self.index.publish_sent(entries, self.at).expect("not older");
                if !delta.head.is_empty() {
                    self.trust(&delta.head);
                }
                return Some(self.at);
            }
            Message::Heartbeat(beat) => self.trust(&beat.head),
            other => panic!("unexpected: {other:?}"),
        }
        None
    }

    fn trust(&self, head: &[u8]) {
        let head = VerifiedHead::read(head, &self.keys).expect("signed by the server");
        if head.head().revision == self.at {
            self.index.extend_lease(head.head().lease_until);
        }
    }

    /// Says that it decides on nothing older.
    pub async fn acknowledge(&self, revision: Revision) {
        let applied = Say::Applied(Applied { revision: revision.0 });
        self.said.send(WatchAdmissionsRequest { message: Some(applied) }).await.expect("open");
    }

    /// Reads until the copy is there.
    pub async fn fill(&mut self) {
        while self.step().await.is_none() {}
    }

    /// From now on keeps in step and acknowledges everything.
    pub fn follow(mut self) -> Followed {
        let (acknowledged, applied) = watch::channel(self.at);
        let (index, mut task) = (Arc::clone(&self.index), JoinSet::new());
        task.spawn(async move {
            loop {
                if let Some(revision) = self.step().await {
                    self.acknowledge(revision).await;
                    acknowledged.send_replace(revision);
                }
            }
        });
        Followed { index, applied, _task: task }
    }
}

/// Decides as a router does on its own copy.
pub fn decide(index: &Index, query: &Query<'_>, at_least: Option<u64>, clock: &dyn Clock) -> Decision {
    index.check(query, at_least.map(Revision), clock.now())
}
