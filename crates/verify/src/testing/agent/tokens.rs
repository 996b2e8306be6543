//! Tokens that say themselves when they end.

use jiff::SignedDuration;
use ostiary_record::{
    ActorId, TokenFlaw,
    ports::{Actor, Authority, BoxFuture, CouldNotRun},
};

use super::{Agent, Honest, TOKENS};

const PREFIX: &str = "lasting/";

// === impl Agent ===

impl Agent {
    /// The tenant of a token that has not ended.
    pub(super) fn tenant_until(&self, token: &str) -> Option<String> {
        let (tenant, ends) = token.strip_prefix(PREFIX)?.split_once('/')?;
        (ends.parse::<u64>().ok()? > self.clock.now().0).then(|| tenant.to_owned())
    }
}

impl Authority for Honest {
    fn blind(&self) -> Vec<String> {
        Vec::new()
    }

    fn flawed<'a>(&'a self, subject: &'a ActorId, _: TokenFlaw) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let actor = shown(subject, "token-expired");
        Box::pin(async move { Ok(Some(actor)) })
    }

    fn lasting<'a>(
        &'a self,
        subject: &'a ActorId,
        life: SignedDuration,
    ) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let known = TOKENS.iter().find(|(name, ..)| *name == subject.0);
        let now = i128::from(self.0.clock.now().0);
        let ends = u64::try_from(now + life.as_nanos()).unwrap_or(0);
        let actor = known.map(|(.., tenant)| shown(subject, &format!("{PREFIX}{tenant}/{ends}")));
        Box::pin(async move { Ok(actor) })
    }

    fn revoke(&self, _: &ActorId) {}

    fn set_lifetime(&self, _: SignedDuration) {}

    fn set_clock_offset(&self, _: SignedDuration) {}

    fn rotate(&self, _: bool) {}
}

fn shown(subject: &ActorId, token: &str) -> Actor {
    Actor { id: subject.clone(), credentials: vec![("authorization".to_owned(), format!("Bearer {token}"))] }
}
