//! `authorization.yaml`: who may do what to whose objects.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    decode::{Cx, Decode, Located, choice, file_type},
    problem::Code,
    yaml::Node,
};

/// `authorization.yaml`: the policy, at the root or under `authorization`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum AuthorizationFile {
    /// Under its own key.
    Keyed(KeyedAuthorization),
    /// At the root: `public: true`.
    Bare(Authorization),
}

file_type! {
    /// The policy under its own key.
    pub struct KeyedAuthorization {
        /// The policy.
        authorization: Authorization,
    }
}

file_type! {
    /// The authorization policy of the producer.
    #[derive(Default)]
    pub struct Authorization {
        /// The producer has no security schemes: anonymous calls must work, and no undeclared credential is asked for.
        public: bool = default,
        /// The matrix; each row is executed with a real credential.
        matrix: Vec<AuthorizationRow> = default,
    }
}

file_type! {
    /// One row: this subject doing this to that object must have this result.
    pub struct AuthorizationRow {
        /// The subject, by its name in the environment.
        subject: Located<String>,
        /// The tenant the subject acts in.
        tenant: Option<String>,
        /// What is acted on.
        object: AuthorizationObject,
        /// The operation: `get`, `cancel`, `commit`, `read`, …
        operation: Located<String>,
        /// What must come of it.
        expected: ExpectedAccess,
    }
}

file_type! {
    /// The object of a row.
    pub struct AuthorizationObject {
        /// Its kind: `task`, `draft`, …
        kind: String,
        /// The tenant that owns it.
        tenant: String,
    }
}

choice! {
    /// What an access must lead to.
    pub enum ExpectedAccess {
        /// It is done.
        Allow = "allow",
        /// It is refused.
        Deny = "deny",
        /// It is refused so that the object might as well not exist.
        NotFoundPolicy = "not_found_policy",
        /// A fresh credential is asked for.
        ReAuthenticate = "re_authenticate",
        /// An approval is asked for first.
        ApprovalRequired = "approval_required",
    }
}

// === impl AuthorizationFile ===

impl AuthorizationFile {
    /// The policy, wherever it stood.
    #[must_use]
    pub fn into_policy(self) -> Authorization {
        match self {
            Self::Keyed(keyed) => keyed.authorization,
            Self::Bare(policy) => policy,
        }
    }
}

impl Decode for AuthorizationFile {
    fn decode(node: &Node, cx: &mut Cx<'_>) -> Option<Self> {
        let read = if node.get("authorization").is_some() {
            KeyedAuthorization::decode(node, cx).map(Self::Keyed)?
        } else {
            Authorization::decode(node, cx).map(Self::Bare)?
        };
        let policy = match &read {
            Self::Keyed(keyed) => &keyed.authorization,
            Self::Bare(policy) => policy,
        };
        if !policy.public && policy.matrix.is_empty() && cx.problems.is_empty() {
            let message = "the policy is neither public nor has a row";
            cx.problem_with_hint(node.at, Code::InvalidValue, message, "write rows under `matrix`, or `public: true`");
        }
        Some(read)
    }
}
