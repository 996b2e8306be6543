//! Makes the process die at one named place of a gate, for tests that kill it there and start it again.
//!
//! Only in builds with the feature `failpoints`; a released binary cannot be told to die.

use ostiary_domain::{Crashed, Failpoint, Failpoints};

/// Dies, without any farewell, when a place is reached.
#[derive(Clone, Copy, Debug)]
pub struct AbortAt(pub Failpoint);

// === impl AbortAt ===

impl AbortAt {
    /// The variable that names the place.
    pub const VARIABLE: &'static str = "OSTIARY_FAILPOINT";

    /// What the variable says, if it is set.
    ///
    /// # Errors
    /// When it names no failpoint: a test that dies nowhere would prove nothing.
    #[expect(clippy::disallowed_methods, reason = "a test's switch, which no configuration file should be able to set")]
    pub fn from_environment() -> Result<Option<Self>, ostiary_domain::failpoint::UnknownFailpoint> {
        match std::env::var(Self::VARIABLE) {
            Ok(name) => name.parse().map(|point| Some(Self(point))),
            Err(_) => Ok(None),
        }
    }
}

impl Failpoints for AbortAt {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        if point == self.0 {
            std::process::abort();
        }
        Ok(())
    }
}
