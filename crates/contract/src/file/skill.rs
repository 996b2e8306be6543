//! `skills.yaml`: what a skill takes, gives, and never does.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, choice, file_type, one_or_many},
    yaml::Node,
};

/// `skills.yaml`: one skill contract, or a list of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SkillsFile {
    /// The contracts.
    #[schemars(with = "OneOrMany<SkillContract>")]
    pub skill_contract: Vec<SkillContract>,
}

/// One of something, or a list.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used: decoding joins both forms into a list")]
pub(crate) enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

file_type! {
    /// The contract of one skill.
    pub struct SkillContract {
        /// The skill's id in the card.
        skill_id: Located<String>,
        /// Media types it takes.
        input_modes: Vec<Located<String>>,
        /// Media types it gives.
        output_modes: Vec<Located<String>>,
        /// Requests that must work.
        examples: Vec<SkillExample> = default,
        /// Effects that it never has.
        forbidden: Vec<String> = default,
    }
}

file_type! {
    /// A request that must work, and the artifact that must come of it.
    pub struct SkillExample {
        /// Its name.
        name: Located<String>,
        /// The request's content.
        input_fixture: Located<String>,
        /// What the artifact must satisfy; naming it makes an artifact required.
        expected_artifact_schema: Option<Located<String>>,
        /// How long its task is open.
        runs: Runs = default,
        /// Where its task first stands still.
        leads_to: LeadsTo = default,
        /// What is sent to its task once that waits for input.
        answer_fixture: Option<Located<String>>,
        /// The business's acceptance conditions, as a schema of the result.
        acceptance: Option<Located<String>>,
        /// Where the result says what it claims, and on which sources.
        claims: Option<ClaimsRule>,
        /// The parts that the result must have, in this order; others may stand between them.
        expected_parts: Vec<ExpectedPart> = default,
    }
}

file_type! {
    /// Each claim of a result names a source.
    pub struct ClaimsRule {
        /// JSON pointer to the list of claims in the result.
        pointer: Located<String>,
        /// JSON pointer from a claim to its source, or to the list of them.
        sources_pointer: Located<String>,
        /// JSON pointer to the list of all sources in the result; each that a claim names must be in it.
        known_pointer: Option<Located<String>>,
    }
}

file_type! {
    /// A part that a result must have.
    pub struct ExpectedPart {
        /// Its media type, or a range of them.
        media_type: Located<String>,
        /// Its least size.
        min_bytes: Option<u64>,
        /// The digest of its bytes, in hexadecimal.
        sha256: Option<Located<String>>,
        /// The fixture that it says the same as.
        same_as: Option<Located<String>>,
    }
}

choice! {
    /// How long the task of an example is open.
    #[derive(Default)]
    pub enum Runs {
        /// No longer than its work takes.
        #[default]
        Brief = "brief",
        /// About two seconds or more, with progress reported, so that it can be canceled, subscribed to and left alone.
        Long = "long",
    }
}

choice! {
    /// Where the task of an example first stands still.
    #[derive(Default)]
    pub enum LeadsTo {
        /// It completes.
        #[default]
        Completed = "completed",
        /// It fails.
        Failed = "failed",
        /// It is rejected.
        Rejected = "rejected",
        /// It waits for input.
        InputRequired = "input_required",
        /// It waits for a credential.
        AuthRequired = "auth_required",
    }
}

// === impl SkillsFile ===

impl Decode for SkillsFile {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        cx.members(node, &["skill_contract"])?;
        let Some(inner) = node.get("skill_contract") else {
            cx.problem(node.at, crate::problem::Code::MissingKey, "the key `skill_contract` is missing");
            return None;
        };
        one_or_many(inner, cx).map(|skill_contract| Self { skill_contract })
    }
}
