//! `GET …/versions/{version}/explain`: why the version stands where it stands, and what would move it on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::extract::State;
use jiff::Timestamp;
use ostiary_domain::{
    Edge, Version,
    approval::{self, Consent},
};
use ostiary_record::{Gate, Outcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use cause::{Known, Newest, causes, onward, summary};

pub use cause::CauseView;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::{HoldView, WaivedView, sentence},
        rights::{May, ReadEvidence},
        versions::{enforced, newest},
    },
    report::StoredReport,
};

mod cause;
mod words;

/// Why a version stands where it stands.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ExplainView {
    /// Lifecycle state.
    pub state: String,
    /// The gate that would move it on.
    pub next_gate: Option<String>,
    /// The newest result of each gate that was run.
    pub gates: Vec<GateView>,
    /// How hard its namespace is enforced now: in `observe` and `warn` routers are let through where they would be denied.
    pub mode: String,
    /// When a softer mode ends by itself.
    pub mode_until: Option<String>,
    /// Standing holds.
    pub holds: Vec<HoldView>,
    /// Where it stands and whether routers may dispatch to it, as one sentence.
    pub summary: String,
    /// Everything that stands in the way, the weightiest first.
    pub causes: Vec<CauseView>,
    /// What to do, as sentences.
    pub next: Vec<String>,
    /// What to type, in order.
    pub commands: Vec<String>,
}

/// The newest result of one gate.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GateView {
    /// The gate.
    pub gate: String,
    /// `PASS`, `BLOCKED`, `INCONCLUSIVE` or `FAIL`.
    pub outcome: String,
    /// Every reason why it is not PASS.
    pub reasons: Vec<String>,
    /// What did not pass and was waived.
    pub waived: Vec<WaivedView>,
    /// Id of the evidence.
    pub evidence: String,
    /// When it was driven.
    pub verified_at: String,
    /// Until when it founds anything.
    pub expires_at: String,
    /// Whether it founds anything now.
    pub expired: bool,
}

/// Explain where a version stands.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/explain", tag = "versions",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = ExplainView), (status = "4XX", body = Problem))
)]
pub async fn explain(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<ExplainView>, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let evidence = app.store.evidence_of(&version.key).await?;
    let mut newest_of = Vec::new();
    for gate in Gate::ALL {
        let of_gate = evidence.iter().filter(|record| record.gate == gate);
        if let Some(record) = of_gate.max_by_key(|record| record.recorded) {
            let stored = app.store.report(&record.id).await?;
            newest_of.push((record, stored.as_deref().and_then(StoredReport::read).map(|stored| stored.decision)));
        }
    }
    let jobs = app.store.jobs_of(&version.key).await?;
    let now = app.clock.now();
    let newest: Vec<Newest<'_>> =
        newest_of.iter().map(|(record, decision)| Newest { record, decision: decision.as_ref() }).collect();
    let consents = consents(&app, &version, now).await?;
    let known = Known { version: &version, gates: &newest, jobs: &jobs, consents: &consents, now };
    let causes = causes(&known);
    let gates = newest.iter().map(|newest| view(newest, now)).collect();
    let mut commands: Vec<String> = causes.iter().filter_map(|cause| cause.command.clone()).collect();
    commands.extend(onward(&version).filter(|_| causes.is_empty()));
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.clone()));
    let (mode, mode_until) = enforced(&app, agent.namespace()).await?;
    Ok(axum::Json(ExplainView {
        mode,
        mode_until,
        state: version.state.name().to_string(),
        next_gate: version.state.next_gate().map(|gate| gate.to_string()),
        gates,
        holds: version.holds.iter().map(HoldView::of).collect(),
        summary: summary(&known, &causes),
        next: causes.iter().map(|cause| format!("{}: {}", cause.code, cause.remedy)).collect(),
        causes,
        commands,
    }))
}

/// Who has consented to which step by now, under the policy in force; nothing without one.
async fn consents(app: &App, version: &Version, now: Timestamp) -> Result<BTreeMap<Edge, Consent>, ApiError> {
    let Some(policy) = app.store.current_policy().await? else { return Ok(BTreeMap::new()) };
    let approvals = app.store.approvals_of(&version.key).await?;
    let of = |edge| (edge, approval::consent(&approvals, version, &policy, edge, now));
    Ok(Edge::ALL.into_iter().map(of).collect())
}

fn view(newest: &Newest<'_>, now: Timestamp) -> GateView {
    let (record, decision) = (newest.record, newest.decision);
    GateView {
        gate: record.gate.to_string(),
        outcome: decision.map_or_else(|| record.outcome.to_string(), |decision| decision.outcome.to_string()),
        reasons: decision.into_iter().flat_map(|decision| &decision.reasons).map(sentence).collect(),
        waived: WaivedView::all(&record.waived),
        evidence: record.id.to_string(),
        verified_at: record.verified_at.to_string(),
        expires_at: record.expires_at.to_string(),
        expired: record.outcome == Outcome::Pass && record.expires_at <= now,
    }
}
