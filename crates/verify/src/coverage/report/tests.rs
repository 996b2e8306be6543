use ostiary_record::{Coverage, Gap, Outcome, ReasonCode};

use crate::{
    scenarios::{combined, tenant},
    testing::World,
};

const INCIDENT: &str = "case: once-lost
incident: INC-0001
when: { operation: a2a.send_message, skill: work-planning, input_fixture: work-request-valid.json }
expect: { result: PASS }
";

fn of(world: World) -> Coverage {
    world.drive().report().coverage
}

fn open(coverage: &Coverage, why: Gap) -> Vec<&str> {
    coverage.uncovered.iter().filter(|u| u.why == why).map(|u| u.what.as_str()).collect()
}

#[test]
fn an_honest_run_tells_what_covered_each_promise() {
    let coverage = of(World::honest());
    let counted = coverage.scenarios.first().expect("one binding");
    assert_eq!((counted.binding.as_str(), counted.not_run, coverage.scenarios.len()), ("JSON-RPC", 0, 1));
    assert!(counted.driven > 20, "{counted:?}");
    let version = coverage.promises.iter().find(|p| p.id == "I-03").expect("a check covers it");
    assert_eq!(version.verdict, Outcome::Pass, "{version:?}");
    let variants: Vec<&String> = version.by.iter().flat_map(|by| &by.variants).collect();
    assert!(variants.iter().any(|v| v.contains("version")), "{variants:?}");
    // streaming is declared, so that its refusal is nothing to ask for
    assert!(open(&coverage, Gap::Constraint).contains(&"promise I-05"), "{:#?}", coverage.uncovered);
}

#[test]
fn every_combination_that_the_policy_asks_for_is_driven_and_what_it_leaves_out_is_told() {
    let coverage = of(World::honest());
    let [space] = coverage.combinations.as_slice() else { panic!("{:#?}", coverage.combinations) };
    assert_eq!((space.risk.as_str(), space.policy.as_str()), ("write", "pairwise_plus_boundaries"));
    assert!(space.rows.iter().all(|row| row.verdict == Some(Outcome::Pass)), "{space:#?}");
    assert_eq!(space.parts.driven, space.parts.possible);
    assert!(space.parts.possible > 30, "{:?}", space.parts);
    assert!(space.ruled_out.contains_key("the card declares no push notifications"), "{:?}", space.ruled_out);
    assert!(open(&coverage, Gap::Policy).iter().any(|what| what.starts_with("write operations beyond")));
}

#[test]
fn policies_differ_in_what_they_ask_for() {
    let rows = |policy: &str| {
        let mut world = World::honest();
        world.put("coverage.yaml", &format!("coverage_policy: {{ destructive_operations: {policy} }}\n"));
        let coverage = of(world);
        (coverage.combinations[0].rows.len(), coverage.combinations[0].policy.clone())
    };
    assert_eq!(rows("representative"), (1, "representative".to_owned()));
    let pairs = rows("pairwise_plus_boundaries").0;
    assert!(pairs >= 9, "{pairs}");
    assert!(rows("exhaustive_security_matrix").0 >= 9);
}

#[test]
fn what_is_not_cleared_stays_open_for_that() {
    let mut world = World::honest();
    world.environment.cleared_effects = vec!["read".to_owned()];
    let coverage = of(world);
    let open = open(&coverage, Gap::NotCleared);
    assert!(open.iter().any(|what| what.starts_with(combined::ID)), "{open:?}");
    assert!(open.contains(&"promise I-09"), "{open:?}");
    assert_eq!(coverage.driven().0, 0);
    assert!(coverage.combinations[0].parts.driven == 0 && coverage.combinations[0].parts.possible > 0);
}

#[test]
fn what_nobody_can_play_stays_open_for_that() {
    let mut world = World::honest();
    let (_, first) = world.environment.subjects.first_key_value().expect("there are subjects");
    let tenant = first.tenant.clone();
    world.environment.subjects.retain(|_, s| s.tenant == tenant);
    let coverage = of(world);
    let open = open(&coverage, Gap::NoSubject);
    assert!(open.iter().any(|what| what.starts_with(tenant::ID)), "{:#?}", coverage.uncovered);
    let cause = coverage.uncovered.iter().find(|u| u.what.starts_with(tenant::ID)).expect("it is open");
    assert!(cause.ids.contains(&"T-05".to_owned()) && cause.detail.contains("other_tenant"), "{cause:?}");
}

#[test]
fn a_past_incident_is_told_with_what_it_says_now() {
    let mut world = World::honest();
    world.put("cases/regression/once-lost.yaml", INCIDENT);
    let driven = world.drive();
    let coverage = driven.report().coverage;
    let [incident] = coverage.incidents.as_slice() else { panic!("{:?}", coverage.incidents) };
    assert_eq!((incident.verdict, incident.reason), (Some(Outcome::Pass), None), "{incident:?}");
    assert!(coverage.promises.iter().any(|p| p.id == "O-03" && p.verdict == Outcome::Pass));
    let lost = driven.edit(|i| match i.axes.is_empty() && i.scenario == "case.call" && i.operation == "SendMessage" {
        true => crate::testing::Edit::Replace(i.with_error(serde_json::json!({"code": -32603, "message": "no"}))),
        false => crate::testing::Edit::Keep,
    });
    let coverage = lost.report().coverage;
    let now = &coverage.incidents[0];
    assert_eq!((now.verdict, now.reason), (Some(Outcome::Fail), Some(ReasonCode::CaseExpectationFailed)), "{now:?}");
}

#[test]
fn a_combination_that_was_not_driven_has_no_verdict() {
    let mut driven = World::honest().drive();
    let rows = driven.report().coverage.combinations[0].rows.len();
    let at = driven.run.recordings.iter().position(|r| r.scenario.0 == combined::ID).expect("combinations are driven");
    // its events stay, so that what is cited still exists: it is another scenario's recording now
    driven.run.recordings[at].scenario.0 = "somebody.else".to_owned();
    let coverage = driven.report().coverage;
    assert_eq!(coverage.driven(), (rows - 1, rows));
    assert!(coverage.combinations[0].parts.driven < coverage.combinations[0].parts.possible);
}

/// An agent with a second interface that is not to be activated, and that answers nothing sensible there.
fn with_a_second_interface(policy: &str) -> World {
    let mut world = World::with_card(|card| {
        let url = "https://agent.example.test/rest";
        let other = serde_json::json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
        card["supportedInterfaces"].as_array_mut().expect("a list").push(other);
    });
    let activate = "activate: [a2a-jsonrpc-1.0]";
    world.put("coverage.yaml", &format!("coverage_policy: {{ protocol_core: {policy} }}\n{activate}\n"));
    world
}

#[test]
fn the_core_is_tried_over_a_binding_that_is_not_to_be_activated_and_gates_nothing() {
    let only = |policy: &str| with_a_second_interface(policy).drive();
    let driven = only("all_supported_bindings");
    let over = |scenario: &str| {
        let of = |r: &&ostiary_record::Recording| r.axes.profile.as_deref() == Some("a2a-http-json-1.0");
        driven.run.recordings.iter().filter(of).filter(|r| r.scenario.0 == scenario).count()
    };
    assert_eq!((over("a2a.message.send"), over(combined::ID)), (1, 0));
    let report = driven.report();
    let alone = only("activated_bindings").report();
    assert_eq!((report.verdict, &report.layers), (alone.verdict, &alone.layers));
    assert_eq!((&report.profiles_passed, &report.profiles_failed), (&alone.profiles_passed, &alone.profiles_failed));
    let counted = report.coverage.scenarios.iter().find(|s| s.binding == "HTTP+JSON").expect("it was driven");
    assert!(counted.driven > 0, "{counted:?}");
    let open = |report: &ostiary_record::Report| {
        report.coverage.uncovered.iter().find(|u| u.what == "interface HTTP+JSON 1.0").map(|u| u.detail.clone())
    };
    assert!(open(&report).is_some_and(|why| why.contains("core")), "{:#?}", report.coverage.uncovered);
    assert!(open(&alone).is_some_and(|why| !why.contains("core")));
}

/// Pairs alone would leave out some of eight profiles that differ in three axes, and each is judged by itself.
#[test]
fn each_profile_has_a_combination_of_its_own() {
    for policy in ["pairwise_plus_boundaries", "representative", "exhaustive_security_matrix"] {
        let mut world = with_a_second_interface("activated_bindings");
        let of = |binding| {
            ["user", "admin"].map(|user| ["standard", "gold"].map(|class| format!("a2a-{binding}-1.0/{user}/{class}")))
        };
        let profiles = ["jsonrpc", "http-json"].map(of).concat().concat();
        for profile in &profiles {
            let (_, who) = profile.split_once('/').expect("a profile has parts");
            let (user, class) = who.split_once('/').expect("a profile has parts");
            let mut subject = world.environment.subjects.first_key_value().expect("there are subjects").1.clone();
            subject.credential = ostiary_record::CredentialKind::Valid;
            subject.profile = Some(user.to_owned());
            subject.tenant_class = Some(class.to_owned());
            world.environment.subjects.insert(format!("{user}-{class}"), subject);
        }
        let text =
            format!("coverage_policy: {{ destructive_operations: {policy} }}\nactivate: [{}]\n", profiles.join(", "));
        world.put("coverage.yaml", &text);
        let driven = world.drive();
        // whether the agent in memory knows these subjects is not the question
        let tried = driven.run.not_run.iter().map(|n| (&n.scenario, &n.axes));
        let all = driven.run.recordings.iter().map(|r| (&r.scenario, &r.axes)).chain(tried);
        let planned: std::collections::BTreeSet<&str> =
            all.filter(|(id, _)| id.0 == combined::ID).filter_map(|(_, axes)| axes.profile.as_deref()).collect();
        assert_eq!(planned, profiles.iter().map(String::as_str).collect(), "{policy}");
    }
}

#[test]
fn what_destroys_and_is_not_cleared_is_not_even_planned() {
    let operations = "operations:\n  - { skill: work-planning, risk: destructive, idempotency_key: /request_id, ledger: { table: drafts } }\n";
    let driven = |cleared: &[&str]| {
        let mut world = World::honest();
        world.put("operations.yaml", operations);
        world.environment.cleared_effects = cleared.iter().map(|e| (*e).to_owned()).collect();
        of(world)
    };
    let held = driven(&["read", "write"]);
    assert_eq!((held.combinations[0].risk.as_str(), held.driven().0), ("destructive", 0));
    assert!(open(&held, Gap::NotCleared).iter().any(|what| what.ends_with("combinations of destructive operations")));
    let (all, of) = driven(&["read", "write", "destructive"]).driven();
    assert!(all == of && all >= 9, "{all} of {of}");
}
