//! Problems of bundles and environments as part of an error, all at once.

use ostiary_contract::Problems;

use crate::error::{ApiError, ErrorCode, ProblemItem};

/// An error that lists everything that is wrong.
#[must_use]
pub fn of(code: ErrorCode, message: &'static str, problems: &Problems) -> ApiError {
    let items = problems.0.iter().map(|problem| ProblemItem {
        file: problem.file.clone(),
        line: problem.line,
        column: problem.column,
        code: problem.code.as_str().to_owned(),
        message: problem.message.clone(),
        hint: problem.hint.clone().unwrap_or_default(),
    });
    ApiError::new(code, message).with_problems(items.collect())
}
