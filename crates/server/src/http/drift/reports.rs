//! `GET …/versions/{version}/drift-reports`: what routers saw that differs, and what came of it.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::{
    ActorKind,
    drift::{DriftReport, Revalidation},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
        versions::dispatched,
    },
};

/// What routers told of a version.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DriftView {
    /// The control plane's own look that is under way, if one is.
    pub revalidation: Option<RevalidationView>,
    /// The reports, newest first; the last 500 at most.
    pub reports: Vec<DriftReportView>,
}

/// A look that is under way.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RevalidationView {
    /// The card digest that was reported first.
    pub observed_digest: String,
    /// Since when.
    pub since: String,
    /// Whether everybody is denied until it ends.
    pub for_all: bool,
    /// How often the card could not be fetched.
    pub failed_looks: u32,
    /// When it is tried next.
    pub next_look: String,
    /// Why the last look failed.
    pub last_error: Option<String>,
}

/// One report.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DriftReportView {
    /// Its id.
    pub id: String,
    /// Try of the version that it was held against.
    pub attempt: u32,
    /// Who reported, by the name of its token.
    pub reporter: String,
    /// Whether that is a person.
    pub by_person: bool,
    /// What the router calls itself.
    pub router_id: String,
    /// `card`, `contract`, `producer`, `identity` or `behavior`.
    pub kind: String,
    /// `mismatch` or `unreachable`.
    pub finding: String,
    /// What the router expected.
    pub expected_digest: Option<String>,
    /// What it saw.
    pub observed_digest: Option<String>,
    /// When it first saw it, by its own clock.
    pub first_seen: String,
    /// When it last saw it, by its own clock.
    pub last_seen: String,
    /// How often in between.
    pub count: u64,
    /// Where the router keeps a sample.
    pub sample_reference: Option<String>,
    /// When it was taken.
    pub taken_at: String,
    /// Revision that took it.
    pub revision: u64,
    /// What was done at once: `recorded`, `matches`, `roll_out`, `revalidating` or `revalidating_for_all`.
    pub action: String,
    /// What the control plane found when it looked itself: `unfounded`, `roll_out`, `quarantined`, or `overtaken`,
    /// `lifted`, `unseen` where something else ended the look.
    pub conclusion: Option<String>,
}

/// Most reports of one answer.
const MOST: u32 = 500;

/// List what routers saw of a version that differs from what was admitted.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/drift-reports", tag = "drift",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = DriftView), (status = "4XX", body = Problem))
)]
pub async fn reports(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<DriftView>, ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    let open = app.store.revalidations(&agent).await?;
    let open = open.iter().find(|open| open.version == version.key);
    let reports = app.store.drift_reports(&agent, &label, MOST).await?;
    Ok(axum::Json(DriftView {
        revalidation: open.map(RevalidationView::of),
        reports: reports.iter().map(DriftReportView::of).collect(),
    }))
}

// === impl RevalidationView ===

impl RevalidationView {
    fn of(open: &Revalidation) -> Self {
        Self {
            observed_digest: open.observed.to_string(),
            since: open.since.time.to_string(),
            for_all: open.for_all.is_some(),
            failed_looks: open.failed,
            next_look: open.not_before.to_string(),
            last_error: open.last_error.clone(),
        }
    }
}

// === impl DriftReportView ===

impl DriftReportView {
    fn of(report: &DriftReport) -> Self {
        let claim = &report.claim;
        Self {
            id: report.id.to_string(),
            attempt: report.version.attempt.0,
            reporter: report.by.name.clone(),
            by_person: report.by.kind == ActorKind::Person,
            router_id: claim.router_id.clone(),
            kind: claim.kind.as_str().to_owned(),
            finding: claim.finding.as_str().to_owned(),
            expected_digest: claim.expected.map(|digest| digest.to_string()),
            observed_digest: claim.observed.map(|digest| digest.to_string()),
            first_seen: claim.first_seen.to_string(),
            last_seen: claim.last_seen.to_string(),
            count: claim.count,
            sample_reference: claim.sample_reference.clone(),
            taken_at: report.taken.time.to_string(),
            revision: report.taken.revision.0,
            action: report.action.as_str().to_owned(),
            conclusion: report.concluded.map(|conclusion| conclusion.as_str().to_owned()),
        }
    }
}
