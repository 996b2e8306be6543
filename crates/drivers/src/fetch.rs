//! Fetching documents that strangers point to: bounded, and guarded at every hop.

use ostiary_record::ports::{BoxFuture, CouldNotRun, Fetch, Fetched, Limits};
use url::Url;

use crate::{
    guard::{AddressGuard, is_public},
    http_client::{Answer, Trip, TripError, round_trip},
    request::{self, Parts},
    transport::HttpTransport,
    wire::WireError,
};

/// Redirects that are followed for one document.
const MAX_REDIRECTS: u32 = 3;
/// Fields that may follow a redirect to another origin; everything else could be a credential.
const TRAVELLING: [&str; 4] = ["accept", "a2a-version", "a2a-extensions", "user-agent"];

impl Fetch for HttpTransport {
    fn get<'a>(
        &'a self,
        url: &'a str,
        headers: &'a [(String, String)],
        limits: Limits,
    ) -> BoxFuture<'a, Result<Fetched, CouldNotRun>> {
        Box::pin(async move {
            let unreachable = |why: String| CouldNotRun::Unreachable { target: url.to_owned(), why };
            match tokio::time::timeout(limits.exchange, self.follow(url, headers, limits)).await {
                Ok(result) => result,
                Err(_) => Err(unreachable(format!("no whole document within {} ms", limits.exchange.as_millis()))),
            }
        })
    }
}

// === impl HttpTransport ===

impl HttpTransport {
    async fn follow(&self, url: &str, headers: &[(String, String)], limits: Limits) -> Result<Fetched, CouldNotRun> {
        let refused = |why: String| CouldNotRun::AddressRefused { target: url.to_owned(), why };
        let mut at = Url::parse(url).map_err(|e| refused(format!("not a URL: {e}")))?;
        let mut headers = headers.to_vec();
        let mut guard = self.dialer.guard.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.hop(&at, &headers, &guard, limits).await?;
            let Some(next) = redirect(&at, &answer).map_err(|why| unreachable_at(&at, why))? else {
                let Answer { response, spki_sha256, .. } = answer;
                let (status, headers, body) = (response.status, response.headers, response.body);
                return Ok(Fetched { url: at.into(), status, headers, body, spki_sha256 });
            };
            if at.scheme() == "https" && next.scheme() != "https" {
                return Err(refused(format!("redirect from https to `{next}`")));
            }
            if at.origin() != next.origin() {
                headers.retain(|(name, _)| TRAVELLING.iter().any(|t| name.eq_ignore_ascii_case(t)));
            }
            if is_public(answer.peer.ip()) {
                guard = guard.seen_from_public();
            }
            at = next;
        }
        Err(unreachable_at(&at, format!("more than {MAX_REDIRECTS} redirects from `{url}`")))
    }

    async fn hop(
        &self,
        url: &Url,
        headers: &[(String, String)],
        guard: &AddressGuard,
        limits: Limits,
    ) -> Result<Answer, CouldNotRun> {
        let origin = self.dialer.origin(url).map_err(|e| e.about(url.as_str()))?;
        let target = request::target(url, "");
        let parts = Parts { method: "GET", url, target: &target, headers: headers.to_vec(), body: b"" };
        let encoded = request::encode(parts).map_err(|why| unreachable_at(url, why))?;
        let trip = Trip {
            origin: &origin,
            guard,
            connect: limits.connect,
            header_bytes: limits.header_bytes,
            body_bytes: limits.body_bytes.min(limits.frame_bytes),
        };
        round_trip(&self.dialer, &trip, &encoded).await.map_err(|error| match error {
            TripError::Dial(error) => error.about(url.as_str()),
            TripError::Wire(WireError::Limit(which)) => {
                CouldNotRun::Bound { what: format!("`{which}` of the answer of `{url}`") }
            }
            TripError::Wire(error) => unreachable_at(url, error.to_string()),
        })
    }
}

/// Where an answer sends us, if it does.
fn redirect(at: &Url, answer: &Answer) -> Result<Option<Url>, String> {
    let response = &answer.response;
    match response.header("location") {
        Some(location) if matches!(response.status, 301 | 302 | 303 | 307 | 308) => {
            at.join(location).map(Some).map_err(|e| format!("redirect to what is no URL: {e}"))
        }
        _ => Ok(None),
    }
}

fn unreachable_at(url: &Url, why: String) -> CouldNotRun {
    CouldNotRun::Unreachable { target: url.to_string(), why }
}
