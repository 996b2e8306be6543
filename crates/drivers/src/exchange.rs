//! One request and all that comes back for it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use ostiary_record::{
    Blob, End, Event, ExchangeId, Kind, Source, Tape,
    ports::{Abort, Limits},
};
use tokio::{
    io::{AsyncRead, AsyncWriteExt, ReadHalf, WriteHalf},
    sync::{mpsc, watch},
};

use crate::{
    channel::Going,
    dial::{Conn, DialError},
    frames::{Cut, Frames},
    io::Stream,
    request::Encoded,
    transport::Link,
    wire::{Reader, WireError},
};

/// What one exchange needs to run by itself.
pub(crate) struct Exchange {
    pub(crate) link: Arc<Link>,
    pub(crate) request: Encoded,
    pub(crate) going: Going,
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

enum Stop {
    Ended(End),
    /// We broke off; the end is on the tape already.
    Aborted(Abort),
}

// === impl Exchange ===

impl Exchange {
    /// Runs to the end of the exchange, whichever way it comes.
    pub(crate) async fn run(mut self) {
        let (limit, reporter) = (self.going.limits.exchange, self.going.reporter.clone());
        reporter.until_end(limit, self.attempt()).await;
    }

    /// `None` when we broke off ourselves.
    async fn attempt(&mut self) -> Option<End> {
        let mut conn = match self.connection().await? {
            Ok(conn) => conn,
            Err(error) => return Some(End::NoConnection { why: error.to_string() }),
        };
        let reused = conn.answers > 0;
        let (read, mut write) = tokio::io::split(conn.stream);
        let mut reader = Reader::new(read, std::mem::take(&mut conn.unread), self.going.limits.header_bytes);
        let (stop, sent) = self.converse(&mut reader, &mut write).await;
        let reusable = sent && reader.reusable();
        let (read, unread) = reader.into_parts();
        conn.stream = read.unsplit(write);
        match stop {
            Stop::Ended(End::Complete) if reusable => {
                conn.unread = unread;
                conn.answers += 1;
                self.link.give_back(conn, &self.going.reporter.tape);
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
        if let Some(conn) = self.link.take(&self.going.reporter.tape) {
            return Some(Ok(conn));
        }
        let dialling = self.link.dial(self.going.limits.connect);
        tokio::pin!(dialling);
        loop {
            tokio::select! {
                done = &mut dialling => return Some(done),
                how = next_abort(&mut self.going.signal) => {
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
        let Self { request, going: Going { limits, reporter, signal }, .. } = self;
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

    /// Runs an exchange within its time and reports how it ended; `None` when we broke off ourselves, which is on the
    /// tape already.
    pub(crate) async fn until_end(&self, limit: Duration, attempt: impl Future<Output = Option<End>>) {
        let end = tokio::time::timeout(limit, attempt).await.unwrap_or(Some(End::Deadline));
        if let Some(how) = end {
            self.report(Kind::Ended { x: self.x, how }).await;
        }
    }

    /// Writes to the tape and tells the channel. A channel that nobody reads holds the exchange up and with it the
    /// peer, so that memory stays bounded.
    pub(crate) async fn report(&self, kind: Kind) {
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

pub(crate) async fn next_abort(signal: &mut watch::Receiver<Option<Abort>>) -> Abort {
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
    let mut frames = Frames::new(if head.is_event_stream() { Cut::Events } else { Cut::Whole }, limits);
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
