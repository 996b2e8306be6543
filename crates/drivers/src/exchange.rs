//! One request and all that comes back for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use ostiary_record::{
    Blob, End, Event, ExchangeId, Kind, Source, Tape,
    ports::{Abort, Limits},
};
use tokio::{
    io::{AsyncRead, AsyncWriteExt, ReadHalf, WriteHalf},
    sync::{mpsc, watch},
};

use crate::{
    dial::{Conn, DialError},
    io::Stream,
    request::Encoded,
    sse::Splitter,
    transport::Link,
    wire::{Reader, WireError},
};

/// What one exchange needs to run by itself.
pub(crate) struct Exchange {
    pub(crate) link: Arc<Link>,
    pub(crate) request: Encoded,
    pub(crate) limits: Limits,
    pub(crate) reporter: Reporter,
    pub(crate) signal: watch::Receiver<Option<Abort>>,
}

/// Writes an exchange's events to the tape, and sees to it that nothing follows its end.
#[derive(Clone)]
pub(crate) struct Reporter {
    pub(crate) tape: Tape,
    pub(crate) from: Source,
    pub(crate) x: ExchangeId,
    pub(crate) out: mpsc::Sender<Event>,
    pub(crate) ended: Arc<Mutex<bool>>,
}

/// Bytes of an answer beyond a bound that are kept as evidence.
const KEPT_BEYOND_BOUND: usize = 64 << 10;

enum Stop {
    Ended(End),
    /// We broke off; the end is on the tape already.
    Aborted(Abort),
}

// === impl Exchange ===

impl Exchange {
    /// Runs to the end of the exchange, whichever way it comes.
    pub(crate) async fn run(mut self) {
        let limit = self.limits.exchange;
        let end = match tokio::time::timeout(limit, self.attempt()).await {
            Ok(end) => end,
            Err(_) => Some(End::Deadline),
        };
        if let Some(how) = end {
            self.reporter.report(Kind::Ended { x: self.reporter.x, how }).await;
        }
    }

    /// `None` when we broke off ourselves.
    async fn attempt(&mut self) -> Option<End> {
        let mut conn = match self.connection().await? {
            Ok(conn) => conn,
            Err(error) => return Some(End::NoConnection { why: error.to_string() }),
        };
        let reused = conn.answers > 0;
        let (read, mut write) = tokio::io::split(conn.stream);
        let mut reader = Reader::new(read, std::mem::take(&mut conn.unread), self.limits.header_bytes);
        let (stop, sent) = self.converse(&mut reader, &mut write).await;
        let reusable = sent && reader.reusable();
        let (read, unread) = reader.into_parts();
        conn.stream = read.unsplit(write);
        match stop {
            Stop::Ended(End::Complete) if reusable => {
                conn.unread = unread;
                conn.answers += 1;
                self.link.give_back(conn, &self.reporter.tape);
                Some(End::Complete)
            }
            Stop::Ended(End::PeerReset { why }) if reused => {
                Some(End::PeerReset { why: format!("{why} (on a connection that had been used before)") })
            }
            Stop::Ended(end) => Some(end),
            Stop::Aborted(Abort::Reset) => {
                conn.stream.reset();
                None
            }
            Stop::Aborted(_) => None,
        }
    }

    async fn connection(&mut self) -> Option<Result<Conn, DialError>> {
        if let Some(conn) = self.link.take(&self.reporter.tape) {
            return Some(Ok(conn));
        }
        let dialling = self.link.dial(self.limits.connect);
        tokio::pin!(dialling);
        loop {
            tokio::select! {
                done = &mut dialling => return Some(done),
                how = next_abort(&mut self.signal) => {
                    if how != Abort::HalfClose {
                        return None;
                    }
                }
            }
        }
    }

    /// Sends and reads at the same time: a peer may answer before it has read everything. The flag says whether the
    /// whole request has left.
    async fn converse(&mut self, reader: &mut Reader<ReadHalf<Stream>>, write: &mut WriteHalf<Stream>) -> (Stop, bool) {
        let Self { request, limits, reporter, signal, .. } = self;
        let reading = read_answer(reader, &request.method, *limits, reporter);
        tokio::pin!(reading);
        let mut half_close = false;
        {
            let writing = send(write, &request.bytes);
            tokio::pin!(writing);
            loop {
                tokio::select! {
                    // A failure to send is told by the answer, or by its absence.
                    sent = &mut writing => match sent {
                        Ok(()) => break,
                        Err(_) => return (Stop::Ended(reading.await), false),
                    },
                    end = &mut reading => return (Stop::Ended(end), false),
                    how = next_abort(signal) => match how {
                        Abort::HalfClose => half_close = true,
                        how => return (Stop::Aborted(how), false),
                    },
                }
            }
        }
        if half_close {
            finish_sending(write).await;
        }
        loop {
            tokio::select! {
                end = &mut reading => return (Stop::Ended(end), true),
                how = next_abort(signal) => match how {
                    Abort::HalfClose => finish_sending(write).await,
                    how => return (Stop::Aborted(how), true),
                },
            }
        }
    }
}

// === impl Reporter ===

impl Reporter {
    /// Writes to the tape unless the exchange has ended; never waits.
    pub(crate) fn record(&self, kind: Kind) -> Option<Event> {
        let mut ended = lock(&self.ended);
        if *ended {
            return None;
        }
        *ended = matches!(kind, Kind::Ended { .. });
        Some(self.tape.push(self.from.clone(), kind))
    }

    /// Writes to the tape and tells the channel. A channel that nobody reads holds the exchange up and with it the
    /// peer, so that memory stays bounded.
    async fn report(&self, kind: Kind) {
        if let Some(event) = self.record(kind) {
            // Fails when the channel is gone; then nobody waits for the event.
            let _ = self.out.send(event).await;
        }
    }
}

async fn send(write: &mut WriteHalf<Stream>, bytes: &Bytes) -> std::io::Result<()> {
    write.write_all(bytes).await?;
    write.flush().await
}

async fn finish_sending(write: &mut WriteHalf<Stream>) {
    // A peer that is gone already cannot be told; its silence will be on the tape.
    let _ = write.shutdown().await;
}

async fn next_abort(signal: &mut watch::Receiver<Option<Abort>>) -> Abort {
    if signal.changed().await.is_err() {
        // The channel keeps the sender as long as the exchange runs; without it nobody can break off any more.
        std::future::pending::<()>().await;
    }
    (*signal.borrow_and_update()).unwrap_or(Abort::Drop)
}

async fn read_answer<R>(reader: &mut Reader<R>, method: &str, limits: Limits, reporter: &Reporter) -> End
where
    R: AsyncRead + Unpin,
{
    match pump(reader, method, limits, reporter).await {
        Ok(()) => End::Complete,
        Err(error) => error.into(),
    }
}

async fn pump<R>(reader: &mut Reader<R>, method: &str, limits: Limits, reporter: &Reporter) -> Result<(), WireError>
where
    R: AsyncRead + Unpin,
{
    let x = reporter.x;
    let head = reader.head(method).await?;
    let mut frames = Frames::new(head.is_event_stream(), limits);
    reporter.report(Kind::Head { x, status: head.status, headers: head.headers }).await;
    let end = loop {
        let fed = match reader.chunk().await {
            Ok(Some(bytes)) => frames.feed(&bytes),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        while let Some((n, bytes)) = frames.next_frame() {
            reporter.report(Kind::Frame { x, n, bytes: Blob(bytes) }).await;
        }
        if let Err(which) = fed.and_then(|()| frames.bounded()) {
            break Err(WireError::Limit(which));
        }
    };
    if let Some((n, bytes)) = frames.rest() {
        reporter.report(Kind::Frame { x, n, bytes: Blob(bytes) }).await;
    }
    let trailers = reader.trailers();
    if !trailers.is_empty() {
        reporter.report(Kind::Trailers { x, headers: trailers }).await;
    }
    end
}

/// Cuts a body into frames within the bounds.
struct Frames {
    limits: Limits,
    total: u64,
    count: u32,
    held: Held,
    over: bool,
}

enum Held {
    Whole(BytesMut),
    Events(Splitter),
}

// === impl Frames ===

impl Frames {
    fn new(events: bool, limits: Limits) -> Self {
        let held = if events { Held::Events(Splitter::default()) } else { Held::Whole(BytesMut::new()) };
        Self { limits, total: 0, count: 0, held, over: false }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        self.total += bytes.len() as u64;
        match &mut self.held {
            Held::Whole(body) => body.extend_from_slice(bytes),
            Held::Events(splitter) => splitter.feed(bytes),
        }
        self.over = self.total > self.limits.body_bytes;
        if self.over { Err("body_bytes") } else { Ok(()) }
    }

    fn next_frame(&mut self) -> Option<(u32, Bytes)> {
        let Held::Events(splitter) = &mut self.held else { return None };
        if self.count >= self.limits.frames {
            return None;
        }
        let block = splitter.next_block()?;
        self.over |= block.len() as u64 > self.limits.frame_bytes;
        let n = self.count;
        self.count += 1;
        Some((n, block))
    }

    fn bounded(&mut self) -> Result<(), &'static str> {
        let held = match &self.held {
            Held::Whole(body) => body.len(),
            Held::Events(_) if self.count >= self.limits.frames => return self.exceeded("frames"),
            Held::Events(splitter) => splitter.held(),
        };
        if self.over || held as u64 > self.limits.frame_bytes { self.exceeded("frame_bytes") } else { Ok(()) }
    }

    fn exceeded(&mut self, which: &'static str) -> Result<(), &'static str> {
        self.over = true;
        Err(which)
    }

    /// What is left at the end: the whole body, or an event whose blank line never came. Of an answer beyond its
    /// bounds only the beginning is kept.
    fn rest(&mut self) -> Option<(u32, Bytes)> {
        let mut rest = match &mut self.held {
            Held::Whole(body) => body.split().freeze(),
            Held::Events(splitter) => splitter.rest(),
        };
        if self.over {
            rest.truncate(KEPT_BEYOND_BOUND);
        }
        (!rest.is_empty()).then_some((self.count, rest))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
