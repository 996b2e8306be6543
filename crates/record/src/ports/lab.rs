//! The ports of the laboratory beside observers: what disturbs, what receives callbacks, who rules over credentials.
//! Each says what it cannot do or see, so that a check can say INCONCLUSIVE and why.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;

use super::{Actor, BoxFuture, CouldNotRun, Target, Transport};
use crate::{
    callback::{Arrived, Registration},
    event::ActorId,
    fault::{Disturbed, FaultPlan},
    flaw::TokenFlaw,
    tape::Tape,
};

/// Disturbs what passes one place, on demand.
pub trait Faults: Send + Sync {
    /// What stands behind it: `agent`, `store`.
    fn place(&self) -> &str;
    /// What it cannot do, in words.
    fn blind(&self) -> Vec<String>;
    /// Switches a plan on, or off with `None`, and writes a `Fault` event. Counting begins anew.
    ///
    /// # Errors
    /// When a port that was closed cannot be opened again.
    fn switch<'a>(&'a self, tape: &'a Tape, plan: Option<&'a FaultPlan>) -> BoxFuture<'a, Result<(), CouldNotRun>>;
    /// What was done so far, oldest first.
    fn ledger(&self) -> Vec<Disturbed>;
}

/// Makes ways to the candidate that can be disturbed: each way is somebody's own, so that nobody else meets its faults.
pub trait Detours: Send + Sync {
    /// A new way to a target; it lasts as long as its transport or a channel of it.
    ///
    /// # Errors
    /// When the address is refused, or there is no port for it.
    fn to<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Detour, CouldNotRun>>;
}

/// One way to a target.
#[derive(Clone)]
pub struct Detour {
    /// Opens channels that go this way.
    pub transport: Arc<dyn Transport>,
    /// Disturbs what goes this way. Bytes pass unread: an exchange is a connection, and a plan holds for connections that
    /// are made after it was switched on, except that those that were open are cut or held while all is down.
    pub faults: Arc<dyn Faults>,
}

/// Receives what a candidate sends by itself.
pub trait Inbox: Send + Sync {
    /// What it cannot see, in words.
    fn blind(&self) -> Vec<String>;
    /// Opens an address; its deliveries go to `tape` as `Inbound` events of the channel `callback:NAME`.
    fn register(&self, tape: &Tape, registration: Registration) -> Address;
    /// Opens an address that no candidate may call by itself: on the loopback, at another port than all others, as a
    /// service of the candidate's own machine would be. `None` = this inbox has no such place.
    fn register_inside(&self, _tape: &Tape, _registration: Registration) -> Option<Address> {
        None
    }
    /// Remembers that nothing may come any more; what still comes is kept and marked.
    fn withdraw(&self, address: &Address);
    /// What arrived at an address so far.
    fn arrived(&self, address: &Address) -> Arrived;
    /// What arrived at addresses that nobody registered.
    fn strays(&self) -> Arrived;
    /// Waits until so many deliveries arrived in all; `false` = not within the time.
    fn wait<'a>(&'a self, address: &'a Address, count: u64, within: Duration) -> BoxFuture<'a, bool>;
}

/// An address of an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// What a candidate is told.
    pub url: String,
    /// Its path, by which the inbox knows it.
    pub path: String,
}

/// Rules over the credentials that an identity gives.
pub trait Authority: Send + Sync {
    /// What it cannot do, in words.
    fn blind(&self) -> Vec<String>;
    /// The subject with a token that is wrong in one thing; `None` when there is no such subject.
    ///
    /// # Errors
    /// When the token cannot be made.
    fn flawed<'a>(&'a self, subject: &'a ActorId, flaw: TokenFlaw)
    -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>>;
    /// The subject with a token that ends so long from now, or ended so long ago where `life` is negative; everything else
    /// of it is right. `None` when there is no such subject, or its credential is not of our making.
    ///
    /// # Errors
    /// When the token cannot be made.
    fn lasting<'a>(
        &'a self,
        subject: &'a ActorId,
        life: SignedDuration,
    ) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>>;
    /// Calls in all tokens that the subject was given so far.
    fn revoke(&self, subject: &ActorId);
    /// How long tokens live that are issued from now on.
    fn set_lifetime(&self, lifetime: SignedDuration);
    /// Moves the issuer's clock.
    fn set_clock_offset(&self, offset: SignedDuration);
    /// Signs with a new key from now on; the old one stays published, or is withdrawn.
    fn rotate(&self, keep_old: bool);
}
