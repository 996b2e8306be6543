//! Checks of the protocol layer: messages, versions, streams, the task machine, errors.

use crate::{check::Check, negatives};

pub(crate) use self::{subscribe_works::nothing_followed, undeclared::declares};

mod cancel_commit;
mod cancel_terminal;
mod cancel_told;
mod cancel_works;
mod combined;
mod context_mismatch;
mod disconnect;
mod duplicate;
mod duplicates;
mod equivalence;
mod error_codes;
mod error_mapping;
mod error_shape;
mod event_ids;
mod extended_card;
mod extension;
mod history_length;
mod input_mode;
pub(crate) mod lost;
mod machine;
mod malformed;
mod push;
mod response;
mod send_immediate;
mod skill_exercised;
mod stream_artifacts;
mod stream_closes;
mod stream_fan_out;
mod stream_independent;
mod stream_order;
mod stream_refusal;
mod stream_works;
mod subscribe_first;
mod subscribe_refused;
mod subscribe_works;
mod task_context;
mod task_ids;
mod task_list;
mod task_outcome;
mod tenant_routing;
mod terminal_kept;
mod terminal_message;
mod timestamps;
mod turns;
mod undeclared;
mod unknown_task_message;
mod version;
mod version_accepted;
mod version_matched;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    let mut out: Vec<Box<dyn Check>> = vec![
        Box::new(response::Response),
        Box::new(skill_exercised::SkillExercised),
        Box::new(combined::Combinations),
        Box::new(version_accepted::VersionAccepted),
        Box::new(version::VersionEnforced),
        Box::new(version_matched::VersionMatched),
        Box::new(tenant_routing::TenantRouted),
        Box::new(extension::ExtensionEnforced),
        Box::new(extended_card::ExtendedCardServed),
        Box::new(equivalence::Equivalent),
        Box::new(stream_works::StreamWorks),
    ];
    out.extend(undeclared::Undeclared::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.extend(push::checks());
    out.extend(stream_order::StreamOrder::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.push(Box::new(stream_closes::StreamCloses));
    out.push(Box::new(subscribe_works::SubscribeWorks));
    out.push(Box::new(subscribe_first::SubscribeFirst));
    out.push(Box::new(subscribe_refused::SubscribeRefused));
    out.push(Box::new(stream_fan_out::FanOut));
    out.push(Box::new(stream_independent::Independent));
    out.push(Box::new(disconnect::Disconnect));
    out.push(Box::new(stream_artifacts::StreamArtifacts));
    out.push(Box::new(stream_refusal::StreamRefusal));
    out.push(Box::new(event_ids::EventIds));
    out.push(Box::new(send_immediate::Immediate));
    out.push(Box::new(task_ids::TaskIds));
    out.push(Box::new(machine::Machine));
    out.push(Box::new(task_context::TaskContext));
    out.push(Box::new(turns::TaskTurns));
    out.push(Box::new(context_mismatch::ContextMismatch));
    out.push(Box::new(task_outcome::TaskOutcome));
    out.push(Box::new(unknown_task_message::UnknownTaskMessage));
    out.push(Box::new(history_length::HistoryLength));
    out.push(Box::new(task_list::TaskList));
    out.extend(terminal_kept::TerminalKept::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.push(Box::new(terminal_message::TerminalMessage));
    out.push(Box::new(cancel_terminal::CancelTerminal));
    out.push(Box::new(cancel_works::CancelWorks));
    out.push(Box::new(cancel_told::CancelTold));
    out.push(Box::new(cancel_commit::CancelCommit));
    out.push(Box::new(lost::Dropped));
    out.push(Box::new(timestamps::Timestamps));
    out.push(Box::new(duplicates::Duplicates));
    out.extend(malformed::MalformedMessage::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.push(Box::new(input_mode::InputMode));
    out.push(Box::new(duplicate::DuplicateRequest));
    out.push(Box::new(error_codes::ErrorCodes));
    out.push(Box::new(error_shape::ErrorShape));
    out.push(Box::new(error_mapping::ErrorMapping));
    out.push(Box::new(negatives::StableRefusal));
    out.push(Box::new(negatives::RefusedEffects));
    out
}
