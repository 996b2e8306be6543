//! Policies name checks by id; the harness must know every one of them, in the gate that asks for it.

use std::collections::BTreeMap;

use ostiary_domain::Policy;
use ostiary_record::Gate;
use ostiary_verify::Harness;

#[test]
fn policy_one_names_only_checks_of_the_harness_that_its_gates_run() {
    let harness = Harness::standard();
    let known: BTreeMap<&str, Gate> = harness.checks().map(|c| (c.spec().id, c.spec().gate)).collect();
    for (gate, rule) in Policy::one().gates {
        for check in rule.checks {
            let home = known.get(check.0.as_str());
            let runs_there = |home: &Gate| *home == gate || matches!(gate, Gate::Canary | Gate::Active);
            assert!(home.is_some_and(runs_there), "`{check}` is asked for by the {gate} gate and belongs to {home:?}");
        }
    }
}
