//! `GET …/versions/{version}/outcomes?since=`: how dispatches went, as routers counted them, summed for each consumer.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::{Query, State, rejection::QueryRejection};
use jiff::{SignedDuration, Timestamp};
use ostiary_domain::outcomes::{OutcomeSum, bucket};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Since;
use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
        versions::newest,
    },
};

/// Sums of a version.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OutcomesView {
    /// From when on, as it was rounded.
    pub since: String,
    /// One for each consumer and card, canary apart.
    pub consumers: Vec<ConsumerView>,
}

/// Sums of one consumer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ConsumerView {
    /// On whose behalf; empty when routers did not know.
    pub consumer: String,
    /// Whether the version was reached as canary.
    pub canary: bool,
    /// The card digest that the routers held.
    pub card_digest: Option<String>,
    /// How many of each signal, all its codes together.
    pub signals: BTreeMap<String, u64>,
    /// The same by code, for signals that have codes: error codes, reasons of denials, transitions as `from>to`, kinds of
    /// digests; for `latency` the upper bounds in nanoseconds, or `more`.
    pub codes: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What is meant where nobody says.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Sum up how dispatches to a version went. Nothing is judged by these numbers.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/outcomes", tag = "drift",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), Since),
    responses((status = 200, body = OutcomesView), (status = "4XX", body = Problem))
)]
pub async fn outcomes(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
    query: Result<Query<Since>, QueryRejection>,
) -> Result<axum::Json<OutcomesView>, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    let Query(Since { since }) = query.map_err(|error| invalid(format!("query: {}", error.body_text())))?;
    let day = || app.clock.now().saturating_sub(DAY).unwrap_or(Timestamp::MIN);
    let since =
        since.map_or_else(|| Ok(day()), |text| text.parse().map_err(|error| invalid(format!("`since`: {error}"))))?;
    // A label that nobody submitted is not found, and not without outcomes.
    newest(&app, &agent, &label).await?;
    let sums = app.store.outcomes(&agent, &label, since).await?;
    Ok(axum::Json(OutcomesView { since: bucket(since).to_string(), consumers: by_consumer(sums) }))
}

fn by_consumer(sums: Vec<OutcomeSum>) -> Vec<ConsumerView> {
    let mut consumers = BTreeMap::new();
    for OutcomeSum { of, signal, code, count } in sums {
        let view = consumers.entry(of.clone()).or_insert_with(|| ConsumerView {
            consumer: of.consumer,
            canary: of.canary,
            card_digest: of.card.map(|digest| digest.to_string()),
            signals: BTreeMap::new(),
            codes: BTreeMap::new(),
        });
        *view.signals.entry(signal.as_str().to_owned()).or_default() += count;
        if !code.is_empty() {
            view.codes.entry(signal.as_str().to_owned()).or_default().insert(code, count);
        }
    }
    consumers.into_values().collect()
}
