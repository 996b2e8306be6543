//! The body of a checked answer: the agent's, until it ends or is cut.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use ostiary_admission::DecisionReason;

use crate::dispatch::{Dispatch, Revoked};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The agent's answer while its version stays on the road, or a whole answer of ours.
pub struct Checked<R>(Inner<R>);

/// A running answer was cut because its version was taken off the road.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the dispatch was cut: {reason}")]
pub struct Severed {
    /// What denies it now.
    pub reason: DecisionReason,
}

enum Inner<R> {
    Running { body: Pin<Box<R>>, cut: Pin<Box<dyn Future<Output = Revoked> + Send>> },
    Whole(Option<Bytes>),
}

// === impl Checked ===

impl<R> Checked<R> {
    pub(super) fn running(body: R, dispatch: Arc<Dispatch>) -> Self {
        let cut = Box::pin(async move { dispatch.cut().await });
        Self(Inner::Running { body: Box::pin(body), cut })
    }

    pub(super) fn whole(text: String) -> Self {
        Self(Inner::Whole(Some(text.into())))
    }
}

impl<R: Body<Data = Bytes>> Body for Checked<R>
where
    R::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Inner::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Inner::Running { body, cut } => {
                if let Poll::Ready(revoked) = cut.as_mut().poll(cx) {
                    let reason = revoked.decision.reason;
                    self.0 = Inner::Whole(None);
                    // An error, not an end: the client must not take what it has for all there was.
                    return Poll::Ready(Some(Err(Severed { reason }.into())));
                }
                body.as_mut().poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Whole(bytes) => bytes.is_none(),
            Inner::Running { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Inner::Running { body, .. } => body.size_hint(),
        }
    }
}
