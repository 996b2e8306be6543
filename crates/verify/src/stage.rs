//! What a scenario works with: channels as roles, exchanges within budget and rate, marks, states, fresh values.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use ostiary_canon::Profile;
use ostiary_contract::Bundle;
use ostiary_record::{
    ActorId, Axes, CallbackFacts, End, EnvironmentFacts, ExchangeId, Kind, ReasonCode, Source, Tape,
    ports::{Abort, Actor, Authority, CouldNotRun, Deadline, Faults, Inbox, Next, Observer, Outbound},
};
use serde_json::Value;

use crate::{
    discover::{Discovered, Interface},
    drive::Ports,
    meter::Meter,
    scenario::{Budget, Role},
    slots::{Slot, Slots},
    stage::exchange::{OpenChannel, Running},
};

pub use exchange::Exchange;

mod exchange;
mod open;

/// The name of the actor without credential.
pub const ANONYMOUS: &str = "anonymous";
/// The mark of a positive control that worked.
pub const CONTROL_OK: &str = "control_ok";
/// The mark of a positive control that did not.
pub const CONTROL_FAILED: &str = "control_failed";
/// Longer than the driver's own bound, so that the driver's end of an exchange is seen.
const GRACE: Duration = Duration::from_secs(2);

/// Everything one drive of a scenario may touch.
pub struct Stage<'r> {
    pub(crate) ports: &'r Ports,
    pub(crate) meter: &'r Meter,
    pub(crate) slots: &'r Slots,
    pub(crate) slot: Option<Slot>,
    pub(crate) bundle: &'r Bundle,
    pub(crate) discovered: &'r Discovered,
    pub(crate) environment: &'r EnvironmentFacts,
    pub(crate) interface: Option<&'r Interface>,
    pub(crate) profile: Option<Profile>,
    pub(crate) axes: &'r Axes,
    pub(crate) cast: &'r BTreeMap<Role, ActorId>,
    pub(crate) seed: u64,
    pub(crate) run_id: &'r str,
    pub(crate) tape: Tape,
    pub(crate) budget: Budget,
    pub(crate) calls: u32,
    pub(crate) fresh: u32,
    pub(crate) blocked: Option<ReasonCode>,
    pub(crate) channels: Vec<OpenChannel>,
}

/// A channel that a scenario opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelHandle(usize);

// === impl Stage ===

impl Stage<'_> {
    /// The variant that is driven.
    #[must_use]
    pub const fn axes(&self) -> &Axes {
        self.axes
    }

    /// The seed of this drive; same plan, same seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The tape, for what the scenario itself reports.
    #[must_use]
    pub const fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The contract bundle.
    #[must_use]
    pub const fn bundle(&self) -> &Bundle {
        self.bundle
    }

    /// The card as served.
    #[must_use]
    pub fn card(&self) -> Option<&Value> {
        self.discovered.card.as_ref()
    }

    /// All interfaces of the card.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.discovered.interfaces.iter()
    }

    /// The interface of the driven profile.
    ///
    /// # Errors
    /// When the variant is bound to no interface.
    pub fn interface(&self) -> Result<&Interface, CouldNotRun> {
        self.interface.ok_or_else(|| CouldNotRun::Internal("the variant is bound to no interface".to_owned()))
    }

    /// The profile that is driven.
    #[must_use]
    pub const fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// A value that no other drive of any run uses: `message-<run>-<seed>-0`.
    pub fn fresh(&mut self, prefix: &str) -> String {
        let n = self.fresh;
        self.fresh += 1;
        format!("{prefix}-{}-{:08x}-{n}", self.run_id, self.seed & 0xffff_ffff)
    }

    /// Whether somebody can play a role here.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        role == Role::Anonymous || self.cast.contains_key(&role)
    }

    /// What a scenario returns when the environment has no subject that it needs.
    pub fn no_subject(&mut self, why: impl Into<String>) -> CouldNotRun {
        self.blocked = Some(ReasonCode::SubjectMissing);
        CouldNotRun::Setup { what: "subject".to_owned(), why: why.into() }
    }

    /// The subject that plays a role here.
    #[must_use]
    pub fn subject(&self, role: Role) -> Option<&ActorId> {
        self.cast.get(&role)
    }

    /// The fixture tenant of whoever a channel was opened as.
    #[must_use]
    pub fn tenant_on(&self, on: ChannelHandle) -> Option<&str> {
        self.environment.subjects.get(&self.channels[on.0].actor.0)?.tenant.as_deref()
    }

    /// The fixture tenants of the environment's subjects.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.environment.subjects.values().filter_map(|s| s.tenant.as_deref())
    }

    /// Sends a request and collects everything that comes back, to the end or the bound of time.
    ///
    /// # Errors
    /// When the budget is spent, the candidate limits the rate, or no connection could be made.
    pub async fn exchange(&mut self, on: ChannelHandle, out: Outbound) -> Result<Exchange, CouldNotRun> {
        let x = self.start(on, out).await?;
        self.finish(on, x).await
    }

    /// Sends a request and returns at once, so that exchanges may overlap.
    ///
    /// # Errors
    /// When the budget of the scenario or of the run is spent.
    pub async fn start(&mut self, on: ChannelHandle, out: Outbound) -> Result<ExchangeId, CouldNotRun> {
        if self.calls >= self.budget.calls {
            return Err(CouldNotRun::Budget { calls: self.budget.calls });
        }
        self.calls += 1;
        self.meter.admit(&self.tape, self.ports.timer.as_ref(), &self.channels[on.0].target).await?;
        let open = &mut self.channels[on.0];
        let weight = out.body.len() as u64;
        let x = open.channel.start(out);
        open.exchanges.insert(x, Running { weight, ..Running::default() });
        Ok(x)
    }

    /// Collects a started exchange to its end or the bound of time.
    ///
    /// # Errors
    /// When the candidate limits the rate, or no connection could be made.
    pub async fn finish(&mut self, on: ChannelHandle, x: ExchangeId) -> Result<Exchange, CouldNotRun> {
        let until = self.deadline(self.answer_time() + GRACE);
        while self.running(on, x).exchange.end.is_none() && self.pump(on, until).await {}
        let exchange = self.running(on, x).exchange.clone();
        self.usable(on, &exchange)?;
        Ok(exchange)
    }

    /// The next piece of a started exchange; `None` when it ended or nothing came `within` the time.
    ///
    /// # Errors
    /// When the candidate limits the rate, or no connection could be made.
    pub async fn next_frame(
        &mut self,
        on: ChannelHandle,
        x: ExchangeId,
        within: Duration,
    ) -> Result<Option<Bytes>, CouldNotRun> {
        let until = self.deadline(within);
        loop {
            let running = self.running(on, x);
            if let Some(frame) = running.exchange.frames.get(running.delivered).cloned() {
                running.delivered += 1;
                return Ok(Some(frame));
            }
            if running.exchange.end.is_some() || !self.pump(on, until).await {
                let exchange = self.running(on, x).exchange.clone();
                self.usable(on, &exchange)?;
                if exchange.frames.len() <= self.running(on, x).delivered {
                    return Ok(None);
                }
            }
        }
    }

    /// What has come of a started exchange so far.
    pub fn so_far(&mut self, on: ChannelHandle, x: ExchangeId) -> &Exchange {
        &self.running(on, x).exchange
    }

    /// Breaks a started exchange off.
    pub fn abort(&mut self, on: ChannelHandle, x: ExchangeId, how: Abort) {
        self.channels[on.0].channel.abort(x, how);
    }

    /// Writes a mark on the tape.
    pub fn mark(&self, label: &str, value: Option<&str>) {
        let kind = Kind::Mark { label: label.into(), value: value.map(str::to_owned) };
        self.tape.push(Source::Script, kind);
    }

    /// Says that the positive control worked.
    pub fn control_ok(&self) {
        self.mark(CONTROL_OK, None);
    }

    /// Says that the positive control did not work, and why.
    pub fn control_failed(&self, why: &str) {
        self.mark(CONTROL_FAILED, Some(why));
    }

    /// Sets a provider state up.
    ///
    /// # Errors
    /// When the environment has no endpoint for states, or the set-up fails; either is on the tape, too.
    pub async fn state(&mut self, name: &str, params: &Value) -> Result<(), CouldNotRun> {
        let outcome = match &self.ports.states {
            Some(states) => states.set_up(&self.tape, name, params).await,
            None => Err(CouldNotRun::Setup {
                what: format!("provider state {name}"),
                why: "the environment has no `provider_states`".to_owned(),
            }),
        };
        let failure = outcome.as_ref().err().map(ToString::to_string);
        if failure.is_some() {
            self.blocked = Some(ReasonCode::ProviderStateFailed);
        }
        self.tape.push(Source::Script, Kind::State { name: name.into(), failure });
        outcome
    }

    /// What receives push notifications; `None` = the environment has no receiver.
    #[must_use]
    pub fn inbox(&self) -> Option<&dyn Inbox> {
        self.ports.inbox.as_deref()
    }

    /// What is known of that receiver.
    #[must_use]
    pub const fn callbacks(&self) -> Option<&CallbackFacts> {
        self.environment.callbacks.as_ref()
    }

    /// Who rules over the subjects' credentials; `None` = they are not ours.
    #[must_use]
    pub fn authority(&self) -> Option<&dyn Authority> {
        self.ports.authority.as_deref()
    }

    /// What can disturb, by the places it stands at.
    pub fn faults(&self) -> impl Iterator<Item = &dyn Faults> {
        self.ports.faults.iter().map(AsRef::as_ref)
    }

    /// What watches effects.
    pub fn observers(&self) -> impl Iterator<Item = &dyn Observer> {
        self.ports.observers.iter().map(AsRef::as_ref)
    }

    /// Waits on the tape's clock; for what the contract measures in time, never to paper over a race.
    pub async fn wait(&mut self, duration: Duration) {
        // others may call meanwhile
        self.slot = None;
        self.ports.timer.wait(duration).await;
        self.slot = Some(self.slots.take_again());
    }

    async fn actor(&mut self, role: Role) -> Result<Actor, CouldNotRun> {
        if role == Role::Anonymous {
            return Ok(Actor { id: ANONYMOUS.into(), credentials: Vec::new() });
        }
        match self.cast.get(&role).cloned() {
            Some(id) => self.credential_of(&id).await,
            None => Err(self.no_subject(format!("no subject of the environment can play the role {}", role.as_str()))),
        }
    }

    async fn credential_of(&mut self, subject: &ActorId) -> Result<Actor, CouldNotRun> {
        if subject.0 == ANONYMOUS {
            return Ok(Actor { id: subject.clone(), credentials: Vec::new() });
        }
        match self.ports.identity.actor(subject).await? {
            Some(actor) => Ok(actor),
            None => Err(self.no_subject(format!("no credential for `{subject}`"))),
        }
    }

    /// Longest life of one exchange.
    fn answer_time(&self) -> Duration {
        self.meter.allowance().answer.min(self.budget.time)
    }

    fn deadline(&self, within: Duration) -> Deadline {
        let nanos = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        Deadline(ostiary_record::MonoNanos(self.tape.now().0.saturating_add(nanos)))
    }

    fn running(&mut self, on: ChannelHandle, x: ExchangeId) -> &mut Running {
        self.channels[on.0].exchanges.entry(x).or_default()
    }

    /// Takes one report of the channel; false when nothing more can come before the deadline.
    async fn pump(&mut self, on: ChannelHandle, until: Deadline) -> bool {
        let open = &mut self.channels[on.0];
        if open.closed {
            return false;
        }
        match open.channel.next(until).await {
            Next::Event(event) => {
                open.take(&event);
                if let Some(running) = event.kind.exchange().and_then(|x| open.exchanges.get_mut(&x)) {
                    self.meter.note(&event, open.carrier, &mut running.weight);
                }
                true
            }
            Next::Idle => false,
            Next::Closed => {
                open.closed = true;
                false
            }
        }
    }

    fn usable(&self, on: ChannelHandle, exchange: &Exchange) -> Result<(), CouldNotRun> {
        let target = &self.channels[on.0].target;
        if let Some(End::NoConnection { why }) = &exchange.end {
            return Err(CouldNotRun::Unreachable { target: target.clone(), why: why.clone() });
        }
        let retry_after = exchange.header("retry-after");
        if exchange.status == Some(429) || (exchange.status == Some(503) && retry_after.is_some()) {
            self.meter.pause(self.tape.now(), retry_after);
            let why =
                format!("status {}, Retry-After {}", exchange.status.unwrap_or(0), retry_after.unwrap_or("absent"));
            return Err(CouldNotRun::RateLimited { target: target.clone(), why });
        }
        Ok(())
    }
}
