//! The suite that every store must pass, generic over the port.
//!
//! It lives beside the ports, not in `tests`, so that each store's crate proves itself alone. A store brings a [`Bench`]
//! and one line, [`store_conformance!`](crate::store_conformance); nothing here knows a database or a runtime.

use std::sync::Arc;

use ostiary_record::ports::BoxFuture;

use crate::ports::{Store, StorePorts};

pub mod audit;
pub mod crash;
pub mod doubles;
pub mod drift;
pub mod feed;
pub mod grants;
pub mod lifecycle;
pub mod looks;
pub mod outcomes;
pub mod queue;
pub mod race;
pub mod registry;
pub mod waivers;
pub mod webhooks;
pub mod world;

/// A place where one database lives for the length of one test.
pub trait Bench: Send + Sync {
    /// Opens the database: the first time empty, later as it was left.
    fn open(&self, ports: StorePorts) -> BoxFuture<'_, Arc<dyn Store>>;
    /// Lets go of it as a process does that ends.
    fn close(&self) -> BoxFuture<'_, ()>;
    /// Changes rows behind the store's back, as somebody with the database's password can.
    fn tamper(&self, how: Tamper) -> BoxFuture<'_, ()>;
}

/// What somebody does behind the store's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tamper {
    /// Changes the text of the audit entry of that revision.
    EditAudit(u64),
    /// Deletes that audit entry.
    DeleteAudit(u64),
    /// Lets two audit entries change places.
    SwapAudit(u64, u64),
    /// Files an entry under another subject.
    RefileAudit(u64),
    /// Changes the bytes of every object.
    EditObjects,
    /// Writes another state's name beside the facts of every version.
    EditState,
}

/// Makes one `#[tokio::test]` of every case, each on a fresh bench made by `$bench`.
#[macro_export]
macro_rules! store_conformance {
    ($bench:expr) => {
        $crate::store_conformance! { @cases $bench;
            lifecycle: a_version_walks_from_draft_to_active, what_is_stored_survives_a_restart,
                a_label_is_submitted_again_only_after_its_try_ended, a_submission_names_only_what_is_there,
                failure_then_hold_then_quarantine_then_release, a_rollback_is_one_step, approvals_are_kept_to_their_rules,
                a_second_canary_is_refused_and_its_evidence_kept, acts_repeat_by_their_key;
            race: two_results_on_one_row_exactly_one_wins, an_act_beats_a_result_that_looked_before,
                two_acts_on_one_row_exactly_one_wins, submissions_at_the_same_time_are_one_try,
                another_policy_in_force_keeps_the_evidence_only;
            queue: an_expired_lease_cannot_commit, a_lease_that_went_to_somebody_else_cannot_commit,
                a_lease_that_was_never_given_commits_nothing, a_heartbeat_prolongs_and_a_late_one_does_not,
                a_result_is_committed_once, a_job_is_given_back_or_given_up, a_job_that_kills_workers_is_given_up,
                one_open_job_for_each_gate, only_wanted_gates_are_claimed;
            feed: every_revision_appears_in_the_feed, a_stretch_ends_with_a_whole_revision,
                a_namespace_that_changes_its_mode_is_told_anew, a_new_try_does_not_hide_the_admitted_one,
                evidence_is_read_in_bulk;
            waivers: a_waiver_is_two_peoples_word, a_revoked_waiver_calls_in_what_rests_on_it,
                waivers_repeat_by_their_keys, two_grants_at_the_same_time_are_one, a_waiver_is_for_what_was_measured;
            grants: a_replica_keeps_one_row_and_makes_no_revision, a_silent_replica_is_forgotten_late;
            webhooks: receivers_at_the_same_time_do_not_exceed_their_number,
                a_receiver_is_registered_once_by_its_key, a_receiver_is_claimed_once_and_moves_on,
                what_is_given_up_stays_visible, a_notice_is_told_once;
            drift: a_report_is_taken_once, only_another_card_begins_a_revalidation, what_the_control_plane_sees_decides,
                one_router_alone_takes_nothing_down, a_second_router_counts_while_nobody_can_look,
                an_unfounded_reporter_is_heard_later;
            looks: what_happened_meanwhile_counts, a_look_that_was_overtaken_moves_nothing,
                reports_at_the_same_time_are_one_revalidation, a_report_survives_every_failpoint,
                a_look_survives_every_failpoint, another_machine_lifts_no_revalidation;
            outcomes: a_window_counts_once_and_adds_up, sums_begin_and_end_in_time;
            audit: revisions_have_no_gap_and_the_chain_verifies, an_edited_entry_is_found, a_deleted_entry_is_found,
                a_moved_entry_is_found, a_refiled_entry_is_found, a_cut_chain_is_found;
            registry: rows_come_back_as_they_were_put, tokens_are_found_by_digest_until_revoked,
                bytes_that_changed_are_not_served, a_row_that_contradicts_itself_is_reported;
            crash: a_submission_survives_every_failpoint, a_gate_survives_every_failpoint;
        }
    };
    (@cases $bench:expr; $($module:ident: $($case:ident),*;)*) => {
        $($(
            #[tokio::test]
            async fn $case() {
                $crate::conformance::$module::$case(&$bench).await;
            }
        )*)*
    };
}
