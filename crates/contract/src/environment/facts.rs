//! What the judge may know of an environment: no secrets.

use ostiary_record::{EnvironmentFacts, SubjectFacts, run::CredentialKind};

use super::{Environment, Subject};

// === impl Environment ===

impl Environment {
    /// The facts that go into a run. What only the run finds out (endpoint, key, digests of files, kinds of effect
    /// really observed) is left
    /// for the run to fill in.
    #[must_use]
    pub fn facts(&self) -> EnvironmentFacts {
        EnvironmentFacts {
            name: self.name.value.clone(),
            strictness: self.strictness.as_str().to_owned(),
            cleared_effects: self.cleared_effects.iter().map(|r| r.as_str().to_owned()).collect(),
            parts: self.parts.iter().map(|(name, part)| (name.clone(), part.as_str().to_owned())).collect(),
            subjects: self.subjects.iter().map(|(name, subject)| (name.clone(), subject.facts())).collect(),
            connect_to: self.connect_to.clone(),
            faults: self.faults.iter().map(|f| f.value.as_str().to_owned()).collect(),
            dependencies: self.dependencies.iter().map(|d| d.name.value.clone()).collect(),
            ..EnvironmentFacts::default()
        }
    }
}

// === impl Subject ===

impl Subject {
    fn facts(&self) -> SubjectFacts {
        let credential = match (self.expired, self.foreign) {
            (true, _) => CredentialKind::Expired,
            (false, true) => CredentialKind::Foreign,
            (false, false) => CredentialKind::Valid,
        };
        SubjectFacts {
            profile: self.profile.clone(),
            tenant_class: self.tenant_class.clone(),
            tenant: self.tenant.clone(),
            credential,
        }
    }
}
