//! What every test needs: a clock, a tape, a channel, and the events of one exchange.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use ostiary_drivers::{AddressGuard, HttpTransport, Settings};
use ostiary_record::{
    ActorId, End, ExchangeId, Kind, MonoNanos, Monotonic, OpName, Route, Tape, TargetId,
    ports::{Actor, Carrier, Channel, CouldNotRun, Deadline, Limits, Next, Outbound, Target, Transport},
};

use crate::server::RawServer;

struct Clock(Instant);

impl Monotonic for Clock {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.0.elapsed().as_nanos() as u64)
    }
}

pub fn tape() -> Tape {
    #[expect(clippy::disallowed_methods, reason = "the tests' one clock")]
    let start = Instant::now();
    Tape::new(Arc::new(Clock(start)))
}

/// A clock on which so many nanoseconds pass whenever somebody looks.
struct StepClock {
    now: AtomicU64,
    step: u64,
}

impl Monotonic for StepClock {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.now.fetch_add(self.step, Ordering::Relaxed))
    }
}

fn stepping(step: u64) -> Tape {
    Tape::new(Arc::new(StepClock { now: AtomicU64::new(0), step }))
}

/// A tape on which connections have always rested since their last answer.
pub fn hasty_tape() -> Tape {
    stepping(10_000_000)
}

/// A tape on which no time passes.
pub fn still_tape() -> Tape {
    stepping(0)
}

pub fn settings(server: &RawServer) -> Settings {
    let guard = AddressGuard::public_only().exempt(&server.addr.to_string()).unwrap();
    Settings { allow_insecure_http: true, guard, ..Settings::default() }
}

pub fn actor() -> Actor {
    let credentials = vec![("Authorization".to_owned(), "Bearer s3cret-token".to_owned())];
    Actor { id: ActorId::from("allowed-user-a"), credentials }
}

pub fn nobody() -> Actor {
    Actor { id: ActorId::from("anonymous"), credentials: Vec::new() }
}

/// Bounds small enough to be hit in a test.
pub fn limits() -> Limits {
    Limits {
        body_bytes: 256 << 10,
        frame_bytes: 128 << 10,
        frames: 50,
        header_bytes: 8 << 10,
        connect: Duration::from_secs(2),
        exchange: Duration::from_secs(5),
    }
}

pub fn post(body: &str) -> Outbound {
    Outbound {
        route: Route::Http { method: "POST".into(), path: String::new() },
        headers: vec![("Content-Type".into(), "application/json".into()), ("A2A-Version".into(), "1.0".into())],
        body: Bytes::copy_from_slice(body.as_bytes()),
        intent: Some(OpName::from("SendMessage")),
    }
}

pub async fn open_with(
    settings: Settings,
    url: String,
    actor: &Actor,
    limits: Limits,
) -> Result<(Tape, Box<dyn Channel>), CouldNotRun> {
    let tape = tape();
    let channel = open_on(&tape, settings, url, (actor, limits)).await?;
    Ok((tape, channel))
}

/// A channel to a target of either carrier.
pub async fn open_to(
    settings: Settings,
    url: String,
    (actor, limits): (&Actor, Limits),
    carrier: Carrier,
) -> Result<(Tape, Box<dyn Channel>), CouldNotRun> {
    let tape = tape();
    let target = Target { id: TargetId::from("interface-0"), url, carrier };
    let channel = HttpTransport::new(settings).unwrap().open(&tape, &target, actor, limits).await?;
    Ok((tape, channel))
}

pub async fn open_on(
    tape: &Tape,
    settings: Settings,
    url: String,
    (actor, limits): (&Actor, Limits),
) -> Result<Box<dyn Channel>, CouldNotRun> {
    let target = Target { id: TargetId::from("interface-0"), url, carrier: Carrier::Http };
    HttpTransport::new(settings).unwrap().open(tape, &target, actor, limits).await
}

pub async fn open(server: &RawServer) -> (Tape, Box<dyn Channel>) {
    open_with(settings(server), server.url("/a2a"), &nobody(), limits()).await.unwrap()
}

/// What came back for one request.
#[derive(Debug)]
pub struct Seen {
    pub status: Option<u16>,
    pub headers: Vec<(String, String)>,
    pub frames: Vec<Bytes>,
    pub end: End,
}

impl Seen {
    pub fn text(&self, n: usize) -> &str {
        std::str::from_utf8(&self.frames[n]).unwrap()
    }

    /// The reason of a peer's fault.
    pub fn broken(&self) -> &str {
        match &self.end {
            End::PeerReset { why } => why,
            other => panic!("expected PeerReset, got {other:?}"),
        }
    }

    pub fn limit(&self) -> &str {
        match &self.end {
            End::Limit { which } => which,
            other => panic!("expected Limit, got {other:?}"),
        }
    }
}

pub fn soon(tape: &Tape) -> Deadline {
    Deadline(MonoNanos(tape.now().0 + 10_000_000_000))
}

/// The next event of the channel; a test that waits ten seconds has failed.
pub async fn next(tape: &Tape, channel: &mut dyn Channel) -> Kind {
    match channel.next(soon(tape)).await {
        Next::Event(event) => event.kind,
        other => panic!("nothing came: {other:?}"),
    }
}

/// Waits for a condition of the server; a test that waits ten seconds has failed.
pub async fn until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("the condition never came true");
}

/// Runs until the exchange is over.
pub async fn finish(tape: &Tape, channel: &mut dyn Channel, x: ExchangeId) -> Seen {
    let mut seen = Seen { status: None, headers: vec![], frames: vec![], end: End::Complete };
    loop {
        match next(tape, channel).await {
            Kind::Head { x: at, status, headers } if at == x => {
                seen.status = Some(status);
                seen.headers = headers.into_iter().map(|(n, v)| (n, v.as_str().unwrap().to_owned())).collect();
            }
            Kind::Frame { x: at, n, bytes } if at == x => {
                assert_eq!(n as usize, seen.frames.len(), "frames are numbered");
                seen.frames.push(bytes.0);
            }
            Kind::Ended { x: at, how } if at == x => return Seen { end: how, ..seen },
            _ => {}
        }
    }
}

/// One request to a server that answers with these bytes.
pub async fn answer(bytes: impl Into<Vec<u8>>) -> Seen {
    let server = RawServer::fixed(bytes).await;
    ask(&server).await
}

pub async fn ask(server: &RawServer) -> Seen {
    let (tape, mut channel) = open(server).await;
    let x = channel.start(post("{}"));
    finish(&tape, channel.as_mut(), x).await
}
