//! Acts, and the one table that says which role may do which.

use ostiary_domain::registry::Role;

/// What an endpoint does, as far as rights are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// Read agents, versions, gates, names of environments, policies.
    Read,
    /// Read evidence and what was found.
    ReadEvidence,
    /// Read the audit log.
    ReadAudit,
    /// Register agents, upload bundles, submit versions and take them back, ask for a gate.
    Publish,
    /// Ask for a promotion, retire a version.
    Promote,
    /// Register environments: they may run commands and name secrets.
    PutEnvironment,
    /// Consent to a step.
    Approve,
    /// Hold, quarantine, release, abort a canary, roll back.
    Operate,
    /// Claim runs and upload recordings.
    Verify,
    /// Ask for admission.
    Check,
    /// Tell what a dispatch saw, and how it went.
    Report,
    /// Make namespaces, set their mode, put policies in force.
    Administer,
}

// === impl Act ===

impl Act {
    /// All acts.
    pub const ALL: [Self; 12] = [
        Self::Read,
        Self::ReadEvidence,
        Self::ReadAudit,
        Self::Publish,
        Self::Promote,
        Self::PutEnvironment,
        Self::Approve,
        Self::Operate,
        Self::Verify,
        Self::Check,
        Self::Report,
        Self::Administer,
    ];

    /// The act in words that fit after "may".
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Read => "read the registry",
            Self::ReadEvidence => "read evidence",
            Self::ReadAudit => "read the audit log",
            Self::Publish => "publish",
            Self::Promote => "promote or retire versions",
            Self::PutEnvironment => "register environments",
            Self::Approve => "approve",
            Self::Operate => "hold, quarantine, release or roll back",
            Self::Verify => "drive verification runs",
            Self::Check => "ask for admission",
            Self::Report => "report what routers see",
            Self::Administer => "administer namespaces and policies",
        }
    }
}

/// The table: what each role may do. Whether it may do so in a namespace is asked apart.
#[must_use]
pub const fn may(role: Role, act: Act) -> bool {
    match role {
        Role::Publisher => {
            matches!(act, Act::Read | Act::ReadEvidence | Act::Publish | Act::Promote | Act::Check)
        }
        Role::Verifier => matches!(act, Act::Verify),
        Role::Operator => matches!(
            act,
            Act::Read
                | Act::ReadEvidence
                | Act::ReadAudit
                | Act::Promote
                | Act::PutEnvironment
                | Act::Approve
                | Act::Operate
                | Act::Check
        ),
        Role::Router => matches!(act, Act::Check | Act::Report),
        Role::Auditor => matches!(act, Act::Read | Act::ReadEvidence | Act::ReadAudit | Act::Check),
        // An administrator is neither worker nor router: recordings and reports come from who was there.
        Role::Admin => !matches!(act, Act::Verify | Act::Report),
    }
}

/// The names of all roles, for messages.
#[must_use]
pub fn role_names() -> String {
    Role::ALL.map(Role::as_str).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(role: Role) -> Vec<Act> {
        Act::ALL.into_iter().filter(|act| may(role, *act)).collect()
    }

    #[test]
    fn a_worker_can_do_nothing_but_its_work() {
        assert_eq!(granted(Role::Verifier), [Act::Verify]);
    }

    #[test]
    fn a_router_can_do_nothing_but_ask_and_report() {
        assert_eq!(granted(Role::Router), [Act::Check, Act::Report]);
    }

    #[test]
    fn an_auditor_changes_nothing() {
        assert_eq!(granted(Role::Auditor), [Act::Read, Act::ReadEvidence, Act::ReadAudit, Act::Check]);
    }

    #[test]
    fn who_publishes_can_neither_approve_nor_operate() {
        for act in [Act::Approve, Act::Operate, Act::PutEnvironment, Act::Administer] {
            assert!(!may(Role::Publisher, act), "{act:?}");
        }
    }

    #[test]
    fn who_operates_cannot_submit_what_it_approves() {
        assert!(may(Role::Operator, Act::Approve) && !may(Role::Operator, Act::Publish));
    }
}
