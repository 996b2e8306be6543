//! Drives a plan through the ports; everything that happens lands in recordings.

use std::sync::Arc;

use ostiary_record::{
    Monotonic,
    ports::{Fetch, Identity, Observer, States, Timer, Transport},
};

/// What a run reaches the world through.
pub struct Ports {
    /// Opens channels to the candidate.
    pub transport: Arc<dyn Transport>,
    /// Fetches its card.
    pub fetch: Arc<dyn Fetch>,
    /// Gives the subjects' credentials.
    pub identity: Arc<dyn Identity>,
    /// Sets provider states up, where the environment has an endpoint for it.
    pub states: Option<Arc<dyn States>>,
    /// What watches effects.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Waits.
    pub timer: Arc<dyn Timer>,
    /// The clock of all tapes of the run.
    pub clock: Arc<dyn Monotonic>,
}
