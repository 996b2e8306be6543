//! The fact: a gate was run under named conditions, and this is what passed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Predicate, TEST_RESULT};
use crate::{Digest, Profile, manifest::DigestSource};

/// in-toto test-result v0.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// The result as a whole.
    pub result: TestVerdict,
    /// Under which conditions: what was run, against what, by which policy.
    pub configuration: Vec<ResourceDescriptor>,
    /// Where people can read more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Names of the checks that passed.
    #[serde(rename = "passedTests", default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// Names of the checks that passed with a warning, or could not tell.
    #[serde(rename = "warnedTests", default, skip_serializing_if = "Vec::is_empty")]
    pub warned: Vec<String>,
    /// Names of the checks that failed.
    #[serde(rename = "failedTests", default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

/// The result as a whole. Could-not-tell has no word of its own in the format: it is `WARNED`, and never opens a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TestVerdict {
    /// All that had to pass passed.
    Passed,
    /// Nothing failed, but not all could be told.
    Warned,
    /// Something failed.
    Failed,
}

/// in-toto ResourceDescriptor: something by name, place or digest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDescriptor {
    /// Its name in this statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Algorithm → lower-case hex.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digest: BTreeMap<String, String>,
    /// What else is known of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, Value>,
}

/// The conditions that our test results name, as types; in the statement they are `configuration` descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The gate that was run.
    pub gate: String,
    /// When it was verified.
    pub verified_at: Timestamp,
    /// The version of the harness.
    pub harness_version: String,
    /// The policy's digest.
    pub policy_digest: Digest,
    /// The digest of the recordings that were judged.
    pub run_digest: Digest,
    /// The verification environment.
    pub environment: String,
    /// Where the agent was called, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// SHA-256 of the SPKI of the server's TLS key, as hex, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spki_sha256: Option<String>,
    /// Where connections to a declared `host:port` were led instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connect_to: BTreeMap<String, String>,
    /// SHA-256 of the certificate authorities that were trusted in place of the web's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_roots: Option<Digest>,
    /// How the artifact's digest is known: `observed`, `attested` or `declared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub producer_digest_source: Option<DigestSource>,
    /// The profiles that passed.
    pub profiles_passed: Vec<Profile>,
    /// The profiles that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles_failed: Vec<Profile>,
}

/// Why descriptors do not name the conditions of a run of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionsError {
    /// A descriptor is missing or stands there twice.
    #[error("the configuration must hold exactly one descriptor named `{0}`")]
    Descriptor(&'static str),
    /// A descriptor of another shape.
    #[error("descriptor `{name}`: {reason}")]
    Shape {
        /// The descriptor.
        name: &'static str,
        /// Why it does not fit.
        reason: String,
    },
}

const POLICY: &str = "policy";
const RUN: &str = "run";

impl Predicate for TestResult {
    const TYPE: &'static str = TEST_RESULT;
}

// === impl TestResult ===

impl TestResult {
    /// The conditions that the configuration names.
    ///
    /// # Errors
    /// When a descriptor of ours is missing, doubled or of another shape.
    pub fn conditions(&self) -> Result<Conditions, ConditionsError> {
        let (run, policy) = (self.descriptor(RUN)?, self.descriptor(POLICY)?);
        let mut fields: serde_json::Map<String, Value> =
            run.annotations.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        fields.insert("run_digest".to_owned(), sha256_of(run, RUN)?);
        fields.insert("policy_digest".to_owned(), sha256_of(policy, POLICY)?);
        serde_json::from_value(Value::Object(fields))
            .map_err(|error| ConditionsError::Shape { name: RUN, reason: error.to_string() })
    }

    fn descriptor(&self, name: &'static str) -> Result<&ResourceDescriptor, ConditionsError> {
        let mut named = self.configuration.iter().filter(|one| one.name.as_deref() == Some(name));
        match (named.next(), named.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(ConditionsError::Descriptor(name)),
        }
    }
}

// === impl ResourceDescriptor ===

impl ResourceDescriptor {
    /// A descriptor by name and digest.
    #[must_use]
    pub fn named(name: &str, digest: Digest) -> Self {
        Self { name: Some(name.to_owned()), digest: [("sha256".to_owned(), digest.hex())].into(), ..Self::default() }
    }
}

// === impl Conditions ===

impl Conditions {
    /// The conditions as descriptors: `run` with all that has no digest of its own as annotations, and `policy`.
    #[must_use]
    pub fn configuration(&self) -> Vec<ResourceDescriptor> {
        let mut run = ResourceDescriptor::named(RUN, self.run_digest);
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            let own_digest = |name: &str| name == "run_digest" || name == "policy_digest";
            run.annotations = fields.into_iter().filter(|(name, _)| !own_digest(name)).collect();
        }
        vec![run, ResourceDescriptor::named(POLICY, self.policy_digest)]
    }
}

fn sha256_of(descriptor: &ResourceDescriptor, name: &'static str) -> Result<Value, ConditionsError> {
    let hex = descriptor
        .digest
        .get("sha256")
        .ok_or_else(|| ConditionsError::Shape { name, reason: "no `sha256` digest".to_owned() })?;
    Ok(Value::String(format!("sha256:{hex}")))
}
