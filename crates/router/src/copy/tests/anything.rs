//! Whatever comes in whatever order: the copy never allows what the upstream would deny at the revision that the copy
//! acknowledged last.

use ostiary_admission::{Change, Enforcement, State};
use proptest::prelude::*;

use super::{upstream::record, *};

const AGENTS: [&str; 2] = ["acme/planner", "beta/writer"];
const VERSIONS: [&str; 2] = ["1.0.0", "2.0.0"];

/// Something that happens.
#[derive(Clone, Debug)]
enum Event {
    Change(usize, usize, State),
    Remove(usize, usize),
    Enforce(usize, Option<i64>),
    /// The next step, with or without its head, some revisions long.
    Step {
        signed: bool,
        length: u64,
    },
    /// Any step of the past or the future.
    AnyStep {
        from: u64,
        length: u64,
        signed: bool,
    },
    /// A head of any revision that there was.
    AnyHead(u64),
    Snapshot {
        whole: bool,
    },
    OldSnapshot(u64),
    /// A step that nobody made.
    Forged(usize, usize, State),
    /// The next step under its head, with entries of any time put in front of its own.
    Spliced(Vec<(usize, usize, Option<State>)>),
    Reopen {
        resumed: bool,
    },
    Wait(i64),
    Echo,
}

fn state() -> impl Strategy<Value = State> {
    prop::sample::select(vec![State::Active, State::Quarantined, State::RegistryAdmitted, State::Rejected])
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..2_usize, 0..2_usize, state()).prop_map(|(a, v, s)| Event::Change(a, v, s)),
        1 => (0..2_usize, 0..2_usize).prop_map(|(a, v)| Event::Remove(a, v)),
        1 => (0..2_usize, prop::option::of(1..60_i64)).prop_map(|(n, until)| Event::Enforce(n, until)),
        8 => (any::<bool>(), 1..3_u64).prop_map(|(signed, length)| Event::Step { signed, length }),
        2 => (0..12_u64, 1..4_u64, any::<bool>())
            .prop_map(|(from, length, signed)| Event::AnyStep { from, length, signed }),
        2 => (0..12_u64).prop_map(Event::AnyHead),
        2 => any::<bool>().prop_map(|whole| Event::Snapshot { whole }),
        1 => (0..12_u64).prop_map(Event::OldSnapshot),
        1 => (0..2_usize, 0..2_usize, state()).prop_map(|(a, v, s)| Event::Forged(a, v, s)),
        2 => prop::collection::vec((0..2_usize, 0..2_usize, prop::option::of(state())), 1..4).prop_map(Event::Spliced),
        2 => any::<bool>().prop_map(|resumed| Event::Reopen { resumed }),
        2 => (1..5_i64).prop_map(Event::Wait),
        1 => Just(Event::Echo),
    ]
}

fn happen(pair: &mut Pair, event: Event) {
    let newest = pair.upstream.revision();
    let applied = pair.copy.ledger.revision().0;
    match event {
        Event::Change(agent, version, state) => {
            pair.upstream.change([Change::Upsert(record(AGENTS[agent], VERSIONS[version], state))]);
        }
        Event::Remove(agent, version) => {
            let (agent, version) = (AGENTS[agent].parse().unwrap(), VERSIONS[version].parse().unwrap());
            pair.upstream.change([Change::Remove(agent, version)]);
        }
        Event::Enforce(agent, until) => {
            let namespace = AGENTS[agent].split_once('/').unwrap().0;
            let until = until.map(|seconds| at(pair.boot + seconds * SECOND));
            let mode = until.map_or(Enforcement::Enforce, |until| Enforcement::Observe { until });
            pair.upstream.change([Change::Enforce(namespace.into(), mode)]);
        }
        Event::Step { signed, length } if applied < newest => step(pair, applied, length, signed),
        Event::AnyStep { from, length, signed } if from < newest => step(pair, from, length, signed),
        Event::AnyHead(revision) => {
            let head = pair.upstream.head(revision.min(newest), pair.boot);
            pair.take(Message::Heartbeat(wire::Heartbeat { head }));
        }
        Event::Snapshot { whole } => {
            let mut messages = pair.upstream.snapshot(pair.boot);
            messages.truncate(if whole { messages.len() } else { messages.len() - 1 });
            pair.take_all(messages);
        }
        Event::OldSnapshot(revision) => {
            let messages = pair.upstream.snapshot_of(revision.min(newest), pair.boot);
            pair.take_all(messages);
        }
        Event::Forged(agent, version, state) => {
            let change = Change::Upsert(record(AGENTS[agent], VERSIONS[version], state));
            let entries = vec![ostiary_admission::wire::entry_bytes(&change)];
            let forged = wire::Delta { from: applied, to: applied + 1, entries, ..wire::Delta::default() };
            pair.take(Message::Delta(forged));
        }
        Event::Spliced(extra) if applied < newest => spliced(pair, applied, &extra),
        Event::Reopen { resumed } => {
            pair.copy.closed();
            pair.open();
            if let (true, Some(resume)) = (resumed, pair.last_start().resume) {
                pair.take(Message::Resumed(wire::Resumed { revision: resume.revision }));
            }
        }
        Event::Wait(seconds) => _ = pair.wait(seconds),
        Event::Echo => _ = pair.tick(),
        Event::Step { .. } | Event::AnyStep { .. } | Event::Spliced(_) => {}
    }
}

fn step(pair: &mut Pair, from: u64, length: u64, signed: bool) {
    let to = (from + length).min(pair.upstream.revision());
    let delta = if signed { pair.upstream.step(from, to, pair.boot) } else { pair.upstream.unsigned_step(from, to) };
    pair.take(Message::Delta(delta));
}

/// The tree ends where it should: in front of the step stand other entries, and then what is true of the same subjects.
fn spliced(pair: &mut Pair, from: u64, extra: &[(usize, usize, Option<State>)]) {
    let mut step = pair.upstream.step(from, from + 1, pair.boot);
    let truth = pair.upstream.history[usize::try_from(from).unwrap()].clone();
    let mut front = Vec::new();
    for (agent, version, state) in extra {
        let removed = Change::Remove(AGENTS[*agent].parse().unwrap(), VERSIONS[*version].parse().unwrap());
        let change = match state {
            Some(state) => Change::Upsert(record(AGENTS[*agent], VERSIONS[*version], *state)),
            None => removed.clone(),
        };
        let back = truth.get(&change.subject()).cloned().unwrap_or(removed);
        front.extend([change, back].map(|change| ostiary_admission::wire::entry_bytes(&change)));
    }
    step.entries.splice(0..0, front);
    pair.take(Message::Delta(step));
}

fn truth_allows(pair: &Pair, agent: &str, version: &str) -> bool {
    let query = query(agent, version);
    let acknowledged = pair.last_applied().unwrap_or(0);
    pair.upstream.allows_at(acknowledged, &query, pair.boot)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_copy_never_allows_what_the_acknowledged_revision_denies(
        events in prop::collection::vec(event().prop_filter("no forgery here", |e| !matches!(e, Event::Forged(..))), 1..60),
    ) {
        let mut pair = Pair::in_step();
        for event in events {
            happen(&mut pair, event.clone());
            for (agent, version) in AGENTS.iter().flat_map(|agent| VERSIONS.map(|version| (*agent, version))) {
                prop_assert!(
                    !pair.allows(agent, version) || truth_allows(&pair, agent, version),
                    "{agent} {version} after {event:?}",
                );
            }
        }
    }

    /// With forged lowerings among them: nothing is ever allowed that the last verified revision denies, for forgery can
    /// only take away.
    #[test]
    fn forgery_only_ever_takes_away(events in prop::collection::vec(event(), 1..60)) {
        let mut pair = Pair::in_step();
        for event in events {
            happen(&mut pair, event.clone());
            let verified = pair.copy.held().verified.0;
            for (agent, version) in AGENTS.iter().flat_map(|agent| VERSIONS.map(|version| (*agent, version))) {
                prop_assert!(
                    !pair.allows(agent, version)
                        || pair.upstream.allows_at(verified, &query(agent, version), pair.boot),
                    "{agent} {version} after {event:?}",
                );
            }
        }
    }
}
