//! Driving: what lands in the run, and what happens when the candidate or the harness fails.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};

use ostiary_record::{
    Kind, Layer, NotRun, ReasonCode,
    ports::{BoxFuture, CouldNotRun, Timer},
};
use ostiary_verify::{
    Allowance, Control, Harness, Reads, Request, Role, Scenario, ScenarioSpec, Stage, scenario::Needs,
};

use crate::support::{
    Answer, CARD, OK, ask, ask_as, bundle, environment, outbound, request, run, wants_200, world, world_with,
};

fn reads(ids: &'static [&'static str]) -> Vec<Box<dyn ostiary_verify::Check>> {
    vec![wants_200("t.reads", Layer::Protocol, Reads::Each(ids))]
}

#[test]
fn discovery_comes_first_and_holds_the_card_and_the_bundle() {
    let bundle = bundle(&[]);
    let world = world(|_, _| OK);
    let run = run(&Harness::of(Vec::new(), Vec::new()), &request(&bundle), &world.ports);
    let tape = &run.recordings[0];
    assert_eq!(tape.scenario.0, "discover");
    assert_eq!(tape.document("agent-card.json").unwrap().0.as_bytes(), CARD.as_bytes());
    assert!(tape.document("bundle/contract.yaml").is_some());
    let exchange = &tape.exchanges()[0];
    assert_eq!(exchange.status(), Some(200));
    assert_eq!(run.environment.endpoint.as_deref(), Some("https://agent.example.test/.well-known/agent-card.json"));
    let version = exchange.request_headers.iter().find(|(n, _)| n == "A2A-Version");
    assert_eq!(version.unwrap().1.as_str(), Some("1.0"));
}

#[test]
fn a_card_that_cannot_be_fetched_leaves_a_run_that_says_so() {
    let bundle = bundle(&[]);
    let world = world_with(|_, _| OK, None, false);
    let harness = Harness::of(vec![ask("s.one", |_| {})], reads(&["s.one"]));
    let run = run(&harness, &request(&bundle), &world.ports);
    assert!(run.recordings[0].document("agent-card.json").is_none());
    assert!(!run.recordings[0].exchanges()[0].complete());
    assert_eq!(world.calls.load(Ordering::Relaxed), 0, "nothing is called without a card");
}

#[test]
fn recordings_are_in_the_order_of_the_plan_and_the_same_run_after_run() {
    let bundle = bundle(&[("coverage.yaml", "coverage_policy: {}\ntolerance: { repetitions: 4 }\n")]);
    let harness = Harness::of(vec![ask("s.one", |_| {}), ask("s.two", |_| {})], reads(&["s.one", "s.two"]));
    let once = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    let order: Vec<String> = once.recordings.iter().map(|r| format!("{}/{}", r.scenario, r.axes.repetition)).collect();
    assert_eq!(order[1..5], ["s.one/0", "s.one/1", "s.one/2", "s.one/3"]);
    assert_eq!(order.len(), 9);
    let again = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    let sent = |r: &ostiary_record::Run| -> Vec<Vec<u8>> {
        let exchanges = r.recordings.iter().flat_map(ostiary_record::Recording::exchanges);
        exchanges.map(|x| x.request.as_bytes().to_vec()).collect()
    };
    assert_eq!(sent(&once), sent(&again));
    let mut values = sent(&once);
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 9, "each drive sends values of its own");
}

#[test]
fn credentials_are_hidden_on_the_tape() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |_| {})], reads(&["s.one"]));
    let world = world(|actor, _| {
        assert_eq!(actor, "user-a");
        Answer::Whole(200, vec![("echo", "secret-of-user-a")], "{\"you sent\": \"secret-of-user-a\"}")
    });
    let run = run(&harness, &request(&bundle), &world.ports);
    let text = serde_json::to_string(&run).unwrap();
    assert!(!text.contains("secret-of-user-a"));
    assert!(text.contains("⟨credential:user-a⟩"));
}

#[test]
fn a_failed_control_saves_the_calls_of_its_negative() {
    let bundle = bundle(&[]);
    let harness = Harness::of(
        vec![ask("s.control", |_| {}), ask("s.negative", |s| s.control = Control::By("s.control"))],
        reads(&["s.negative"]),
    );
    let world = world(|_, _| Answer::Whole(500, Vec::new(), ""));
    let run = run(&harness, &request(&bundle), &world.ports);
    assert_eq!(world.calls.load(Ordering::Relaxed), 1);
    assert_eq!(run.not_run[0].reason, ReasonCode::ControlFailed);
    assert!(run.not_run[0].why.contains("status Some(500)"), "{}", run.not_run[0].why);
}

/// Two scenarios, one after the other, against a candidate that says 429; the calls made and the reasons given.
fn rate_limited(retry_after: Option<&'static str>) -> (u64, Vec<ReasonCode>) {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |_| {}), ask("s.two", |_| {})], reads(&["s.one", "s.two"]));
    let headers: Vec<_> = retry_after.into_iter().map(|v| ("Retry-After", v)).collect();
    let world = world_with(move |_, _| Answer::Whole(429, headers.clone(), ""), Some(CARD), false);
    let mut request = request(&bundle);
    request.allowance = Allowance { concurrency: 1, ..request.allowance };
    let run = run(&harness, &request, &world.ports);
    assert_eq!(run.recordings.len(), 1, "a limited answer is no recording");
    (world.calls.load(Ordering::Relaxed), run.not_run.iter().map(|n| n.reason).collect())
}

#[test]
fn a_rate_limit_is_respected_and_tells_nothing() {
    let limited = vec![ReasonCode::TargetRateLimited; 2];
    assert_eq!(rate_limited(Some("120")), (1, limited.clone()), "nobody calls again within two minutes");
    assert_eq!(rate_limited(Some("Fri, 31 Dec 2027 23:59:59 GMT")), (1, limited.clone()));
    assert_eq!(rate_limited(Some("0")), (2, limited));
}

#[test]
fn the_call_budget_of_the_run_is_kept() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |_| {}), ask("s.two", |_| {})], reads(&["s.one", "s.two"]));
    let world = world(|_, _| OK);
    let mut request = request(&bundle);
    request.allowance = Allowance { calls: 1, rate_per_s: 0, concurrency: 1, ..Allowance::default() };
    let run = run(&harness, &request, &world.ports);
    assert_eq!(world.calls.load(Ordering::Relaxed), 1);
    assert_eq!(run.not_run.len(), 1);
    assert_eq!(run.not_run[0].reason, ReasonCode::BudgetExceeded);
}

#[test]
fn the_time_and_the_memory_of_the_run_are_kept() {
    let bundle = bundle(&[]);
    let usual = Allowance { concurrency: 1, rate_per_s: 0, ..Allowance::default() };
    let bounds = [
        (Allowance { time: Duration::from_nanos(1), ..usual }, 0, "budget.time_s"),
        (Allowance { memory: 1, ..usual }, 1, "budget.memory_mib"),
    ];
    for (allowance, calls, named) in bounds {
        let harness = Harness::of(vec![ask("s.one", |s| s.repeats = 3)], reads(&["s.one"]));
        let large: &'static str = "x".repeat(100 << 10).leak();
        let world = world(move |_, _| Answer::Whole(200, Vec::new(), large));
        let run = run(&harness, &Request { allowance, ..request(&bundle) }, &world.ports);
        assert_eq!(world.calls.load(Ordering::Relaxed), calls, "{named}");
        assert_eq!(run.not_run.len() as u64, 3 - calls, "{named}");
        let told = |n: &NotRun| n.reason == ReasonCode::BudgetExceeded && n.why.contains(named);
        assert!(run.not_run.iter().all(told), "{named}: {:?}", run.not_run);
    }
}

#[test]
fn a_candidate_that_ends_no_answer_is_not_called_for_ever() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |s| s.repeats = 20)], reads(&["s.one"]));
    let world = world(|_, _| Answer::Late);
    let mut request = request(&bundle);
    request.allowance.concurrency = 1;
    let run = run(&harness, &request, &world.ports);
    assert_eq!(world.calls.load(Ordering::Relaxed), 12);
    assert_eq!(run.not_run.len(), 8);
    assert!(run.not_run.iter().all(|n| n.reason == ReasonCode::TargetUnresponsive), "{:?}", run.not_run);
}

#[test]
fn a_candidate_that_hangs_is_given_up_in_bounded_time() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |_| {})], reads(&["s.one"]));
    let world = world_with(|_, _| Answer::Silence, Some(CARD), true);
    let run = run(&harness, &request(&bundle), &world.ports);
    assert_eq!(run.not_run[0].reason, ReasonCode::TargetUnresponsive);
    assert_eq!(*world.timer.waits.lock().unwrap(), [ScenarioSpec::new("", "").budget.time]);
}

#[test]
fn a_candidate_that_is_not_there_is_unreachable() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask("s.one", |_| {})], reads(&["s.one"]));
    let run = run(&harness, &request(&bundle), &world(|_, _| Answer::Refused).ports);
    assert_eq!(run.not_run[0].reason, ReasonCode::TargetUnreachable);
}

#[test]
fn a_scenario_that_panics_is_a_fault_of_the_harness_and_stops_nothing_else() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![Box::new(Panics), ask("s.one", |_| {})], reads(&["s.panics", "s.one"]));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    std::panic::set_hook(hook);
    assert_eq!(run.not_run[0].reason, ReasonCode::HarnessFault);
    assert_eq!(run.recordings.len(), 2);
}

struct Panics;

static PANICS: ScenarioSpec = ScenarioSpec::new("s.panics", "breaks off");

impl Scenario for Panics {
    fn spec(&self) -> &'static ScenarioSpec {
        &PANICS
    }

    fn drive<'s>(&'s self, _: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async { panic!("a bug of ours") })
    }
}

#[test]
fn a_state_that_cannot_be_set_up_stops_its_scenario_only() {
    let bundle = bundle(&[]);
    let needs = Needs { states: &["seven drafts"], ..Needs::USUAL };
    let harness = Harness::of(
        vec![ask("s.stateful", move |s| s.needs = needs), ask("s.one", |_| {})],
        reads(&["s.stateful", "s.one"]),
    );
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    assert_eq!(run.not_run[0].reason, ReasonCode::ProviderStateFailed);
    assert_eq!(run.recordings.len(), 2);
}

#[test]
fn the_tape_says_who_played_whom() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![ask_as("s.other", Role::OtherTenant, |_| {})], reads(&["s.other"]));
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    let tape = &run.recordings[1];
    assert_eq!(tape.mark("role.other_tenant").unwrap().0, Some("user-b"));
    assert!(tape.events.iter().any(|e| matches!(&e.kind, Kind::Opened { actor, .. } if actor.0 == "user-b")));
}

#[test]
fn overlapping_exchanges_of_one_channel_do_not_mix() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![Box::new(Overlaps)], reads(&["s.overlaps"]));
    let world = world(|_, out| {
        let first = out.body.as_ref() == b"first";
        Answer::Whole(if first { 201 } else { 202 }, Vec::new(), if first { "one" } else { "two" })
    });
    let run = run(&harness, &request(&bundle), &world.ports);
    assert_eq!(run.recordings[1].mark("seen").unwrap().0, Some("201 one, 202 two"));
}

struct Overlaps;

static OVERLAPS: ScenarioSpec = ScenarioSpec::new("s.overlaps", "two at once");

impl Scenario for Overlaps {
    fn spec(&self) -> &'static ScenarioSpec {
        &OVERLAPS
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let channel = stage.open(Role::Primary).await?;
            let first = stage.start(channel, outbound("a", "first")).await?;
            let second = stage.start(channel, outbound("b", "second")).await?;
            let second = stage.finish(channel, second).await?;
            let frame = stage.next_frame(channel, first, Duration::from_secs(1)).await?.unwrap_or_default();
            let first = stage.finish(channel, first).await?;
            let seen = format!(
                "{} {}, {} {}",
                first.status.unwrap_or(0),
                String::from_utf8_lossy(&frame),
                second.status.unwrap_or(0),
                String::from_utf8_lossy(&second.body())
            );
            stage.mark("seen", Some(&seen));
            Ok(())
        })
    }
}

#[test]
fn without_an_address_the_card_of_the_bundle_is_judged_and_nothing_called() {
    let bundle = bundle(&[]);
    let world = world_with(|_, _| OK, None, false);
    let mut request = request(&bundle);
    request.card_url = None;
    let harness = Harness::of(vec![ask("s.one", |_| {})], reads(&["s.one"]));
    let run = run(&harness, &request, &world.ports);
    assert_eq!(world.calls.load(Ordering::Relaxed), 0);
    assert_eq!(run.not_run[0].reason, ReasonCode::ScenarioNotRun);
    assert_eq!(run.recordings[0].document("agent-card.json").unwrap().0.as_bytes(), CARD.as_bytes());
    assert!(run.recordings[0].exchanges().is_empty());
    assert_eq!(run.environment.name, environment().name);
}

/// Waits, and calls once.
struct Waits;

static WAITS: ScenarioSpec = ScenarioSpec { repeats: 10, ..ScenarioSpec::new("s.waits", "waits and asks") };

impl Scenario for Waits {
    fn spec(&self) -> &'static ScenarioSpec {
        &WAITS
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            stage.wait(PAUSE).await;
            let channel = stage.open(Role::Primary).await?;
            stage.exchange(channel, outbound("s.waits", "x")).await.map(drop)
        })
    }
}

const PAUSE: Duration = Duration::from_millis(200);

/// A timer whose pauses end when ten are waited for at the same time, or when nobody begins another; it knows the most
/// that there were.
#[derive(Default)]
struct Together(Arc<(AtomicUsize, AtomicUsize)>);

impl Timer for Together {
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        if duration != PAUSE {
            return Box::pin(std::future::pending());
        }
        let (waiting, mut looks) = (Arc::clone(&self.0), 0);
        let now = waiting.0.fetch_add(1, Ordering::Relaxed) + 1;
        waiting.1.fetch_max(now, Ordering::Relaxed);
        Box::pin(std::future::poll_fn(move |cx| {
            looks += 1;
            if waiting.1.load(Ordering::Relaxed) >= 10 || looks > 1_000 {
                waiting.0.fetch_sub(1, Ordering::Relaxed);
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

#[test]
fn who_waits_keeps_nobody_from_calling() {
    let bundle = bundle(&[]);
    let harness = Harness::of(vec![Box::new(Waits)], reads(&["s.waits"]));
    let mut world = world(|_, _| OK);
    let timer = Arc::new(Together::default());
    world.ports.timer = Arc::<Together>::clone(&timer);
    let mut request = request(&bundle);
    request.allowance.concurrency = 2;
    let run = run(&harness, &request, &world.ports);
    assert_eq!(timer.0.1.load(Ordering::Relaxed), 10, "all wait at the same time");
    let repetitions: Vec<u32> = run.recordings[1..].iter().map(|r| r.axes.repetition).collect();
    assert_eq!(repetitions, (0..10).collect::<Vec<_>>(), "recordings stand in the plan's order");
}
