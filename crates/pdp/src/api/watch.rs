//! Watch streams and snapshots.
//!
//! A stream is a state that tonic polls: no task and no queue of its own, so that a step goes from the publisher's wake
//! straight into the connection. What a slow reader has not read yet lies in the scope's ring, shared with all others:
//! it costs nothing to have one. It is cut when it reads on and its next step is gone; one that never does, falls to the
//! host's keep-alive.

use std::{collections::VecDeque, pin::Pin, sync::Arc, sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use ostiary_admission::{ViewScope, wire::timestamp_to_wire};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{
    self as proto, get_snapshot_response::Message as Part, watch_admissions_request::Message as Said,
    watch_admissions_response::Message,
};
use tonic::{Request, Status, Streaming, metadata::MetadataMap};

use super::Api;
use crate::{
    hub::{Delta, Hub, News, Snapshot, Start, Step, Subscription},
    watchers::Seated,
};

/// A watch as tonic sends it.
pub type WatchStream = Pin<Box<dyn Stream<Item = Result<proto::WatchAdmissionsResponse, Status>> + Send>>;

/// A snapshot as tonic sends it.
pub type SnapshotStream = Pin<Box<dyn Stream<Item = Result<proto::GetSnapshotResponse, Status>> + Send>>;

/// How long a stream may be open without saying what it is for.
const START: Duration = Duration::from_secs(10);

/// Messages of a router that are heard before it is told something: whoever never stops talking is not listened to for
/// ever, and holds up nobody but itself.
const AT_ONCE: usize = 64;

/// Longest name of a router, in bytes.
const ROUTER_ID: usize = 256;

// === impl Api ===

impl Api {
    pub(super) fn watch(&self, request: Request<Streaming<proto::WatchAdmissionsRequest>>) -> WatchStream {
        let (metadata, _, said) = request.into_parts();
        let begin = Begin { api: self.clone(), metadata, said };
        Box::pin(stream::try_unfold(Watch::Begin(Box::new(begin)), Watch::next))
    }

    pub(super) async fn copy(&self, request: Request<proto::GetSnapshotRequest>) -> Result<SnapshotStream, Status> {
        let (metadata, _, message) = request.into_parts();
        let (scope, caller) = self.may_copy(&metadata, &message.scope)?;
        let snapshot = self.hub.snapshot(&scope, &caller).await?;
        let begin = Part::SnapshotBegin(begin(&snapshot));
        let parts = stream::once(async { begin }).chain(stream::unfold(Some(snapshot), |left| async move {
            let mut snapshot = left?;
            match snapshot.chunk() {
                Some(entries) => Some((Part::SnapshotChunk(proto::SnapshotChunk { entries }), Some(snapshot))),
                None => Some((Part::SnapshotEnd(end(&snapshot)), None)),
            }
        }));
        Ok(Box::pin(parts.map(|part| Ok(proto::GetSnapshotResponse { message: Some(part) }))))
    }
}

/// A watch's life.
enum Watch {
    Begin(Box<Begin>),
    Open(Box<Open>),
}

/// Before it says what it is for.
struct Begin {
    api: Api,
    metadata: MetadataMap,
    said: Streaming<proto::WatchAdmissionsRequest>,
}

struct Open {
    hub: Arc<Hub>,
    scope: ViewScope,
    seat: Seated,
    /// `None` once the router has closed its side: it may go on reading.
    said: Option<Streaming<proto::WatchAdmissionsRequest>>,
    subscription: Subscription,
    /// What is to be told before anything else.
    first: VecDeque<Message>,
    snapshot: Option<Box<Snapshot>>,
}

type Told = Result<Option<(proto::WatchAdmissionsResponse, Watch)>, Status>;

// === impl Watch ===

impl Watch {
    async fn next(self) -> Told {
        let mut open = match self {
            Self::Begin(begin) => match begin.open().await? {
                Some(open) => Box::new(open),
                None => return Ok(None),
            },
            Self::Open(open) => open,
        };
        let message = open.next().await?;
        Ok(Some((proto::WatchAdmissionsResponse { message: Some(message) }, Self::Open(open))))
    }
}

// === impl Begin ===

impl Begin {
    /// Opens; `None` when the router has gone away.
    async fn open(self) -> Result<Option<Open>, Status> {
        let Self { api, metadata, mut said } = self;
        let heard = tokio::time::timeout(START, said.message()).await;
        let heard = heard.map_err(|_| Status::deadline_exceeded("a watch begins with WatchStart"))??;
        let start = match heard.map(|heard| heard.message) {
            None => return Ok(None),
            Some(Some(Said::Start(start))) => start,
            Some(_) => return Err(Status::invalid_argument("a watch begins with WatchStart")),
        };
        let (scope, _) = api.may_copy(&metadata, &start.scope)?;
        let name = &start.router_id;
        if name.is_empty() || name.len() > ROUTER_ID || name.chars().any(char::is_control) {
            // It is shown on terminals.
            let why = format!("`router_id` must be a name of at most {ROUTER_ID} bytes without control characters");
            return Err(Status::invalid_argument(why));
        }
        let resume = start.resume.map(|token| (Revision(token.revision), &start.resume_root[..]));
        // Seated first: whoever asks for a proof from now on hears that somebody may be told something older.
        let seat = api.hub.watchers.seat(start.router_id, scope.clone(), Revision(0));
        let (subscription, begun) = api.hub.subscribe(&scope, resume).await?;
        let hub = Arc::clone(&api.hub);
        let mut open =
            Open { hub, scope, seat, said: Some(said), subscription, first: VecDeque::new(), snapshot: None };
        open.begin(begun);
        Ok(Some(open))
    }
}

// === impl Open ===

impl Open {
    fn begin(&mut self, start: Start) {
        match start {
            Start::Resumed(revision, missed) => {
                self.seat.0.sent(revision);
                self.first.push_back(Message::Resumed(proto::Resumed { revision: revision.0 }));
                let missed = missed.map(|missed| self.delta(&missed));
                self.first.extend(missed);
            }
            Start::Snapshot { snapshot, resync } => {
                if resync {
                    self.first.push_back(resync_because("the history asked for is not here, or is not ours"));
                }
                self.first.push_back(Message::SnapshotBegin(begin(&snapshot)));
                self.snapshot = Some(snapshot);
            }
        }
    }

    async fn next(&mut self) -> Result<Message, Status> {
        loop {
            if let Some(message) = self.heard_already()? {
                return Ok(message);
            }
            if let Some(message) = self.first.pop_front() {
                return Ok(message);
            }
            if self.snapshot.is_some() {
                return self.snapshot_part();
            }
            match self.subscription.ready() {
                Some(News::TooSlow) => return Err(self.cut()),
                Some(News::Beat(head)) => {
                    self.seat.0.granted(head.revision, head.lease_until);
                    return Ok(Message::Heartbeat(proto::Heartbeat { head: head.bytes }));
                }
                Some(News::Step(step)) => match &*step {
                    Step::Delta(delta) => return Ok(self.delta(delta)),
                    Step::Resync => self.resync().await?,
                },
                None => self.wait().await?,
            }
        }
    }

    /// What the router said meanwhile, without waiting for it.
    fn heard_already(&mut self) -> Result<Option<Message>, Status> {
        for _ in 0..AT_ONCE {
            let Some(said) = &mut self.said else { break };
            let Some(heard) = said.message().now_or_never() else { break };
            if let Some(reply) = self.heard(heard)? {
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }

    async fn wait(&mut self) -> Result<(), Status> {
        let Some(said) = &mut self.said else {
            self.subscription.changed().await;
            return Ok(());
        };
        let heard = tokio::select! {
            biased;
            () = self.subscription.changed() => return Ok(()),
            heard = said.message() => heard,
        };
        let reply = self.heard(heard)?;
        self.first.extend(reply);
        Ok(())
    }

    fn heard(
        &mut self,
        heard: Result<Option<proto::WatchAdmissionsRequest>, Status>,
    ) -> Result<Option<Message>, Status> {
        let Some(request) = heard? else {
            self.said = None;
            return Ok(None);
        };
        match request.message {
            Some(Said::Applied(proto::Applied { revision })) => {
                let applied = self.seat.0.applied(Revision(revision));
                applied.map_err(|_| Status::invalid_argument(format!("revision {revision} was never sent here")))?;
                Ok(None)
            }
            Some(Said::Echo(proto::Echo { nonce })) => {
                let at = Some(timestamp_to_wire(self.hub.now()));
                Ok(Some(Message::EchoReply(proto::EchoReply { nonce, at })))
            }
            Some(Said::Refused(refused)) => Err(self.refused(&refused)),
            Some(Said::Start(_)) => Err(Status::invalid_argument("a watch begins once")),
            None => Err(Status::invalid_argument("a message of a kind that this version does not know")),
        }
    }

    fn delta(&self, delta: &Delta) -> Message {
        match &delta.head {
            Some(head) => self.seat.0.granted(head.revision, head.lease_until),
            None => self.seat.0.sent(delta.to),
        }
        Message::Delta(proto::Delta {
            from: delta.from.0,
            to: delta.to.0,
            entries: delta.entries.clone(),
            head: delta.head.as_ref().map_or_else(Bytes::new, |head| head.bytes.clone()),
        })
    }

    fn snapshot_part(&mut self) -> Result<Message, Status> {
        // Whoever reads so slowly that the history after the snapshot is gone would have to begin again anyway.
        if self.subscription.is_too_slow() {
            return Err(self.cut());
        }
        let snapshot = self.snapshot.as_mut().expect("asked for while there is one");
        if let Some(entries) = snapshot.chunk() {
            return Ok(Message::SnapshotChunk(proto::SnapshotChunk { entries }));
        }
        let end = end(snapshot);
        self.seat.0.granted(snapshot.head.revision, snapshot.head.lease_until);
        self.snapshot = None;
        Ok(Message::SnapshotEnd(end))
    }

    async fn resync(&mut self) -> Result<(), Status> {
        let (subscription, start) = self.hub.subscribe(&self.scope, None).await?;
        self.subscription = subscription;
        self.first.push_back(resync_because("more changed than a message holds"));
        self.begin(start);
        Ok(())
    }

    fn cut(&self) -> Status {
        self.hub.counts.slow_readers_cut.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(router = self.seat.0.router_id(), scope = %self.scope, "a router reads too slowly; its stream is cut");
        Status::resource_exhausted("you read too slowly; the history that you would need next is gone")
    }

    fn refused(&self, refused: &proto::Refused) -> Status {
        // A number that this version does not know counts as the first, unspecified one.
        self.hub.counts.refused[refused.reason() as usize].fetch_add(1, Ordering::Relaxed);
        let detail: String = refused.detail.chars().filter(|char| !char.is_control()).take(200).collect();
        tracing::error!(
            router = self.seat.0.router_id(), scope = %self.scope, revision = refused.revision,
            reason = refused.reason().as_str_name(), detail, "a router refuses a revision; its stream is closed",
        );
        Status::failed_precondition("you refused a revision; begin again")
    }
}

fn begin(snapshot: &Snapshot) -> proto::SnapshotBegin {
    proto::SnapshotBegin { revision: snapshot.revision().0, entries: snapshot.entries }
}

fn end(snapshot: &Snapshot) -> proto::SnapshotEnd {
    proto::SnapshotEnd { head: snapshot.head.bytes.clone() }
}

fn resync_because(detail: &str) -> Message {
    Message::Resync(proto::Resync { detail: detail.to_owned() })
}
