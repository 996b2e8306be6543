//! The few questions that the engine asks of a bundle.

use ostiary_canon::Profile;
use ostiary_contract::{Bundle, file::coverage::Beyond};

/// How far repetitions may disagree (V-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tolerance {
    /// How many repetitions may differ from the others.
    pub(crate) may_differ: u32,
    /// Whether a difference beyond that is a failure; else it cannot be told.
    pub(crate) fails_beyond: bool,
}

/// The profiles that the contract wants activated; empty = it does not say.
pub(crate) fn activate(bundle: &Bundle) -> Vec<Profile> {
    bundle.coverage.activate.iter().map(|p| p.value.clone()).collect()
}

/// The contract's tolerance; where it declares none, no difference is tolerated.
pub(crate) fn tolerance(bundle: &Bundle) -> Tolerance {
    bundle.coverage.tolerance.as_ref().map_or(Tolerance { may_differ: 0, fails_beyond: true }, |t| Tolerance {
        may_differ: t.may_differ,
        fails_beyond: t.beyond == Beyond::Fail,
    })
}

/// How often the contract wants live scenarios repeated, at least once.
pub(crate) fn repetitions(bundle: &Bundle) -> u32 {
    bundle.coverage.tolerance.as_ref().map_or(1, |t| t.repetitions.max(1))
}
