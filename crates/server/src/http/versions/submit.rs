//! `POST /agents/{namespace}/{agent}/versions`: submits a version with its contract bundle.
//!
//! One transaction inserts the try, writes the audit and queues the static gate. The answer comes before anything is
//! verified; it names the try and the revision.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_canon::{AgentId, Digest, Profile, VersionLabel};
use ostiary_contract::Bundle;
use ostiary_domain::{
    AdmissionClass, EnvironmentName, Failpoint,
    ports::{Submit, Submitted},
    version::Submission,
};
use ostiary_record::{MonoNanos, Monotonic};
use ostiary_verify::{
    discover::{Discovered, of_card},
    plan::activated,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    gate::lenience,
    http::{
        extract::{AgentPath, IdempotencyKey, Json},
        rights::{May, Publish},
    },
};

/// A submission.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitBody {
    /// Digest of an uploaded bundle.
    pub bundle: String,
    /// Name of a registered environment.
    pub environment: String,
    /// Label; left out, the `version` of the bundle's card.
    pub version: Option<String>,
    /// `full`, or `reduced` for an agent whose effects nobody can observe: admitted by a person's word, and shown so.
    #[schema(value_type = Option<String>)]
    pub class: Option<AdmissionClass>,
    /// Why it differs from the version before.
    pub change_reason: Option<String>,
    /// Where the difference can be read.
    pub implementation_diff: Option<String>,
}

/// A taken submission.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SubmittedView {
    /// `namespace/agent`.
    pub agent: String,
    /// Label.
    pub version: String,
    /// Try of the label, from 1.
    pub attempt: u32,
    /// The run of its static gate.
    pub job: String,
    /// The revision token.
    pub revision: u64,
    /// Whether this repeats the answer to an earlier, equal request.
    pub repeated: bool,
}

/// Submit a version.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions", tag = "versions",
    params(
        ("namespace" = String, Path), ("agent" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = SubmitBody,
    responses((status = 202, body = SubmittedView), (status = "4XX", body = Problem))
)]
pub async fn submit(
    State(app): State<Arc<App>>,
    caller: May<Publish>,
    AgentPath(agent): AgentPath,
    key: IdempotencyKey,
    Json(body): Json<SubmitBody>,
) -> Result<(StatusCode, axum::Json<SubmittedView>), ApiError> {
    let idempotency = key.bound(&caller, &(agent.as_str(), &body));
    let bundle = bundle(&app, &body.bundle).await?;
    produced_by(&bundle, &agent)?;
    let environment = environment(&app, &agent, &body.environment).await?;
    let label = label(&body, &bundle)?;
    unstopped(&app, &agent, &label).await?;
    let submission = Submission {
        bundle: bundle.digest,
        activated: profiles(&bundle)?,
        environment,
        class: body.class.unwrap_or_default(),
        by: caller.actor(),
        change_reason: body.change_reason,
        implementation_diff: body.implementation_diff,
    };
    let submitted = app.store.submit(Submit { agent, label, submission, idempotency }).await?;
    app.failpoints.hit(Failpoint::SubmitCommitted).map_err(ApiError::internal)?;
    app.committed();
    Ok((StatusCode::ACCEPTED, axum::Json(view(submitted))))
}

fn view(submitted: Submitted) -> SubmittedView {
    SubmittedView {
        agent: submitted.version.agent.to_string(),
        version: submitted.version.label.to_string(),
        attempt: submitted.version.attempt.0,
        job: submitted.job.to_string(),
        revision: submitted.revision.0,
        repeated: submitted.repeated,
    }
}

async fn bundle(app: &App, text: &str) -> Result<Bundle, ApiError> {
    let unknown = || ApiError::new(ErrorCode::NotReady, format!("bundle `{text}` is not here; upload it first"));
    let digest: Digest = text.parse().map_err(|error| ApiError::new(ErrorCode::InvalidRequest, format!("{error}")))?;
    let archive = app.store.bundle(&digest).await?.ok_or_else(unknown)?;
    // It was proved when it came; a failure now is ours.
    Bundle::from_tar(&archive).map_err(ApiError::internal)
}

/// Evidence for a promise is evidence for whoever made it: the contract names the agent, by its name or in full.
fn produced_by(bundle: &Bundle, agent: &AgentId) -> Result<(), ApiError> {
    let named = &bundle.contract.producer.agent_id.value;
    if *named == agent.agent() || *named == agent.as_str() {
        return Ok(());
    }
    let message = format!(
        "the contract's producer is agent `{named}`, and the version was submitted for `{agent}`; write \
         `agent_id: {}` in contract.yaml, or submit it for the agent that it names",
        agent.agent()
    );
    Err(ApiError::new(ErrorCode::AgentMismatch, message))
}

/// A new try does not shake off what a person stopped: the hold of the try before has to be lifted first.
async fn unstopped(app: &App, agent: &AgentId, label: &VersionLabel) -> Result<(), ApiError> {
    let tries = app.store.tries(agent, label).await?;
    let Some(hold) = tries.iter().flat_map(|before| &before.holds).find(|hold| hold.author.is_person()) else {
        return Ok(());
    };
    let message = format!(
        "`{agent}@{label}` was stopped by a person ({:?}); an operator lifts the hold with `ostiary version hold lift`, \
         or the change goes out under another label",
        hold.reason
    );
    Err(ApiError::new(ErrorCode::NotReady, message))
}

async fn environment(app: &App, agent: &AgentId, name: &str) -> Result<EnvironmentName, ApiError> {
    let name = EnvironmentName(name.to_owned());
    let refused = |what: &str| ApiError::new(ErrorCode::NotReady, format!("environment `{name}` {what}"));
    let found = app.store.environment(&name).await?.ok_or_else(|| refused("is not registered"))?;
    if !lenience::permitted(&app.config, agent, &found.document) {
        let namespace = agent.namespace();
        return Err(refused(&format!(
            "judges as in development, and namespace `{namespace}` is none for development: start the server with \
             `ostiary serve --development {namespace}`, or name an environment of strictness `production`"
        )));
    }
    Ok(found.name)
}

fn label(body: &SubmitBody, bundle: &Bundle) -> Result<VersionLabel, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    let card = bundle.card.as_ref().and_then(|card| card.value.get("version")).and_then(|version| version.as_str());
    let text = body.version.as_deref().or(card);
    let text = text.ok_or_else(|| invalid("the card names no version; give `version`".to_owned()))?;
    text.parse().map_err(|error| invalid(format!("{error}")))
}

/// The profiles that the bundle wants activated: those of its coverage policy, else every interface of its card.
fn profiles(bundle: &Bundle) -> Result<Vec<Profile>, ApiError> {
    let card = bundle.card.as_ref().map(|card| card.bytes.clone()).unwrap_or_default();
    let declared = Discovered::read(of_card(Arc::new(Standstill), card));
    let profiles = activated(bundle, &declared);
    if profiles.is_empty() {
        let message = "the bundle declares no interface that a profile can name, so nothing could ever be admitted";
        return Err(ApiError::new(ErrorCode::InvalidBundle, message));
    }
    Ok(profiles)
}

/// A tape needs a clock; reading a card takes no time.
struct Standstill;

impl Monotonic for Standstill {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}
