//! `DriftService`: what routers saw, and how dispatches went. A report is its token's word, whatever the router calls
//! itself in it.

mod outcomes;
mod sighting;

use std::sync::Arc;

use ostiary_domain::drift::{DriftAction, DriftReported};
use ostiary_proto::drift::v1::{self as wire, drift_service_server::DriftService};
use tonic::{Request, Response, Status, metadata::MetadataMap};

use super::identity;
use crate::{
    app::App,
    auth::{Act, Caller},
    error::{ApiError, ErrorCode},
};

/// Takes reports of routers.
#[derive(Clone)]
pub struct DriftApi {
    app: Arc<App>,
}

/// Most bytes of a message: ten thousand entries with all their numbers need a good half.
pub(super) const REPORT: usize = 8 << 20;

/// Longest name that a caller gives to anything: itself, a key, a run, a code.
const NAME: usize = 128;

// === impl DriftApi ===

impl DriftApi {
    /// The service over an app.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    fn reporter(&self, metadata: &MetadataMap) -> Result<Caller, Status> {
        let caller = identity::caller(&self.app.tokens, metadata)?;
        caller.require(Act::Report)?;
        Ok(caller.clone())
    }
}

#[tonic::async_trait]
impl DriftService for DriftApi {
    async fn report_drift(
        &self,
        request: Request<wire::ReportDriftRequest>,
    ) -> Result<Response<wire::ReportDriftResponse>, Status> {
        let caller = self.reporter(request.metadata())?;
        let report = sighting::read(&request.into_inner(), &caller, &self.app)?;
        caller.require_in(Act::Report, report.agent.namespace())?;
        let reported = self.app.store.report_drift(report).await.map_err(ApiError::from)?;
        if !reported.repeated {
            self.app.committed_at(reported.revision).await;
        }
        Ok(Response::new(answer(&reported)))
    }

    async fn report_outcomes(
        &self,
        request: Request<wire::ReportOutcomesRequest>,
    ) -> Result<Response<wire::ReportOutcomesResponse>, Status> {
        let caller = self.reporter(request.metadata())?;
        let window = outcomes::read(request.into_inner(), &caller, self.app.clock.now())?;
        for counted in window.counts.keys() {
            caller.require_in(Act::Report, counted.agent.namespace())?;
        }
        let added = self.app.store.add_outcomes(window).await.map_err(ApiError::from)?;
        Ok(Response::new(wire::ReportOutcomesResponse { duplicate: !added }))
    }
}

fn answer(reported: &DriftReported) -> wire::ReportDriftResponse {
    let action = match reported.action {
        DriftAction::Recorded => wire::DriftAction::Recorded,
        DriftAction::Matches => wire::DriftAction::Matches,
        DriftAction::RollOut => wire::DriftAction::RollOut,
        DriftAction::Revalidating => wire::DriftAction::Revalidating,
        DriftAction::RevalidatingForAll => wire::DriftAction::RevalidatingForAll,
    };
    wire::ReportDriftResponse {
        report_id: reported.id.to_string(),
        duplicate: reported.repeated,
        action: action.into(),
        revision: reported.revision.0,
    }
}

// === what both messages have in common ===

fn invalid(place: &str, what: impl std::fmt::Display) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, format!("`{place}`: {what}"))
}

/// A text that somebody made up as a name: short, visible, never empty.
fn name(place: &str, text: &str) -> Result<String, ApiError> {
    match text {
        "" => Err(invalid(place, "is missing")),
        text => optional_name(place, text),
    }
}

fn optional_name(place: &str, text: &str) -> Result<String, ApiError> {
    if text.len() > NAME {
        return Err(invalid(place, format_args!("is longer than {NAME} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(invalid(place, "contains a control character"));
    }
    Ok(text.to_owned())
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(place: &str, text: &str) -> Result<T, ApiError> {
    text.parse().map_err(|error| invalid(place, error))
}

/// A digest, where one is given.
fn digest(place: &str, text: &str) -> Result<Option<ostiary_canon::Digest>, ApiError> {
    if text.is_empty() { Ok(None) } else { parsed(place, text).map(Some) }
}

fn time(place: &str, stamp: Option<prost_types::Timestamp>) -> Result<jiff::Timestamp, ApiError> {
    let stamp = stamp.ok_or_else(|| invalid(place, "is missing"))?;
    jiff::Timestamp::new(stamp.seconds, stamp.nanos).map_err(|error| invalid(place, error))
}
