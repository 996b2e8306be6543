//! Who may be verified by the lenient rules of development.

use ostiary_canon::AgentId;
use ostiary_contract::{Environment, environment::Strictness};

use crate::config::Config;

/// Whether versions of `agent` may be verified in this environment: in a strict one always, in one for development only
/// where the operator has marked the namespace so. A document that cannot be read permits nothing.
#[must_use]
pub fn permitted(config: &Config, agent: &AgentId, document: &[u8]) -> bool {
    match Environment::well_formed("environment.yaml", document) {
        Ok(environment) if environment.strictness == Strictness::Production => true,
        Ok(_) => config.development_namespaces.contains(agent.namespace()),
        Err(_) => false,
    }
}
