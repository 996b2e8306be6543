//! A layer for tower services: no request goes on without a decision.
//!
//! A denial is a 403 with a problem document (RFC 9457) that names the reason; "could not decide" is a 503, which passes by
//! itself. What the client sent in `x-ostiary-…` headers is taken off before the request goes on, so that nobody behind
//! the layer can be told a decision that was never made. The answer carries the decision. A running answer is cut when its
//! version is taken off the road, as the router was configured.

mod answer;
mod body;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response, request::Parts};
use http_body::Body;
use ostiary_canon::Revision;
use tower::{Layer, Service};

use self::answer::{could_not_decide, denied, marked, severed, unmarked};
pub use self::body::{Checked, Severed};
use crate::{
    dispatch::Question,
    router::{Refusal, Router},
};

/// What a request asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The dispatch that would be made. What is left out is denied.
    pub question: Question,
    /// The token that the answer must not be older than.
    pub at_least: Option<Revision>,
}

/// Checks each request before it goes on; `F` says what a request asks.
#[derive(Clone)]
pub struct AdmissionLayer<F> {
    router: Router,
    ask: Arc<F>,
}

/// See [`AdmissionLayer`].
#[derive(Clone)]
pub struct Admission<S, F> {
    inner: S,
    router: Router,
    ask: Arc<F>,
}

// === impl AdmissionLayer ===

impl<F: Fn(&Parts) -> Ask> AdmissionLayer<F> {
    /// Asks `router` what `ask` makes of a request's head.
    pub fn new(router: Router, ask: F) -> Self {
        Self { router, ask: Arc::new(ask) }
    }
}

impl<S, F> Layer<S> for AdmissionLayer<F> {
    type Service = Admission<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        Admission { inner, router: self.router.clone(), ask: Arc::clone(&self.ask) }
    }
}

// === impl Admission ===

impl<S, F, B, R> Service<Request<B>> for Admission<S, F>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    F: Fn(&Parts) -> Ask + Send + Sync + 'static,
    B: Send + 'static,
    R: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Checked<R>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The one that was polled ready is used; its clone takes its place.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let (mut parts, body) = request.into_parts();
        let Ask { question, at_least } = (self.ask)(&parts);
        let router = self.router.clone();
        Box::pin(async move {
            let dispatch = match router.dispatch_or_ask(&question.query(), at_least).await {
                Ok(dispatch) => Arc::new(dispatch),
                Err(Refusal::Denied(decision)) => return Ok(denied(&question, &decision)),
                Err(Refusal::CouldNotDecide(error)) => return Ok(could_not_decide(&question, &error)),
            };
            unmarked(&mut parts.headers);
            parts.extensions.insert(Arc::clone(&dispatch));
            let answer = tokio::select! {
                biased;
                revoked = dispatch.cut() => return Ok(severed(&question, &revoked)),
                answer = inner.call(Request::from_parts(parts, body)) => answer?,
            };
            let (mut parts, body) = answer.into_parts();
            marked(&mut parts.headers, dispatch.decision());
            Ok(Response::from_parts(parts, Checked::running(body, dispatch)))
        })
    }
}
