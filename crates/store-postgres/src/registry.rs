//! Tables `namespaces`, `agents`, `environments`, `tokens`, and the port over them.

use bytes::Bytes;
use ostiary_canon::{AgentId, Digest, Revision};
use ostiary_domain::{
    Actor, AuditAction, AuditDraft, EnvironmentName, StoreError,
    ports::{Answer, Registry},
    registry::{Agent, EnvironmentRecord, Namespace, Token},
};

use crate::{store::PostgresStore, transaction::Revising};

pub(crate) use agent::ensure as ensure_agent;

mod agent;
mod environment;
pub(crate) mod namespace;
mod token;

// === impl PostgresStore ===

impl Registry for PostgresStore {
    fn put_namespace(&self, namespace: Namespace, by: Actor) -> Answer<'_, Revision> {
        Box::pin(namespace::put(self, namespace, by))
    }

    fn namespace<'a>(&'a self, name: &'a str) -> Answer<'a, Option<Namespace>> {
        Box::pin(async move { namespace::load(self.reading("namespace.load").await?.db(), name).await })
    }

    fn namespaces(&self) -> Answer<'_, Vec<Namespace>> {
        Box::pin(async move { namespace::all(self.reading("namespace.list").await?.db()).await })
    }

    fn put_agent(&self, agent: Agent, by: Actor) -> Answer<'_, Revision> {
        Box::pin(agent::put(self, agent, by))
    }

    fn agent<'a>(&'a self, id: &'a AgentId) -> Answer<'a, Option<Agent>> {
        Box::pin(async move { agent::load(self.reading("agent.load").await?.db(), id).await })
    }

    fn agents<'a>(&'a self, after: Option<&'a AgentId>, limit: u32) -> Answer<'a, Vec<Agent>> {
        Box::pin(async move { agent::after(self.reading("agent.list").await?.db(), after, limit).await })
    }

    fn put_environment<'a>(&'a self, name: &'a EnvironmentName, document: Bytes, by: Actor) -> Answer<'a, Revision> {
        Box::pin(environment::put(self, name, document, by))
    }

    fn environment<'a>(&'a self, name: &'a EnvironmentName) -> Answer<'a, Option<EnvironmentRecord>> {
        Box::pin(async move { environment::load(self.reading("environment.load").await?.db(), name).await })
    }

    fn environments(&self) -> Answer<'_, Vec<EnvironmentRecord>> {
        Box::pin(async move { environment::all(self.reading("environment.list").await?.db()).await })
    }

    fn put_token(&self, token: Token, by: Actor) -> Answer<'_, Revision> {
        Box::pin(token::put(self, token, by))
    }

    fn token<'a>(&'a self, hash: &'a Digest) -> Answer<'a, Option<Token>> {
        Box::pin(async move { token::load(self.reading("token.load").await?.db(), hash).await })
    }

    fn revoke_token<'a>(&'a self, hash: &'a Digest, by: Actor) -> Answer<'a, bool> {
        Box::pin(token::revoke(self, hash, by))
    }
}

/// Audits a change of the registry.
async fn record(
    tx: &mut Revising,
    (actor, action, subject): (&Actor, AuditAction, String),
    detail: serde_json::Value,
) -> Result<Revision, StoreError> {
    let (at, actor) = (tx.moment(), actor.clone());
    tx.record(AuditDraft { actor, action, subject, reason: None, detail }, at).await?;
    Ok(at.revision)
}
