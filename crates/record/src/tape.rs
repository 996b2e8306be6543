//! The run's sequencer: stamps events on arrival and replaces known credentials.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use memchr::memmem;

use crate::{
    blob::Blob,
    event::{ActorId, Event, ExchangeId, Kind, MonoNanos, RawHeaders, Seq, Source},
};

/// Monotonic time since the run began; the real one lives in the worker, tests step their own.
pub trait Monotonic: Send + Sync {
    /// Now.
    fn now(&self) -> MonoNanos;
}

/// A handle to the tape of one recording; clones write to the same tape.
#[derive(Clone)]
pub struct Tape {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Monotonic>,
    events: Mutex<Vec<Event>>,
    exchanges: AtomicU64,
    secrets: Mutex<Vec<(Vec<u8>, ActorId)>>,
}

/// Shortest credential that is looked for: shorter ones would blacken ordinary text.
const MIN_SECRET: usize = 6;

// === impl Tape ===

impl Tape {
    /// An empty tape on a clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Monotonic>) -> Self {
        let inner = Inner { clock, events: Mutex::default(), exchanges: AtomicU64::new(0), secrets: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Makes the tape write `⟨credential:ACTOR⟩` wherever `secret` would appear from now on.
    pub fn hide(&self, secret: &str, actor: &ActorId) {
        let mut secrets = lock(&self.inner.secrets);
        let known = secrets.iter().any(|(known, _)| known == secret.as_bytes());
        if secret.len() >= MIN_SECRET && !known {
            secrets.push((secret.as_bytes().to_vec(), actor.clone()));
        }
    }

    /// A new exchange id.
    #[must_use]
    pub fn next_exchange(&self) -> ExchangeId {
        ExchangeId(self.inner.exchanges.fetch_add(1, Ordering::Relaxed))
    }

    /// The tape's clock.
    #[must_use]
    pub fn now(&self) -> MonoNanos {
        self.inner.clock.now()
    }

    /// Writes one event, stamped with place and time, and returns it as written.
    pub fn push(&self, from: Source, kind: Kind) -> Event {
        let kind = self.redacted(kind);
        let mut events = lock(&self.inner.events);
        let seq = Seq(events.len() as u64);
        let event = Event { seq, at: self.inner.clock.now(), from, kind };
        events.push(event.clone());
        event
    }

    /// What is on the tape of one exchange so far.
    #[must_use]
    pub fn events_of(&self, x: ExchangeId) -> Vec<Event> {
        let events = lock(&self.inner.events);
        let begins = |event: &Event| matches!(&event.kind, Kind::Sent { x: of, .. } if *of == x);
        let Some(first) = events.iter().rposition(begins) else { return Vec::new() };
        events[first..].iter().filter(|event| event.kind.exchange() == Some(x)).cloned().collect()
    }

    /// Takes what is on the tape, whose recording is over.
    #[must_use]
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *lock(&self.inner.events))
    }

    /// A copy of what is on the tape so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        lock(&self.inner.events).clone()
    }

    fn redacted(&self, kind: Kind) -> Kind {
        let secrets = lock(&self.inner.secrets);
        if secrets.is_empty() {
            return kind;
        }
        let blob = |b: Blob| hide_all(&secrets, b);
        let fields = |h: RawHeaders| h.into_iter().map(|(n, v)| (n, hide_all(&secrets, v))).collect();
        match kind {
            Kind::Sent { x, route, headers, bytes, intent } => {
                Kind::Sent { x, route, headers: fields(headers), bytes: blob(bytes), intent }
            }
            Kind::Head { x, status, headers } => Kind::Head { x, status, headers: fields(headers) },
            Kind::Frame { x, n, bytes } => Kind::Frame { x, n, bytes: blob(bytes) },
            Kind::Trailers { x, headers } => Kind::Trailers { x, headers: fields(headers) },
            Kind::Inbound { channel, bytes } => Kind::Inbound { channel, bytes: blob(bytes) },
            Kind::Document { name, bytes } => Kind::Document { name, bytes: blob(bytes) },
            other => other,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hide_all(secrets: &[(Vec<u8>, ActorId)], blob: Blob) -> Blob {
    let mut bytes = blob.0;
    for (secret, actor) in secrets {
        if let Some(replaced) = replace(&bytes, secret, format!("⟨credential:{actor}⟩").as_bytes()) {
            bytes = Bytes::from(replaced);
        }
    }
    Blob(bytes)
}

fn replace(haystack: &[u8], needle: &[u8], with: &[u8]) -> Option<Vec<u8>> {
    let mut found = memmem::find_iter(haystack, needle).peekable();
    found.peek()?;
    let mut out = Vec::with_capacity(haystack.len());
    let mut done = 0;
    for at in found {
        out.extend_from_slice(&haystack[done..at]);
        out.extend_from_slice(with);
        done = at + needle.len();
    }
    out.extend_from_slice(&haystack[done..]);
    Some(out)
}
