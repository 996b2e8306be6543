//! The switches: each makes the agent break one promise and keep all others.

use std::{
    collections::BTreeSet,
    fmt,
    str::FromStr,
    sync::{Arc, PoisonError, RwLock},
};

/// Declares the lies with the names that configuration files and command lines use.
macro_rules! lies {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// One broken promise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Lie {
            $($(#[$doc])* $name,)*
        }

        impl Lie {
            /// Every lie there is.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in configuration and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

lies! {
    /// Declares JSON and returns the plan as prose.
    TextArtifact = "text_artifact";
    /// Goes from COMPLETED back to WORKING for a while.
    ReopenTerminal = "reopen_terminal";
    /// Completes without the plan.
    DropArtifact = "drop_artifact";
    /// Ends a stream after the first progress, while the work goes on.
    CutStream = "cut_stream";
    /// Holds a stream back and delivers everything at once, at the end.
    LateStream = "late_stream";
    /// Stamps the last status an hour before the one before it.
    TimeBack = "time_back";
    /// Sends every update of a stream twice.
    DuplicateEvent = "duplicate_event";
    /// Puts a stack trace and an internal host into errors.
    LeakStackTrace = "leak_stack_trace";
    /// Hands out and cancels tasks of other tenants.
    ServeForeignTasks = "serve_foreign_tasks";
    /// Serves requests of any protocol version, or of none.
    AcceptAnyVersion = "accept_any_version";
    /// Takes tokens after their expiry.
    AcceptExpiredToken = "accept_expired_token";
    /// Takes tokens that nobody it trusts has signed.
    AcceptForgedToken = "accept_forged_token";
    /// Serves callers who show no token at all.
    AllowAnonymous = "allow_anonymous";
    /// Takes further messages for a finished task.
    AcceptTerminalMessage = "accept_terminal_message";
    /// Acknowledges a cancel and works on.
    IgnoreCancel = "ignore_cancel";
    /// Calls a finished task canceled, and leaves its plan in it.
    HideResult = "hide_result";
    /// Cancels a task when the request that waits for it is dropped.
    CancelWithCaller = "cancel_with_caller";
    /// Forgets a task a moment after its end.
    ForgetTasks = "forget_tasks";
    /// Takes a token that it has once taken for as long as it lives itself.
    RememberTokens = "remember_tokens";
    /// Streams although the card says that it does not.
    ServeUndeclaredStreaming = "serve_undeclared_streaming";
    /// Takes push configurations although the card says that it does not.
    ServeUndeclaredPush = "serve_undeclared_push";
    /// Serves a card that requires an extension nobody agreed on.
    RequiredExtension = "required_extension";
    /// Serves a card with two skills of one id.
    DuplicateSkillId = "duplicate_skill_id";
}

/// A set of lies; empty = honest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lies(BTreeSet<Lie>);

/// A text that names no lie.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no lie; known are: {known}", known = known())]
pub struct UnknownLie(pub String);

/// The lies in force, shared between the agent and whoever switches them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switches(Arc<RwLock<Lies>>);

// === impl Lie ===

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Lie {
    type Err = UnknownLie;

    fn from_str(text: &str) -> Result<Self, UnknownLie> {
        let found = Self::ALL.iter().copied().find(|lie| lie.name() == text);
        found.ok_or_else(|| UnknownLie(text.to_owned()))
    }
}

// === impl Lies ===

impl Lies {
    /// No lie at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether `lie` is told.
    #[must_use]
    pub fn tells(&self, lie: Lie) -> bool {
        self.0.contains(&lie)
    }
}

impl From<Lie> for Lies {
    fn from(lie: Lie) -> Self {
        Self(BTreeSet::from([lie]))
    }
}

impl FromIterator<Lie> for Lies {
    fn from_iter<I: IntoIterator<Item = Lie>>(lies: I) -> Self {
        Self(lies.into_iter().collect())
    }
}

// === impl Switches ===

impl Switches {
    pub(crate) fn set(&self, lies: Lies) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = lies;
    }

    pub(crate) fn get(&self) -> Lies {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn tells(&self, lie: Lie) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).tells(lie)
    }
}

fn known() -> String {
    Lie::ALL.iter().map(|lie| lie.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Lie, UnknownLie};

    #[test]
    fn every_lie_is_found_by_its_name() {
        for lie in Lie::ALL {
            assert_eq!(lie.name().parse(), Ok(*lie));
        }
    }

    #[test]
    fn an_unknown_lie_is_refused_with_the_list_of_known_ones() {
        let error = "white_lie".parse::<Lie>().unwrap_err();
        assert_eq!(error, UnknownLie("white_lie".to_owned()));
        assert!(error.to_string().contains("text_artifact"));
    }
}
