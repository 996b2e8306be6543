//! What a decision costs.

use std::sync::Arc;

use ostiary_admission::State;
use ostiary_router::{Router, RouterConfig};

use crate::plane::{Plane, query};

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_and_a_denied_check_allocate_nothing() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    plane.set("acme/planner", "2.0.0", State::Quarantined);
    let router: Router =
        plane.router_with(RouterConfig { report_every: std::time::Duration::from_secs(3_600), ..plane.config() }).await;
    let router = Arc::new(router);
    let (allowed, denied, unknown) =
        (query("acme/planner", "1.0.0"), query("acme/planner", "2.0.0"), query("acme/planner", "3.0.0"));
    // The first check of a thread chooses its stripe of counters.
    let _ = router.check(&allowed);
    let cost = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            assert!(router.check(&allowed).allows());
            assert!(!router.check(&denied).allows());
            assert!(!router.check(&unknown).allows());
        }
    });
    assert_eq!((cost.count_total, cost.bytes_total), (0, 0));
}
