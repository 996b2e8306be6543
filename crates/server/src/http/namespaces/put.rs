//! `PUT /namespaces/{namespace}`: makes a namespace, or sets how hard it is enforced.

use std::sync::Arc;

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::AgentId;
use ostiary_domain::{Enforcement, registry::Namespace};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::{Json, Named},
        model::Changed,
        rights::{Administer, May},
    },
};

/// How hard a namespace is enforced.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceBody {
    /// `enforce`, `warn` or `observe`.
    pub mode: String,
    /// When a softer mode ends by itself; required for one.
    pub until: Option<String>,
    /// Why it is softer, in words; required for one.
    pub reason: Option<String>,
}

/// Make a namespace, or set how hard it is enforced.
#[utoipa::path(
    put, path = "/namespaces/{namespace}", tag = "namespaces", params(("namespace" = String, Path)),
    request_body = NamespaceBody,
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn put(
    State(app): State<Arc<App>>,
    caller: May<Administer>,
    Named(name): Named,
    Json(body): Json<NamespaceBody>,
) -> Result<axum::Json<Changed>, ApiError> {
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    // A namespace is the first part of an agent's id and obeys the same rules.
    AgentId::new(&name, "agent").map_err(|error| invalid(error.to_string()))?;
    let enforcement = enforcement(&body).map_err(invalid)?;
    ends_in_time(enforcement, app.clock.now()).map_err(invalid)?;
    let reason = reason(&body, enforcement).map_err(invalid)?;
    let revision = app.store.put_namespace(Namespace { name, enforcement, reason }, caller.actor()).await?;
    app.committed_at(revision).await;
    Ok(axum::Json(Changed { revision: revision.0 }))
}

/// Longest softer mode: a trial, not a way of life.
const SOFTEST: SignedDuration = SignedDuration::from_hours(30 * 24);

fn ends_in_time(enforcement: Enforcement, now: Timestamp) -> Result<(), String> {
    match enforcement.until() {
        Some(until) if until <= now => Err("`until` is past".to_owned()),
        Some(until) if until.duration_since(now) > SOFTEST => {
            Err(format!("`{}` may last 30 days at most; renew it when they are over", enforcement.at(now).as_str()))
        }
        _ => Ok(()),
    }
}

fn enforcement(body: &NamespaceBody) -> Result<Enforcement, String> {
    let until =
        body.until.as_deref().map(|text| text.parse().map_err(|_| format!("`until`: `{text}` is no RFC 3339 time")));
    match (body.mode.as_str(), until.transpose()?) {
        ("enforce", None) => Ok(Enforcement::Enforce),
        ("enforce", Some(_)) => Err("`enforce` has no end; leave `until` out".to_owned()),
        ("warn", Some(until)) => Ok(Enforcement::Warn { until }),
        ("observe", Some(until)) => Ok(Enforcement::Observe { until }),
        ("warn" | "observe", None) => Err(format!("`{}` must end by itself; give `until`", body.mode)),
        (other, _) => Err(format!("`{other}` is no mode; one of enforce, warn, observe")),
    }
}

/// Whoever lets denials through says why; enforcing needs no excuse.
fn reason(body: &NamespaceBody, enforcement: Enforcement) -> Result<Option<String>, String> {
    let said = body.reason.clone().filter(|reason| !reason.trim().is_empty());
    match enforcement {
        Enforcement::Enforce => Ok(said),
        _ if said.is_some() => Ok(said),
        _ => Err(format!("`{}` lets denials through; give a `reason`", body.mode)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(mode: &str, until: Option<&str>) -> NamespaceBody {
        NamespaceBody { mode: mode.to_owned(), until: until.map(str::to_owned), reason: None }
    }

    fn check(mode: &str, until: Option<&str>) -> Result<Enforcement, String> {
        enforcement(&body(mode, until))
    }

    #[test]
    fn softer_mode_has_a_reason() {
        let until = "2026-01-01T00:00:00Z".parse().expect("a time");
        let soft = body("observe", None);
        assert!(reason(&soft, Enforcement::Observe { until }).is_err());
        assert!(reason(&NamespaceBody { reason: Some("  ".into()), ..soft }, Enforcement::Warn { until }).is_err());
        let why = NamespaceBody { reason: Some("first weeks".into()), ..body("observe", None) };
        assert_eq!(reason(&why, Enforcement::Observe { until }), Ok(Some("first weeks".into())));
        assert_eq!(reason(&body("enforce", None), Enforcement::Enforce), Ok(None));
    }

    #[test]
    fn softer_mode_must_end() {
        assert!(check("observe", None).is_err() && check("warn", None).is_err());
        assert!(check("observe", Some("2026-01-01T00:00:00Z")).is_ok());
    }

    #[test]
    fn softer_mode_ends_within_thirty_days() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        for (until, ok) in
            [("2026-01-31T00:00:00Z", true), ("2026-01-31T00:00:01Z", false), ("2026-01-01T00:00:00Z", false)]
        {
            for mode in ["warn", "observe"] {
                let soft = check(mode, Some(until)).expect("a mode");
                assert_eq!(ends_in_time(soft, now).is_ok(), ok, "{mode} until {until}");
            }
        }
        assert_eq!(ends_in_time(Enforcement::Enforce, now), Ok(()));
    }

    #[test]
    fn enforcing_does_not_end() {
        assert_eq!(check("enforce", None), Ok(Enforcement::Enforce));
        assert!(check("enforce", Some("2026-01-01T00:00:00Z")).is_err());
    }

    #[test]
    fn unknown_mode_is_refused_and_not_read_as_a_soft_one() {
        assert!(check("off", None).is_err());
    }
}
