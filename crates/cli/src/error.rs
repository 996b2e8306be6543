//! Why a command ended without its result: what, why, and what to do.

use std::fmt;

use serde_json::{Value, json};

use crate::exit::Exit;

/// A command that did not get to its result.
#[derive(Debug)]
pub struct CliError {
    exit: Exit,
    what: String,
    hint: Option<String>,
    /// A stable code, where somebody gave one.
    code: Option<String>,
}

// === impl CliError ===

impl CliError {
    /// The command was used wrongly.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, what: what.into(), hint: None, code: None }
    }

    /// The command could not run.
    pub fn could_not_run(what: impl Into<String>) -> Self {
        Self { exit: Exit::CouldNotRun, what: what.into(), hint: None, code: None }
    }

    /// Somebody who decides said no.
    pub fn refused(what: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, what: what.into(), hint: None, code: None }
    }

    /// The command could not run, because of this.
    pub fn because(what: impl fmt::Display, cause: &dyn std::error::Error) -> Self {
        Self::could_not_run(format!("{what}: {}", chain(cause)))
    }

    /// With a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With a stable code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// How the process ends.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// Whether it carries this code.
    #[must_use]
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// As machines read it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"error": {"message": self.what, "hint": self.hint, "code": self.code, "exit": self.exit.code()}})
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(code) = &self.code {
            write!(f, " [{code}]")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  to do: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CliError {}

/// An error with everything beneath it, once each.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        below = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::CliError;

    #[test]
    fn an_error_says_what_and_what_to_do() {
        let error = CliError::usage("there is no `x`").hint("write `y`").code("X_MISSING");
        assert_eq!(error.to_string(), "there is no `x` [X_MISSING]\n  to do: write `y`");
        assert_eq!(error.to_json()["error"]["exit"], 2);
    }
}
