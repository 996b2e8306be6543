//! `GET …/versions/{version}/explain`: why the version stands where it stands, and what would move it on.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::{EvidenceRecord, Version};
use ostiary_record::{Gate, Outcome};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::{HoldView, sentence},
        rights::{May, ReadEvidence},
        versions::newest,
    },
    report::StoredReport,
};

/// Why a version stands where it stands.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ExplainView {
    /// Lifecycle state.
    pub state: String,
    /// The gate that would move it on.
    pub next_gate: Option<String>,
    /// The newest result of each gate that was run.
    pub gates: Vec<GateView>,
    /// Standing holds.
    pub holds: Vec<HoldView>,
    /// What to do, as sentences.
    pub next: Vec<String>,
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
    let mut gates = Vec::new();
    for gate in Gate::ALL {
        if let Some(record) = evidence.iter().filter(|record| record.gate == gate).max_by_key(|record| record.recorded)
        {
            gates.push(view(&app, record).await?);
        }
    }
    let next = next(&version, &gates);
    Ok(axum::Json(ExplainView {
        state: version.state.name().to_string(),
        next_gate: version.state.next_gate().map(|gate| gate.to_string()),
        gates,
        holds: version.holds.iter().map(HoldView::of).collect(),
        next,
    }))
}

async fn view(app: &App, record: &EvidenceRecord) -> Result<GateView, ApiError> {
    let stored = app.store.report(&record.id).await?;
    let decision = stored.as_deref().and_then(StoredReport::read).map(|stored| stored.decision);
    let outcome = match &decision {
        Some(decision) => decision.outcome.to_string(),
        None => record.outcome.to_string(),
    };
    Ok(GateView {
        gate: record.gate.to_string(),
        outcome,
        reasons: decision.iter().flat_map(|decision| &decision.reasons).map(sentence).collect(),
        evidence: record.id.to_string(),
        verified_at: record.verified_at.to_string(),
        expires_at: record.expires_at.to_string(),
        expired: record.outcome == Outcome::Pass && record.expires_at <= app.clock.now(),
    })
}

fn next(version: &Version, gates: &[GateView]) -> Vec<String> {
    let name = version.state.name();
    let mut out: Vec<String> = version
        .holds
        .iter()
        .map(|hold| format!("a person must look at hold `{}` ({}) and lift it", hold.id, hold.kind.as_str()))
        .collect();
    match version.state.next_gate() {
        Some(gate) => {
            let open = gates.iter().find(|view| view.gate == gate.as_str() && view.outcome != "PASS");
            out.push(match open {
                Some(view) => format!("see to what the {gate} gate says ({}), then ask for it again", view.outcome),
                None if name.is_admitted() => format!("ask for a promotion; it runs the {gate} gate"),
                None => format!("wait for the {gate} gate, which runs by itself"),
            });
        }
        None if name.is_terminal() => {
            out.push("this try is over; submit the version again with new evidence".to_owned())
        }
        None if name == ostiary_domain::StateName::Quarantined => {
            out.push("an approval for the release, then `release`, which runs the gates again".to_owned());
        }
        None => {}
    }
    out
}
