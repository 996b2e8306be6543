//! `drift.yaml`: what happens when a version in use no longer behaves as admitted.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, choice, file_type},
    yaml::{Node, Value},
};

file_type! {
    /// `drift.yaml`.
    pub struct DriftFile {
        /// The policy.
        drift_policy: DriftPolicy,
    }
}

file_type! {
    /// Signal by signal, what it leads to.
    #[derive(Default)]
    pub struct DriftPolicy {
        /// The card is not the admitted one.
        card_digest_mismatch: Option<Reaction>,
        /// The tool list is not the admitted one.
        tool_digest_mismatch: Option<Reaction>,
        /// Errors that no contract names.
        unknown_error_code_rate: Option<Reaction>,
        /// Tool results that miss their schema.
        output_schema_violation: Option<Reaction>,
        /// Share of answers that miss their schema.
        schema_failure_rate: Option<Reaction>,
        /// Task steps that cannot be.
        impossible_task_transition: Option<Reaction>,
        /// Annotations that the effects belie.
        annotation_effect_mismatch: Option<Reaction>,
        /// Answers that consumers cannot read.
        consumer_decode_failure: Option<Reaction>,
        /// Effects after a cancel.
        write_after_cancel: Option<Reaction>,
        /// Fewer refusals across tenants than usual.
        cross_tenant_deny_falling: Option<Reaction>,
        /// More successes across tenants than usual.
        cross_tenant_allow_rising: Option<Reaction>,
    }
}

/// An action at the first sign, or from a threshold on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Reaction {
    /// At the first sign.
    AtOnce(DriftAction),
    /// From a threshold on.
    From(ThresholdReaction),
}

file_type! {
    /// An action from a threshold on.
    pub struct ThresholdReaction {
        /// The threshold.
        threshold: Threshold,
        /// What happens.
        action: DriftAction,
    }
}

/// A count, or the name of a rate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Threshold {
    /// So many signs.
    Count(u64),
    /// A rate, as the drift policy of the installation names it.
    Named(String),
}

choice! {
    /// What a signal leads to; each only lowers trust.
    pub enum DriftAction {
        /// People are told.
        Warn = "warn",
        /// The canary is stopped.
        CanaryStop = "canary_stop",
        /// The route is closed.
        RouteDisable = "route_disable",
        /// The version is quarantined.
        Quarantine = "quarantine",
        /// An incident is opened.
        IncidentOpen = "incident_open",
    }
}

// === impl Reaction ===

impl Decode for Reaction {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match &node.value {
            Value::Map(_) => ThresholdReaction::decode(node, cx).map(Self::From),
            _ => DriftAction::decode(node, cx).map(Self::AtOnce),
        }
    }
}

// === impl Threshold ===

impl Decode for Threshold {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        match &node.value {
            Value::Number(_) => u64::decode(node, cx).map(Self::Count),
            _ => String::decode(node, cx).map(Self::Named),
        }
    }
}
