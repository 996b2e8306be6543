//! The control plane's time, as a relay may state it: never earlier than it is.

use std::sync::OnceLock;

use jiff::Timestamp;
use ostiary_router::Router;

/// Filled in when the router is there, which needs its followers first.
#[derive(Default)]
pub(crate) struct RelayClock(OnceLock<Router>);

/// The year 2200: by then every lease is over. Said as long as the copy may not be decided on.
const OVER: i64 = 7_258_118_400;

// === impl RelayClock ===

impl RelayClock {
    /// From now on by this router's knowledge.
    pub(crate) fn follow(&self, router: Router) {
        // a second one would be a bug of ours; the first one goes on being right
        drop(self.0.set(router));
    }
}

impl ostiary_pdp::Clock for RelayClock {
    fn now(&self) -> Timestamp {
        let over = || Timestamp::from_second(OVER).unwrap_or(Timestamp::MAX);
        let Some(router) = self.0.get() else { return over() };
        if !router.status().is_ready() {
            return over();
        }
        router.control_time().map_or_else(over, |range| range.latest)
    }

    /// That we may not decide does not end a lease that somebody else has from us.
    fn passed(&self) -> Timestamp {
        let known = self.0.get().and_then(Router::control_time);
        known.map_or(Timestamp::MIN, |range| range.earliest)
    }
}

#[cfg(test)]
mod tests {
    use ostiary_pdp::Clock as _;

    use super::*;

    #[test]
    fn without_a_copy_every_lease_is_over_here_and_none_elsewhere() {
        let today = Timestamp::from_second(1_800_000_000).expect("a time");
        assert!(RelayClock::default().now() > today + jiff::SignedDuration::from_hours(24 * 365));
        assert!(RelayClock::default().passed() < today);
    }
}
