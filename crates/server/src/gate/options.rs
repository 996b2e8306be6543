//! How a gate's run is judged: with the operator's keys for signed cards, and against the card of the version that is
//! dispatched to now.

use ostiary_canon::jwk::KeySet;
use ostiary_contract::{Bundle, Environment};
use ostiary_verify::JudgeOptions;
use serde_json::Value;

use super::{GateError, Gatekeeper, RunError, facts::Gathered};

// === impl Gatekeeper ===

impl Gatekeeper {
    /// The options of one judgement.
    ///
    /// # Errors
    /// When the environment's keys cannot be read: judging without them would let a card pass that they refuse.
    pub(super) async fn options(&self, gathered: &Gathered) -> Result<JudgeOptions, GateError> {
        Ok(JudgeOptions {
            card_keys: self.card_keys(&gathered.environment).await?,
            last_card: self.active_card(gathered).await?,
            ..JudgeOptions::default()
        })
    }

    async fn card_keys(&self, document: &[u8]) -> Result<KeySet, GateError> {
        let wrong = |why: String| RunError::Job { what: "environment", why };
        let environment = Environment::well_formed("environment.yaml", document).map_err(|e| wrong(e.to_string()))?;
        let Some(file) = &environment.card_keys else { return Ok(KeySet::default()) };
        let root = self.app.config.worker.environment_files.as_deref();
        let root = root.ok_or_else(|| wrong("card_keys names a file, and no directory is configured".to_owned()))?;
        let bytes = tokio::fs::read(root.join(file)).await.map_err(|e| wrong(format!("card_keys `{file}`: {e}")))?;
        Ok(KeySet::parse(&bytes).map_err(|e| wrong(format!("card_keys `{file}`: {e}")))?)
    }

    /// The card of the version that is dispatched to, unless that is the one under judgement.
    async fn active_card(&self, gathered: &Gathered) -> Result<Option<Value>, GateError> {
        let store = &self.app.store;
        let key = &gathered.version.key;
        let Some(active) = store.route(&key.agent).await?.active.filter(|active| active != key) else {
            return Ok(None);
        };
        let Some(version) = store.version(&active).await? else { return Ok(None) };
        let Some(archive) = store.bundle(&version.bundle).await? else { return Ok(None) };
        // what was admitted once was readable then; a bundle that no longer loads has no card to compare with
        Ok(Bundle::from_tar(&archive).ok().and_then(|bundle| bundle.card).map(|card| card.value))
    }
}
