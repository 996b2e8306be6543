//! `GET /revisions/{revision}/applied?wait_seconds=`: whether nothing older than a revision is in use any more.

use std::{sync::Arc, time::Duration};

use axum::extract::{
    Path, Query, State,
    rejection::{PathRejection, QueryRejection},
};
use ostiary_admission::ViewScope;
use ostiary_canon::Revision;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    auth::Caller,
    error::{ApiError, ErrorCode, Problem},
    http::rights::{May, ReadAudit},
    proof::Standing,
};

/// How long to wait.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wait {
    /// Longest wait for the proof, in seconds; 0 to 60, 0 when left out.
    #[param(maximum = 60)]
    pub wait_seconds: Option<u64>,
}

/// How far a revision has come.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Applied {
    /// The revision.
    pub revision: u64,
    /// Whether nothing older is in use anywhere any more: no router, at no server.
    pub proved: bool,
    /// When this was found.
    pub at: String,
    /// When it is proved by time alone, if nobody answers earlier; absent when it is proved, or cannot be said yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_at: Option<String>,
    /// Routers watching here that said they decide on nothing older.
    pub applied: usize,
    /// Routers that watched here and never said so, but whose leases on anything older are over.
    pub lapsed: usize,
    /// Routers watching here, and at least one for each other server, that may still decide on something older.
    pub pending: usize,
    /// Until when answers to single questions, given here before the revision, may still be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_until: Option<String>,
    /// The pending routers here, those with the longest leases first, at most a thousand.
    pub routers: Vec<PendingRouter>,
    /// All servers.
    pub replicas: Vec<ReplicaStanding>,
}

/// A router that may still decide on something older.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PendingRouter {
    /// What it calls itself.
    pub router: String,
    /// What it watches.
    pub scope: String,
    /// Whether its stream is open.
    pub connected: bool,
    /// `pending`.
    pub stands: String,
    /// When its lease ends by itself.
    pub until: String,
}

/// One server.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplicaStanding {
    /// Which run of which server.
    pub replica: String,
    /// Whether it is the one that answers.
    pub answering: bool,
    /// `over` when nothing older that it gave out is in use any more, else `pending`.
    pub stands: String,
    /// When it is over at the latest; absent when it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Routers that watch it.
    pub watchers: u32,
    /// Those of them that have not applied the newest revision that it knows.
    pub pending: u32,
}

const MAX_WAIT: u64 = 60;

/// Pending routers that are listed.
const LISTED: usize = 1000;

/// Say whether nothing older than a revision is in use any more; wait for it.
#[utoipa::path(
    get, path = "/revisions/{revision}/applied", tag = "versions",
    params(("revision" = u64, Path, description = "As acts answer it"), Wait),
    responses((status = 200, body = Applied), (status = "4XX", body = Problem))
)]
pub async fn applied(
    State(app): State<Arc<App>>,
    caller: May<ReadAudit>,
    revision: Result<Path<u64>, PathRejection>,
    wait: Result<Query<Wait>, QueryRejection>,
) -> Result<axum::Json<Applied>, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    let Path(revision) = revision.map_err(|error| invalid(error.body_text()))?;
    let Query(wait) = wait.map_err(|error| invalid(format!("query: {}", error.body_text())))?;
    let seconds = wait.wait_seconds.unwrap_or(0);
    if seconds > MAX_WAIT {
        return Err(invalid(format!("`wait_seconds` is {seconds}; give at most {MAX_WAIT}, and ask again")));
    }
    let standing = app.prover.stands(Revision(revision), Duration::from_secs(seconds)).await?;
    Ok(axum::Json(shown(&app, &caller, &standing)))
}

fn shown(app: &App, caller: &Caller, standing: &Standing) -> Applied {
    let (own, at) = (&standing.own, standing.at);
    let own_over = own.is_complete();
    let given = app.granted.given();
    let own_until = own.pending.iter().map(|pending| pending.granted_until).chain(own.answers_until).max();
    let answering = ReplicaStanding {
        replica: given.replica.0,
        answering: true,
        stands: word(own_over).to_owned(),
        until: own_until.map(|until| until.to_string()),
        watchers: given.watchers,
        pending: given.pending,
    };
    let others = standing.others.iter().map(|other| {
        let (over, given) = (other.is_over(at), &other.replica.given);
        ReplicaStanding {
            replica: given.replica.0.clone(),
            answering: false,
            stands: word(over).to_owned(),
            until: (!over).then(|| other.over_at.to_string()),
            watchers: given.watchers,
            pending: given.pending,
        }
    });
    let replicas: Vec<_> = std::iter::once(answering).chain(others).collect();
    let elsewhere = replicas.iter().filter(|replica| !replica.answering && replica.stands != word(true));
    Applied {
        revision: standing.revision.0,
        proved: standing.is_proved(),
        at: at.to_string(),
        over_at: standing.over_at().map(|at| at.to_string()),
        applied: own.applied,
        lapsed: own.lapsed,
        pending: own.pending.len() + elsewhere.map(|replica| replica.pending.max(1) as usize).sum::<usize>(),
        answers_until: own.answers_until.map(|until| until.to_string()),
        routers: routers(caller, standing),
        replicas,
    }
}

/// The pending routers that the caller may know of: those of other namespaces are only counted.
fn routers(caller: &Caller, standing: &Standing) -> Vec<PendingRouter> {
    let mut pending: Vec<_> = standing.own.pending.iter().collect();
    pending.sort_by(|a, b| b.granted_until.cmp(&a.granted_until).then_with(|| a.router_id.cmp(&b.router_id)));
    let known = pending.into_iter().filter(|pending| match &pending.scope {
        ViewScope::All => true,
        ViewScope::Namespace(namespace) => caller.reaches(namespace),
    });
    let listed = known.take(LISTED).map(|pending| PendingRouter {
        router: pending.router_id.clone(),
        scope: pending.scope.to_string(),
        connected: pending.connected,
        stands: word(false).to_owned(),
        until: pending.granted_until.to_string(),
    });
    listed.collect()
}

const fn word(over: bool) -> &'static str {
    if over { "over" } else { "pending" }
}
