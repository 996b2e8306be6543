//! Ways to the agent that can be disturbed, and dependencies of it that can be taken down: what breaks is what a plan for
//! all exchanges says, and no dependency is ever needed.

use std::sync::{Arc, Mutex, PoisonError};

use ostiary_record::{
    Disturbed, Down, Fault, FaultPlan, Kind, Source, Tape,
    event::DoubleId,
    ports::{Actor, BoxFuture, Channel, CouldNotRun, Detour, Detours, Faults, Limits, Target, Transport},
};

use super::{Agent, Honest};

/// How a way is down now.
pub(super) type State = Arc<Mutex<Option<Down>>>;

struct Way {
    agent: Arc<Agent>,
    state: State,
}

/// The handle by which a place is disturbed.
pub(crate) struct Shaky {
    place: String,
    state: State,
}

// === impl Shaky ===

impl Shaky {
    /// A dependency by its name.
    pub(crate) fn dependency(name: &str) -> Self {
        Self { place: name.to_owned(), state: State::default() }
    }
}

impl Detours for Honest {
    fn to<'a>(&'a self, _: &'a Target) -> BoxFuture<'a, Result<Detour, CouldNotRun>> {
        let state = State::default();
        let transport = Arc::new(Way { agent: Arc::clone(&self.0), state: Arc::clone(&state) });
        let faults = Arc::new(Shaky { place: "agent".to_owned(), state });
        Box::pin(async move { Ok(Detour { transport, faults }) })
    }
}

impl Transport for Way {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        _: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        let channel = self.agent.connect(tape, target, actor, Arc::clone(&self.state));
        Box::pin(async move { Ok(channel) })
    }
}

impl Faults for Shaky {
    fn place(&self) -> &str {
        &self.place
    }

    fn blind(&self) -> Vec<String> {
        Vec::new()
    }

    fn switch<'a>(&'a self, tape: &'a Tape, plan: Option<&'a FaultPlan>) -> BoxFuture<'a, Result<(), CouldNotRun>> {
        let faults = plan.iter().flat_map(|plan| &plan.rules).flat_map(|rule| &rule.faults);
        let down = faults.filter_map(|fault| if let Fault::Down { how } = fault { Some(*how) } else { None }).next();
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = down;
        let from = Source::Double(DoubleId(format!("faults:{}", self.place)));
        tape.push(from, Kind::Fault { on: plan.is_some(), fault: format!("{down:?}") });
        Box::pin(async { Ok(()) })
    }

    fn ledger(&self) -> Vec<Disturbed> {
        Vec::new()
    }
}
