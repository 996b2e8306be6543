//! Windows of outcomes: each counted once, added up, and forgotten in time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Digest;

use super::{Bench, world::World};
use crate::{
    Actor, StateName,
    outcomes::{Audience, BUCKET, Counted, OutcomeSum, Signal, Window},
    ports::{Clock as _, Keep},
    sample,
};

fn counted(label: &str, consumer: &str, signal: Signal, code: &str) -> Counted {
    Counted {
        agent: sample::agent(),
        label: label.parse().expect("a label"),
        of: Audience { consumer: consumer.into(), canary: false, card: Some(Digest::of(b"card")) },
        signal,
        code: code.into(),
    }
}

fn window(number: u64, from: Timestamp, counts: impl IntoIterator<Item = (Counted, u64)>) -> Window {
    Window {
        by: Actor::machine("router-1"),
        router_id: "eu-1".into(),
        instance: "boot-1".into(),
        number,
        from,
        counts: counts.into_iter().collect(),
    }
}

async fn sums(world: &World<'_>, since: Timestamp) -> BTreeMap<(String, Signal, String), u64> {
    let label = "1.0.0".parse().expect("a label");
    let sums = world.store.outcomes(&sample::agent(), &label, since).await.expect("sums");
    let by_key = |OutcomeSum { of, signal, code, count }: OutcomeSum| ((of.consumer, signal, code), count);
    sums.into_iter().map(by_key).collect()
}

/// The same window of the same run of the same router counts once; all others add up, for each consumer and code.
pub async fn a_window_counts_once_and_adds_up(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::StaticValidated).await;
    let (now, revision) = (world.clock.now(), world.store.revision().await.expect("a revision"));
    let one = |consumer| Signal::ALL.map(|signal| (counted("1.0.0", consumer, signal, "x"), 2));
    let first = window(1, now, one("shop"));
    assert!(world.store.add_outcomes(first.clone()).await.expect("added"));
    assert!(!world.store.add_outcomes(first.clone()).await.expect("an answer"), "told before");
    let world = world.restart().await;
    assert!(!world.store.add_outcomes(first.clone()).await.expect("an answer"), "told before the restart");
    let others = [
        Window { number: 2, ..first.clone() },
        Window { instance: "boot-2".into(), ..first.clone() },
        Window { router_id: "eu-2".into(), ..first.clone() },
        Window { by: Actor::machine("router-2"), ..first.clone() },
        window(3, now, one("").into_iter().chain([(counted("1.0.0", "shop", Signal::Error, "TIMEOUT"), 5)])),
    ];
    for other in others {
        assert!(world.store.add_outcomes(other.clone()).await.expect("added"), "{other:?}");
    }
    let sums = sums(&world, now).await;
    for signal in Signal::ALL {
        assert_eq!(sums[&("shop".into(), signal, "x".into())], 10, "{signal:?}");
        assert_eq!(sums[&(String::new(), signal, "x".into())], 2, "{signal:?}");
    }
    assert_eq!(sums[&("shop".into(), Signal::Error, "TIMEOUT".into())], 5);
    assert_eq!(world.store.revision().await.expect("a revision"), revision, "numbers are no change of the registry");
}

/// Sums begin where the caller says; versions that nobody submitted have none; what is old is forgotten.
pub async fn sums_begin_and_end_in_time(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::StaticValidated).await;
    let begin = world.clock.now();
    let key = || counted("1.0.0", "shop", Signal::Dispatches, "");
    let stray = counted("9.9.9", "shop", Signal::Dispatches, "");
    world.store.add_outcomes(window(1, begin, [(key(), 1), (stray, 7)])).await.expect("added");
    world.store.add_outcomes(window(2, begin + BUCKET, [(key(), 10)])).await.expect("added");
    let count = async |since| sums(&world, since).await.values().sum::<u64>();
    assert_eq!((count(begin).await, count(begin + BUCKET).await, count(begin + BUCKET * 2).await), (11, 10, 0));
    let label = "9.9.9".parse().expect("a label");
    assert_eq!(world.store.outcomes(&sample::agent(), &label, begin).await.expect("sums"), []);

    let keep = Keep { drift: SignedDuration::from_hours(1), outcomes: SignedDuration::from_hours(1) };
    assert_eq!(world.store.forget_reports(keep).await.expect("a sweep"), 0);
    world.clock.pass(SignedDuration::from_hours(1) + SignedDuration::from_secs(1));
    assert_eq!(world.store.forget_reports(keep).await.expect("a sweep"), 1, "the first ten minutes");
    assert_eq!(count(begin).await, 10);
    let again = window(2, begin + BUCKET, [(key(), 10)]);
    assert!(
        !world.store.add_outcomes(again).await.expect("an answer"),
        "it is remembered for longer than it can be told"
    );
}
