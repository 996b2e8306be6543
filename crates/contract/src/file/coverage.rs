//! `coverage.yaml`: which combinations are tried, which profiles are wanted, how much wavering is tolerated.

use ostiary_canon::Profile;

use crate::{
    decode::{Cx, Located, choice, file_type},
    problem::Code,
};

file_type! {
    /// `coverage.yaml`.
    #[derive(Default)]
    pub struct CoverageFile {
        /// The policy.
        coverage_policy: Option<CoveragePolicy>,
        /// The profiles to be activated; absent = every declared interface with the default profile.
        #[schemars(with = "Vec<String>")]
        activate: Vec<Located<Profile>> = default,
        /// How much repetitions may differ.
        tolerance: Option<Located<Tolerance>>,
    }
}

file_type! {
    /// How the space of combinations is reduced.
    #[derive(Default)]
    pub struct CoveragePolicy {
        /// The core of the protocol.
        protocol_core: BindingCoverage = default,
        /// Operations that destroy.
        destructive_operations: OperationCoverage = default,
        /// Operations that only read.
        read_only_operations: OperationCoverage = default,
        /// Past incidents.
        prior_incidents: IncidentCoverage = default,
        /// Versions on their way out.
        deprecated_versions: DeprecatedCoverage = default,
        /// The profiles to be activated.
        #[schemars(with = "Vec<String>")]
        activate: Vec<Located<Profile>> = default,
        /// How much repetitions may differ.
        tolerance: Option<Located<Tolerance>>,
    }
}

/// Most repetitions of a live check: enough to tell a check that flips once in a hundred times.
pub const MOST_REPETITIONS: u32 = 100;

/// Most profiles that one contract activates: each is verified by itself, with everything that is driven.
pub const MOST_PROFILES: usize = 64;

file_type! {
    /// How much repetitions may differ before the difference itself is the finding (V-02).
    pub struct Tolerance {
        /// How often a live check is repeated.
        #[schemars(range(min = 1, max = 100))]
        repetitions: u32,
        /// How many repetitions may differ from the others.
        may_differ: u32 = default,
        /// What a difference beyond that is.
        beyond: Beyond = default,
    }
}

choice! {
    /// What a difference beyond the tolerance is.
    #[derive(Default)]
    pub enum Beyond {
        /// A failure.
        #[default]
        Fail = "fail",
        /// Nothing that can be told.
        Inconclusive = "inconclusive",
    }
}

choice! {
    /// Which bindings the protocol's core is tried on.
    #[derive(Default)]
    pub enum BindingCoverage {
        /// All that the card declares and the harness supports.
        #[default]
        AllSupported = "all_supported_bindings",
        /// Those to be activated.
        Activated = "activated_bindings",
    }
}

choice! {
    /// How an operation's inputs and subjects are combined.
    #[derive(Default)]
    pub enum OperationCoverage {
        /// Every subject, tenant and approval.
        ExhaustiveSecurityMatrix = "exhaustive_security_matrix",
        /// Pairs, and the boundaries of each input.
        #[default]
        PairwisePlusBoundaries = "pairwise_plus_boundaries",
        /// One normal and one erroneous call.
        Representative = "representative",
    }
}

choice! {
    /// When past incidents are tried.
    #[derive(Default)]
    pub enum IncidentCoverage {
        /// Always.
        #[default]
        Always = "always",
    }
}

choice! {
    /// For whom deprecated versions are tried.
    #[derive(Default)]
    pub enum DeprecatedCoverage {
        /// For consumers in production.
        #[default]
        ProductionConsumersOnly = "production_consumers_only",
        /// For all.
        All = "all",
        /// For nobody.
        None = "none",
    }
}

// === impl CoverageFile ===

impl CoverageFile {
    /// One policy from both places where `activate` and `tolerance` may stand.
    pub(crate) fn into_policy(self, cx: &mut Cx<'_>) -> CoveragePolicy {
        let mut policy = self.coverage_policy.unwrap_or_default();
        if let Some(at) = self.activate.first().map(|p| p.at).filter(|_| !policy.activate.is_empty()) {
            cx.problem(at, Code::Contradiction, "`activate` stands at the root and in `coverage_policy`");
        }
        if policy.activate.is_empty() {
            policy.activate = self.activate;
        }
        if let Some(beyond) = policy.activate.get(MOST_PROFILES) {
            let message =
                format!("{} profiles are activated, and at most {MOST_PROFILES} may be", policy.activate.len());
            cx.problem_with_hint(beyond.at, Code::InvalidValue, message, "make a second contract for the others");
        }
        policy.tolerance = policy.tolerance.or(self.tolerance);
        if let Some(tolerance) = &policy.tolerance {
            tolerance.check(cx);
        }
        policy
    }
}

// === impl Tolerance ===

impl Located<Tolerance> {
    fn check(&self, cx: &mut Cx<'_>) {
        let (repetitions, at) = (self.repetitions, self.at);
        if repetitions == 0 {
            cx.problem(at, Code::InvalidValue, "`repetitions` is 0, and nothing would be run");
        } else if repetitions > MOST_REPETITIONS {
            let message = format!("`repetitions` is {repetitions}, and at most {MOST_REPETITIONS} are driven");
            let hint = format!("write a number from 1 to {MOST_REPETITIONS}");
            cx.problem_with_hint(at, Code::InvalidValue, message, hint);
        } else if self.may_differ >= repetitions {
            let message = "`may_differ` lets all repetitions differ, and nothing would be judged";
            cx.problem(at, Code::Contradiction, message);
        }
    }
}
