//! How a scenario opens channels: as whom, to which place, over which way.

use std::{collections::BTreeMap, sync::Arc};

use ostiary_record::{
    ActorId, FaultPlan,
    ports::{Actor, CouldNotRun, Faults, Limits, Target, Transport},
};

use super::{ChannelHandle, Stage, exchange::OpenChannel};
use crate::{facts::role_mark, scenario::Role};

// === impl Stage ===

impl Stage<'_> {
    /// Opens a channel to the profile's interface as a role.
    ///
    /// # Errors
    /// When nobody plays the role, or the target cannot be reached.
    pub async fn open(&mut self, role: Role) -> Result<ChannelHandle, CouldNotRun> {
        let target = self.interface()?.target.clone();
        self.open_at(role, &target).await
    }

    /// Opens a channel as a role to another place of the candidate than the profile's interface.
    ///
    /// # Errors
    /// When nobody plays the role, or the target cannot be reached.
    pub async fn open_at(&mut self, role: Role, target: &Target) -> Result<ChannelHandle, CouldNotRun> {
        let actor = self.actor(role).await?;
        self.mark(&role_mark(role), Some(&actor.id.0));
        self.open_actor(actor, target.clone()).await
    }

    /// Opens a channel to the profile's interface as a subject that a case names.
    ///
    /// # Errors
    /// When the environment has no such subject, or the target cannot be reached.
    pub async fn open_subject(&mut self, subject: &ActorId) -> Result<ChannelHandle, CouldNotRun> {
        let actor = self.credential_of(subject).await?;
        let target = self.interface()?.target.clone();
        self.open_actor(actor, target).await
    }

    /// Opens a channel as an actor whose credential is none of the environment's own; see [`Stage::authority`].
    ///
    /// # Errors
    /// When the target cannot be reached.
    pub async fn open_as(&mut self, actor: Actor) -> Result<ChannelHandle, CouldNotRun> {
        let target = self.interface()?.target.clone();
        self.open_actor(actor, target).await
    }

    /// Opens a channel as a role over a way of its own, disturbed by a plan from its first connection on; with the handle
    /// by which the plan is changed.
    ///
    /// # Errors
    /// When the environment permits no faults, nobody plays the role, or the target cannot be reached.
    pub async fn open_disturbed(
        &mut self,
        role: Role,
        plan: Option<&FaultPlan>,
    ) -> Result<(ChannelHandle, Arc<dyn Faults>), CouldNotRun> {
        let none = || CouldNotRun::Internal("the environment permits no faults".to_owned());
        let target = self.interface()?.target.clone();
        let detour = self.ports.detours.as_ref().ok_or_else(none)?.to(&target).await?;
        if plan.is_some() {
            detour.faults.switch(&self.tape, plan).await?;
        }
        let actor = self.actor(role).await?;
        self.mark(&role_mark(role), Some(&actor.id.0));
        let channel = self.open_over(detour.transport.as_ref(), actor, target).await?;
        Ok((channel, detour.faults))
    }

    async fn open_actor(&mut self, actor: Actor, target: Target) -> Result<ChannelHandle, CouldNotRun> {
        let ports = self.ports;
        self.open_over(ports.transport.as_ref(), actor, target).await
    }

    async fn open_over(
        &mut self,
        transport: &dyn Transport,
        actor: Actor,
        target: Target,
    ) -> Result<ChannelHandle, CouldNotRun> {
        for (_, value) in &actor.credentials {
            self.tape.hide(value.strip_prefix("Bearer ").unwrap_or(value), &actor.id);
        }
        let exchange = self.answer_time();
        let limits = Limits { exchange, ..Limits::default() };
        let channel = transport.open(&self.tape, &target, &actor, limits).await?;
        let actor = actor.id;
        self.channels.push(OpenChannel {
            channel,
            actor,
            target: target.url,
            carrier: target.carrier,
            exchanges: BTreeMap::new(),
            closed: false,
        });
        Ok(ChannelHandle(self.channels.len() - 1))
    }
}
