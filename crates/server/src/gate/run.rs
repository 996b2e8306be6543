//! Takes an uploaded run in: is it a run, and the one that this job asked for?

use jiff::Timestamp;
use ostiary_canon::json;
use ostiary_contract::Environment;
use ostiary_domain::Job;
use ostiary_record::{Run, run::RUN_FORMAT};
use ostiary_worker::jobs::MAX_RUN_BYTES;

/// Why an upload is no run for its job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It does not parse.
    #[error("it is no acceptable JSON: {0}")]
    Json(String),
    /// It parses and is no run.
    #[error("it does not fit the format `{RUN_FORMAT}`: {0}")]
    Shape(String),
    /// It was driven for another gate.
    #[error("it was driven for {found}, not for the {wanted} gate")]
    Gate {
        /// What it says.
        found: String,
        /// What the job asked for.
        wanted: String,
    },
    /// The environment that it was driven in is not the registered one.
    #[error("it was driven in an environment that differs from the registered `{0}`")]
    Environment(String),
    /// The environment judges as in development, and the namespace is none for it.
    #[error("environment `{0}` judges as in development, and the namespace is none for development")]
    Lenient(String),
    /// The bundle or environment of the job is not readable any more.
    #[error("`{what}` of the job cannot be read: {why}")]
    Job {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
}

/// Deepest nesting: recordings hold JSON as text, so only their own structure counts.
const DEPTH: u8 = 32;

/// The run in `bytes`, if it is one for `job`.
///
/// # Errors
/// What does not fit.
pub fn parse(bytes: &[u8], job: &Job, registered: &[u8]) -> Result<Run, RunError> {
    let limits = json::Limits { bytes: MAX_RUN_BYTES, depth: DEPTH, integers: json::Integers::Wide, values: u32::MAX };
    let value = json::parse_strict(bytes, limits).map_err(|error| RunError::Json(error.to_string()))?;
    let run: Run = serde_json::from_value(value).map_err(|error| RunError::Shape(error.to_string()))?;
    if run.format != RUN_FORMAT {
        return Err(RunError::Shape(format!("its format is `{}`", run.format)));
    }
    if run.gate != Some(job.gate) {
        let found = run.gate.map_or("no gate".to_owned(), |gate| format!("the {gate} gate"));
        return Err(RunError::Gate { found, wanted: job.gate.to_string() });
    }
    same_environment(&run, job, registered)?;
    Ok(run)
}

/// What the judge is told of the environment must be what an operator registered: else a worker could judge leniently.
fn same_environment(run: &Run, job: &Job, registered: &[u8]) -> Result<(), RunError> {
    let environment = Environment::well_formed(job.environment.as_str(), registered)
        .map_err(|error| RunError::Job { what: "environment", why: error.to_string() })?;
    let (told, known) = (&run.environment, environment.facts());
    let same = told.name == known.name
        && told.strictness == known.strictness
        && told.cleared_effects == known.cleared_effects
        && told.parts == known.parts
        && told.subjects == known.subjects
        && told.connect_to == known.connect_to
        && told.producer_digest_source == known.producer_digest_source
        && told.artifact_digest.is_some() == environment.artifact.is_some()
        && told.trust_roots.is_some() == environment.trust_roots.is_some();
    if same { Ok(()) } else { Err(RunError::Environment(job.environment.to_string())) }
}

/// When the run was driven, by its own word, and never later than `now`: evidence ages from there.
///
/// # Errors
/// When it says no time.
pub fn driven_at(run: &Run, now: Timestamp) -> Result<Timestamp, RunError> {
    let said: Timestamp =
        run.started_at.parse().map_err(|_| RunError::Shape(format!("`{}` is no RFC 3339 time", run.started_at)))?;
    Ok(said.min(now))
}
