//! The lies by name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Declares the lies with the names that files and command lines use.
macro_rules! lies {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// One broken promise; everything else stays as the agent does it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Lie {
            $($(#[$doc])* $name,)*
        }

        impl Lie {
            /// Every lie there is.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in files and on the command line.
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
    /// After the terminal status a stream says WORKING; a task whose end was reported is WORKING when it is read later.
    ReopenTerminal = "reopen_terminal";
    /// JSON in artifacts becomes plain text, and text becomes JSON.
    ChangeContentType = "change_content_type";
    /// Artifacts vanish from tasks and streams.
    DropArtifact = "drop_artifact";
    /// A stream ends, in good order, before its terminal status.
    CutStream = "cut_stream";
    /// From its second status on a task's timestamps are an hour before the first.
    StepTimeBack = "step_time_back";
    /// Updates of a stream come twice; the terminal status only if nothing else could.
    DuplicateEvent = "duplicate_event";
    /// Errors carry a stack trace and a token.
    LeakStackTrace = "leak_stack_trace";
    /// A refused read or cancel of a task that was seen before is served, whoever asks.
    ServeForeignTask = "serve_foreign_task";
    /// Requests of any protocol version, or of none, are served as 1.0.
    AcceptAnyVersion = "accept_any_version";
    /// A message to a finished task is taken.
    AcceptMessageToTerminal = "accept_message_to_terminal";
    /// A cancel of a task at work is answered with the task as it is, and the agent never hears of it.
    IgnoreCancel = "ignore_cancel";
    /// Whatever credential is shown or not, the request is served as that of the first one that was accepted.
    IgnoreCredential = "ignore_credential";
    /// A streaming call that the agent refuses as unsupported is streamed.
    ServeUndeclaredStream = "serve_undeclared_stream";
    /// A subscription begins with an update, and not with its task.
    LoseSnapshot = "lose_snapshot";
    /// A subscription begins with its task as it was an hour before.
    StaleSnapshot = "stale_snapshot";
    /// A subscription lacks its second update.
    LoseEvent = "lose_event";
    /// A subscription brings, after its task, all that earlier streams of the task had brought.
    ReplayEvents = "replay_events";
    /// When a stream of a task is closed by its reader, the task's other streams end.
    CloseTogether = "close_together";
    /// A task is canceled when the last reader of its streams goes away.
    CancelOnDisconnect = "cancel_on_disconnect";
    /// The pieces of artifacts are appended to nothing.
    AppendToUnknown = "append_to_unknown";
    /// Streams bring each piece of an artifact once more, as a further piece.
    AppendPhantom = "append_phantom";
    /// The updates of a stream name another context than their task.
    SwitchContext = "switch_context";
    /// The answer to a question of a task is answered with another task.
    AnswerAsNewTask = "answer_as_new_task";
    /// A message of another context than its task's is taken.
    AcceptAnyContext = "accept_any_context";
    /// A message to a task that does not exist makes it.
    AcceptUnknownTask = "accept_unknown_task";
    /// Tasks that failed or were rejected are told as completed.
    CompleteAlways = "complete_always";
    /// Tasks come with more messages of their history than were asked for.
    TellFullHistory = "tell_full_history";
    /// Tasks are listed oldest first.
    ReverseList = "reverse_list";
    /// The card requires an extension that the agent does not ask for.
    RequireExtension = "require_extension";
    /// The card says something else than the agent's own.
    ChangeCard = "change_card";
}

/// A text that names no lie.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no lie; known are: {known}", known = known())]
pub struct UnknownLie(pub String);

impl FromStr for Lie {
    type Err = UnknownLie;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|lie| lie.name() == text).ok_or_else(|| UnknownLie(text.to_owned()))
    }
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn known() -> String {
    Lie::ALL.iter().map(|lie| lie.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lie_is_read_by_the_name_it_is_written_with() {
        for lie in Lie::ALL {
            assert_eq!(lie.to_string().parse(), Ok(*lie));
            assert_eq!(serde_json::to_value(lie).unwrap(), lie.name());
        }
        assert!("honest".parse::<Lie>().unwrap_err().to_string().contains("cut_stream"));
    }
}
