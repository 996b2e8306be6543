//! The body of an HTTP answer under faults.

use bytes::Bytes;
use futures::stream;
use http::Response;
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use ostiary_record::Down;
use tokio::sync::watch;

use super::{
    Disturbance,
    line::Orders,
    shaper::{Act, Shaper},
};
use crate::proxy::upstream::BoxError;

type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body on its way.
struct Disturbing {
    body: Body,
    shaper: Shaper,
    disturbance: Disturbance,
    orders: Orders,
    down: watch::Receiver<Option<Down>>,
}

/// Puts the body of an answer under the faults of its exchange. A head is passed whole.
pub(in crate::proxy) fn disturbed(
    response: Response<Body>,
    disturbance: Disturbance,
    orders: Orders,
    down: watch::Receiver<Option<Down>>,
) -> Response<Body> {
    let shaper = disturbance.shaper();
    response.map(|body| {
        let disturbing = Disturbing { body, shaper, disturbance, orders, down };
        StreamBody::new(stream::unfold(disturbing, Disturbing::next)).boxed_unsync()
    })
}

// === impl Disturbing ===

impl Disturbing {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, BoxError>, Self)> {
        loop {
            // Who is a black hole says nothing, and goes on when it is none any more.
            let _ = self.down.wait_for(|down| *down != Some(Down::BlackHole)).await;
            match self.shaper.next() {
                Some(Act::Pass(bytes)) => return Some((Ok(Frame::data(bytes)), self)),
                Some(Act::Wait(time, fault)) => {
                    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                    self.disturbance.note(fault, true, self.shaper.passed(), millis);
                    tokio::time::sleep(time).await;
                }
                Some(Act::Break(fault)) => {
                    self.disturbance.note(fault, true, self.shaper.passed(), 0);
                    self.orders.give(fault);
                    // The connection carries the order out when it is flushed, and takes this with it.
                    std::future::pending::<()>().await;
                }
                None => match self.body.frame().await? {
                    Ok(frame) => match frame.into_data() {
                        Ok(bytes) => self.shaper.feed(bytes),
                        Err(trailers) => return Some((Ok(trailers), self)),
                    },
                    Err(error) => return Some((Err(error), self)),
                },
            }
        }
    }
}
