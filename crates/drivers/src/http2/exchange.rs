//! One stream of a connection: a request, and all that comes back for it.

use std::sync::Arc;

use bytes::Bytes;
use h2::{
    Reason, RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::{HeaderMap, Request, header::CONTENT_TYPE};
use ostiary_record::{
    Blob, End, Kind,
    event::RawHeaders,
    ports::{Abort, Limits},
};

use crate::{
    channel::Going,
    dial::DialError,
    exchange::{Reporter, next_abort},
    frames::{Cut, Frames},
    http2::Http2Link,
};

/// What one exchange needs to run by itself.
pub(super) struct Http2Exchange {
    pub(super) link: Arc<Http2Link>,
    pub(super) request: Request<()>,
    pub(super) body: Bytes,
    pub(super) going: Going,
}

/// Why a stream ended otherwise than in good order.
enum Broken {
    Peer(h2::Error),
    Limit(&'static str),
}

enum Stop {
    Ended(End),
    Aborted(Abort),
}

// === impl Http2Exchange ===

impl Http2Exchange {
    /// Runs to the end of the exchange, whichever way it comes.
    pub(super) async fn run(mut self) {
        let (limit, reporter) = (self.going.limits.exchange, self.going.reporter.clone());
        reporter.until_end(limit, self.attempt()).await;
    }

    /// `None` when we broke off ourselves. A stream that is let go before its end is reset by `h2`.
    async fn attempt(&mut self) -> Option<End> {
        let mut sender = match self.sender().await? {
            Ok(sender) => sender,
            Err(error) => return Some(End::NoConnection { why: error.to_string() }),
        };
        let request = std::mem::take(&mut self.request);
        let (response, mut stream) = match sender.send_request(request, false) {
            Ok(sent) => sent,
            Err(error) => return Some(End::NoConnection { why: format!("not sent: {}", why(&error)) }),
        };
        match self.converse(response, &mut stream).await {
            Stop::Ended(end) => Some(end),
            Stop::Aborted(Abort::Drop) => {
                self.link.drop_connection().await;
                None
            }
            Stop::Aborted(_) => {
                stream.send_reset(Reason::CANCEL);
                None
            }
        }
    }

    async fn sender(&mut self) -> Option<Result<SendRequest<Bytes>, DialError>> {
        let Self { link, going: Going { limits, signal, .. }, .. } = self;
        let connecting = link.sender(limits.connect);
        tokio::pin!(connecting);
        loop {
            tokio::select! {
                done = &mut connecting => return Some(done),
                how = next_abort(signal) => if how != Abort::HalfClose { return None },
            }
        }
    }

    /// Sends and reads at the same time: a peer may answer before it has taken everything.
    async fn converse(&mut self, response: ResponseFuture, stream: &mut SendStream<Bytes>) -> Stop {
        let Self { body, going: Going { limits, reporter, signal }, .. } = self;
        let reading = read_answer(response, *limits, reporter);
        tokio::pin!(reading);
        tokio::select! {
            // a failure to send is told by the answer, or by its absence
            _ = send(stream, body.clone()) => {}
            end = &mut reading => return Stop::Ended(end),
            how = next_abort(signal) => if how != Abort::HalfClose { return Stop::Aborted(how) },
        }
        // fails where the stream is closed already, as it is after the whole body
        let _ = stream.send_data(Bytes::new(), true);
        loop {
            tokio::select! {
                end = &mut reading => return Stop::Ended(end),
                how = next_abort(signal) => if how != Abort::HalfClose { return Stop::Aborted(how) },
            }
        }
    }
}

/// Sends a body as far as the peer's window lets it.
async fn send(stream: &mut SendStream<Bytes>, mut body: Bytes) -> Result<(), h2::Error> {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let granted = std::future::poll_fn(|cx| stream.poll_capacity(cx)).await;
        let Some(granted) = granted.transpose()? else { return Ok(()) };
        let piece = body.split_to(granted.min(body.len()));
        stream.send_data(piece, body.is_empty())?;
    }
    Ok(())
}

async fn read_answer(response: ResponseFuture, limits: Limits, reporter: &Reporter) -> End {
    match pump(response, limits, reporter).await {
        Ok(()) => End::Complete,
        Err(Broken::Limit(which)) => End::Limit { which: which.to_owned() },
        Err(Broken::Peer(error)) => End::PeerReset { why: why(&error) },
    }
}

async fn pump(response: ResponseFuture, limits: Limits, reporter: &Reporter) -> Result<(), Broken> {
    let x = reporter.x;
    let (head, mut body) = response.await.map_err(Broken::Peer)?.into_parts();
    let headers = recorded(&head.headers);
    bounded(&headers, limits)?;
    let media = head.headers.get(CONTENT_TYPE).map_or(&b""[..], |m| m.as_bytes());
    let cut = if media.starts_with(b"application/grpc") { Cut::Messages } else { Cut::Whole };
    reporter.report(Kind::Head { x, status: head.status.as_u16(), headers }).await;
    let mut frames = Frames::new(cut, limits);
    let end = read_body(&mut body, &mut frames, reporter).await;
    if let Some((n, bytes)) = frames.rest() {
        reporter.report(Kind::Frame { x, n, bytes: Blob(bytes) }).await;
    }
    end?;
    if let Some(trailers) = body.trailers().await.map_err(Broken::Peer)? {
        let headers = recorded(&trailers);
        bounded(&headers, limits)?;
        reporter.report(Kind::Trailers { x, headers }).await;
    }
    Ok(())
}

async fn read_body(body: &mut RecvStream, frames: &mut Frames, reporter: &Reporter) -> Result<(), Broken> {
    let x = reporter.x;
    while let Some(bytes) = body.data().await.transpose().map_err(Broken::Peer)? {
        let fed = frames.feed(&bytes);
        while let Some((n, bytes)) = frames.next_frame() {
            reporter.report(Kind::Frame { x, n, bytes: Blob(bytes) }).await;
        }
        fed.and_then(|()| frames.bounded()).map_err(Broken::Limit)?;
        // only what was reported makes room for more
        body.flow_control().release_capacity(bytes.len()).map_err(Broken::Peer)?;
    }
    Ok(())
}

fn recorded(fields: &HeaderMap) -> RawHeaders {
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), Blob(Bytes::copy_from_slice(value.as_bytes())))
    };
    fields.iter().map(field).collect()
}

fn bounded(fields: &RawHeaders, limits: Limits) -> Result<(), Broken> {
    let bytes: usize = fields.iter().map(|(name, value)| name.len() + value.as_bytes().len()).sum();
    if bytes > limits.header_bytes as usize { Err(Broken::Limit("header_bytes")) } else { Ok(()) }
}

/// What became of a stream or connection, for people.
pub(super) fn why(error: &h2::Error) -> String {
    let reason = error.reason().map_or_else(|| "no reason".to_owned(), |reason| format!("{reason:?}"));
    if let Some(io) = error.get_io() {
        format!("connection lost: {io}")
    } else if error.is_remote() && error.is_go_away() {
        format!("GOAWAY by the peer: {reason}")
    } else if error.is_remote() && error.is_reset() {
        format!("RST_STREAM by the peer: {reason}")
    } else if error.is_library() {
        format!("the peer broke HTTP/2: {reason}")
    } else {
        error.to_string()
    }
}
