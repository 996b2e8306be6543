//! Push notifications of agents on official SDKs: the honest ones pass, and each lie is caught with layer and code
//! (I-06, A-06, A-07, A-08, A-09, A-10, W-02).

// covers: I-06, A-06, A-07, A-08, A-09, A-10, W-02

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use ostiary_canon::dsse::SigningKey;
use ostiary_tests::{
    model::failures,
    pair::{self, PYTHON},
    world::pushing::{Place, Pushing},
};
use serde_json::{Value, json};

const ALL: &[&str] = &[];

/// The lies of the sender that come out with the proxy of a run before it, and what each must be caught for.
const LIES: [(&str, &[(&str, &str)]); 12] = [
    ("silent", &[("protocol", "CALLBACK_NOT_DELIVERED")]),
    ("no-credential", &[("authorization", "CALLBACK_UNAUTHENTICATED")]),
    ("wrong-credential", &[("authorization", "CALLBACK_UNAUTHENTICATED")]),
    ("after-deletion", &[("protocol", "CALLBACK_AFTER_DELETION")]),
    ("second-destination", &[("authorization", "CALLBACK_ELSEWHERE")]),
    ("collector", &[("authorization", "CALLBACK_ELSEWHERE")]),
    ("differing", &[("protocol", "CALLBACK_REDELIVERY_DIFFERS")]),
    ("appending", &[("protocol", "CALLBACK_REDELIVERY_DIFFERS")]),
    ("hammering", &[("temporal", "CALLBACK_RETRY_EXCESSIVE")]),
    ("envelope", &[("protocol", "CALLBACK_MALFORMED")]),
    ("other-task", &[("protocol", "CALLBACK_MALFORMED")]),
    ("other-address", &[("protocol", "CALLBACK_CONFIGURATION_LOST")]),
];

fn found(report: &Value) -> BTreeSet<(String, String)> {
    failures(report).into_iter().collect()
}

fn model(wanted: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    wanted.iter().map(|(layer, code)| ((*layer).to_owned(), (*code).to_owned())).collect()
}

/// The findings of one check.
fn of<'r>(report: &'r Value, check: &str) -> Vec<&'r Value> {
    report["findings"].as_array().into_iter().flatten().filter(|f| f["check"] == check).collect()
}

fn verdict(report: &Value, check: &str) -> String {
    let counting: Vec<&Value> = of(report, check).into_iter().filter(|f| f["severity"] == "error").collect();
    let told = |f: &&Value| format!("{} {}", f["verdict"].as_str().unwrap_or_default(), f["reason_code"]);
    counting.iter().map(told).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
}

/// How many liars run beside each other: they wait most of the time.
const TOGETHER: usize = 4;

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn each_lie_about_notifications_is_caught_with_layer_and_code() -> Result<()> {
    let honest = Pushing::open(&["--push-retry"])?;
    let (code, truth) = honest.verify(Place::default(), ALL)?;
    assert_eq!((code, failures(&truth)), (0, vec![]), "{truth:#}");
    for layer in ["protocol", "authorization"] {
        assert_eq!(truth["layers"][layer], "PASS", "{layer}: {truth:#}");
    }
    let mut wrong = Vec::new();
    for lies in LIES.chunks(TOGETHER) {
        for ((lie, wanted), told) in lies.iter().zip(together(lies)) {
            let (code, report) = told?;
            if code != 1 || found(&report) != model(wanted) {
                wrong.push(format!("{lie}: exit {code}, wanted {wanted:?}, found {:?}", found(&report)));
            } else {
                pair::executed(PYTHON, lie, &truth, &report, wanted)?;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// The reports on some liars, each with an agent and a run of its own.
fn together(lies: &[(&str, &[(&str, &str)])]) -> Vec<Result<(i32, Value)>> {
    let run = |lie: &str| Pushing::open(&["--push-lie", lie])?.verify(Place::default(), ALL);
    std::thread::scope(|scope| {
        let running: Vec<_> = lies.iter().map(|(lie, _)| scope.spawn(move || run(lie))).collect();
        running.into_iter().map(|r| r.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a run panicked")))).collect()
    })
}

/// The sender of the SDK itself, which tries once, over each binding; what is not looked at is told and does not count.
#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn the_sender_of_the_sdk_passes_on_each_binding() -> Result<()> {
    let agent = Pushing::bindings(&[])?;
    let (_, report) = agent.verify(Place::default(), ALL)?;
    assert_eq!(failures(&report), [], "{report:#}");
    for check in
        ["a2a.push.configuration", "a2a.push.delivered", "a2a.push.payload", "a2a.push.deleted", "a2a.push.redelivery"]
    {
        assert_eq!(verdict(&report, check), "PASS null", "{check}: {report:#}");
        let profiles: BTreeSet<_> = of(&report, check).iter().map(|f| f["profile"].to_string()).collect();
        assert_eq!(profiles.len(), 3, "{check}");
    }
    assert_eq!(verdict(&report, "a2a.push.authentication"), "PASS null");
    assert_eq!(verdict(&report, "a2a.push.inside"), "PASS null");
    // nobody watched what leaves it
    assert_eq!(verdict(&report, "a2a.push.destination"), "INCONCLUSIVE \"OBSERVER_MISSING\"");
    Ok(())
}

/// Its SDK looks at no address and follows redirects, so that the agent does the one and not the other.
#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn the_javascript_sdk_passes_in_production_too() -> Result<()> {
    let agent = Pushing::javascript()?;
    let (_, report) = agent.verify(Place::default(), ALL)?;
    assert_eq!(failures(&report), [], "{report:#}");
    let checks = ["configuration", "delivered", "payload", "deleted", "redelivery", "authentication", "inside"];
    for check in checks.map(|name| format!("a2a.push.{name}")) {
        assert_eq!(verdict(&report, &check), "PASS null", "{check}: {report:#}");
    }
    let production = Place { production: true, ..Place::default() };
    let (code, report) = agent.verify(production, &["--only", "a2a.push.inside"])?;
    assert_eq!((code, failures(&report)), (0, vec![]), "{report:#}");
    Ok(())
}

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn who_calls_addresses_inside_or_follows_redirects_there_is_caught_in_production() -> Result<()> {
    let production = Place { production: true, ..Place::default() };
    let only = &["--only", "a2a.push.inside"];
    let honest = Pushing::by_itself(&["--push-retry"])?;
    let (code, truth) = honest.verify(production, only)?;
    assert_eq!((code, failures(&truth)), (0, vec![]), "{truth:#}");
    let wanted = &[("authorization", "CALLBACK_ADDRESS_UNCHECKED")];
    for lie in ["anywhere", "redirects"] {
        let liar = Pushing::by_itself(&["--push-lie", lie])?;
        let (code, report) = liar.verify(production, only)?;
        assert_eq!((code, found(&report)), (1, model(wanted)), "{lie}: {report:#}");
        pair::executed(PYTHON, lie, &truth, &report, wanted)?;
    }
    Ok(())
}

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn a_guard_that_refuses_the_loopback_is_never_broken_push() -> Result<()> {
    let strict = Pushing::guarded()?;
    let place = Place { loopback: true, ..Place::default() };
    let (code, report) = strict.verify(place, ALL)?;
    assert_eq!((code, failures(&report)), (3, vec![]), "{report:#}");
    for check in ["a2a.push.configuration", "a2a.push.delivered", "a2a.push.inside"] {
        assert!(verdict(&report, check).contains("INCONCLUSIVE \"CALLBACK_REFUSED\""), "{check}: {report:#}");
    }
    let (_, report) = strict.verify(Place { nowhere: true, ..Place::default() }, ALL)?;
    for check in ["a2a.push.configuration", "a2a.push.delivered", "a2a.push.inside"] {
        assert_eq!(verdict(&report, check), "INCONCLUSIVE \"OBSERVER_MISSING\"", "{check}: {report:#}");
    }
    Ok(())
}

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn signed_notifications_are_verified_by_the_keys_of_the_environment() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut keys = Vec::new();
    for (name, seed) in [("right", 4), ("wrong", 5)] {
        let pem = folder.path().join(format!("{name}.pem"));
        std::fs::write(&pem, SigningKey::from_seed([seed; 32]).to_pkcs8_pem()?)?;
        keys.push(pem.to_str().context("a name")?.to_owned());
    }
    let mut public = ostiary_lab::JwtKey::from_seed(ostiary_canon::jwk::Algorithm::EdDsa, [4; 32]).jwk();
    public["kid"] = json!("agent-key");
    let place = Place { callbacks: ", signed_by: agent-keys.json, audience: receiver", ..Place::default() };
    for (key, audience, passes) in
        [(&keys[0], "receiver", true), (&keys[1], "receiver", false), (&keys[0], "somebody-else", false)]
    {
        let agent = Pushing::by_itself(&["--push-key", key, "--push-audience", audience])?;
        std::fs::write(agent.folder().join("agent-keys.json"), json!({"keys": [public]}).to_string())?;
        let (_, report) = agent.verify(place, &["--only", "a2a.push.authentication"])?;
        let wanted = if passes { "PASS null" } else { "FAIL \"CALLBACK_UNAUTHENTICATED\", PASS null" };
        assert_eq!(verdict(&report, "a2a.push.authentication"), wanted, "{key} {audience}: {report:#}");
    }
    Ok(())
}

#[test]
#[ignore = "has not passed yet since the parts of the A2A contract were joined"]
fn push_that_the_card_does_not_declare_is_refused_by_every_operation_or_caught() -> Result<()> {
    let only = &["--only", "a2a.push.undeclared"];
    let honest = Pushing::undeclared(&[])?;
    let (code, truth) = honest.verify(Place::default(), only)?;
    assert_eq!((code, failures(&truth)), (0, vec![]), "{truth:#}");
    let liar = Pushing::undeclared(&["--push", "--push-undeclared"])?;
    let (code, report) = liar.verify(Place::default(), only)?;
    let wanted = &[("protocol", "UNDECLARED_CAPABILITY_SERVED")];
    assert!(code == 1 && found(&report).is_superset(&model(wanted)), "{report:#}");
    pair::executed(PYTHON, "push undeclared and served", &truth, &report, wanted)
}
