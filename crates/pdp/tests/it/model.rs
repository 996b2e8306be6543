//! Any history, any moment to come and go: each revision that a write returned appears on every open and every resumed
//! watch, and what a router has built is what the index has (L-04, L-05).

use ostiary_admission::{Change, Enforcement, Hold, HoldKind, Scope, State};
use ostiary_canon::Revision;
use ostiary_pdp::Hub;
use proptest::{prelude::*, test_runner::Config};
use tokio::runtime::Runtime;

use crate::{
    copy::Copy,
    host::{Host, LEASE, Watcher},
    world::{put, record, seconds, start},
};

const SCOPES: [&str; 3] = ["*", "acme", "other"];

#[derive(Clone, Debug)]
enum Turn {
    Publish(Vec<Change>),
    Tick(usize),
    Leave(usize),
    Come(usize),
    Read(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let name = (prop::sample::select(vec!["acme", "other", "third"]), 0_u8..4, prop::sample::select(vec!["1", "2"]))
        .prop_map(|(namespace, agent, version)| (format!("{namespace}/agent-{agent}"), version));
    let held = |kind| [Hold { kind, scope: Scope::All, by_person: false }].into();
    prop_oneof![
        4 => (name.clone(), prop::sample::select(&State::ALL[..])).prop_map(|((agent, version), state)| put(&agent, version, state)),
        2 => name.clone().prop_map(move |(agent, version)| {
            let mut record = record(&agent, version, State::Active);
            record.holds = held(HoldKind::RouteDisabled);
            Change::Upsert(record)
        }),
        1 => name.prop_map(|(agent, version)| Change::Remove(agent.parse().unwrap(), version.parse().unwrap())),
        1 => (prop::sample::select(vec!["acme", "other"]), any::<bool>()).prop_map(|(namespace, lenient)| {
            let mode = if lenient { Enforcement::Observe { until: start() + seconds(600) } } else { Enforcement::Enforce };
            Change::Enforce(namespace.into(), mode)
        }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let who = 0..SCOPES.len();
    prop_oneof![
        6 => prop::collection::vec(change(), 0..4).prop_map(Turn::Publish),
        2 => (1_usize..4).prop_map(Turn::Tick),
        1 => who.clone().prop_map(Turn::Leave),
        2 => who.clone().prop_map(Turn::Come),
        2 => who.prop_map(Turn::Read),
    ]
}

enum Router {
    Away(Box<Copy>),
    Here(Box<Watcher>),
}

struct World {
    host: Host,
    routers: Vec<Router>,
}

impl World {
    async fn new() -> Self {
        let host = Host::with([put("acme/agent-0", "1", State::Active)]).await;
        let mut routers = Vec::new();
        for scope in SCOPES {
            let mut watcher = host.watch(scope, scope).await;
            watcher.reach(Revision(1)).await;
            routers.push(Router::Here(Box::new(watcher)));
        }
        Self { host, routers }
    }

    async fn play(&mut self, turn: Turn) {
        match turn {
            Turn::Publish(changes) => _ = self.host.publish(changes),
            Turn::Tick(ticks) => self.host.ticks(ticks),
            Turn::Leave(who) => {
                if let Router::Here(watcher) = &self.routers[who] {
                    self.routers[who] = Router::Away(Box::new(watcher.copy.clone()));
                }
            }
            Turn::Come(who) => self.come(who).await,
            Turn::Read(who) => {
                let revision = self.host.index().revision();
                if let Router::Here(watcher) = &mut self.routers[who] {
                    watcher.reach(revision).await;
                    watcher.acknowledge(revision).await;
                }
            }
        }
    }

    async fn come(&mut self, who: usize) {
        let Router::Away(copy) = &self.routers[who] else { return };
        let mut copy = Copy::clone(copy);
        // It goes on from its verified head: what was applied beyond it comes again.
        let verified = copy.verified.as_ref().unwrap().revision;
        if copy.revision != verified {
            copy = Copy::of(SCOPES[who]);
        }
        let mut watcher = self.host.resume(SCOPES[who], copy).await;
        watcher.reach(self.host.index().revision()).await;
        self.routers[who] = Router::Here(Box::new(watcher));
    }

    async fn settle(mut self) {
        for who in 0..SCOPES.len() {
            self.come(who).await;
        }
        let last = self.host.index().revision();
        self.host.ticks(2);
        for router in &mut self.routers {
            let Router::Here(watcher) = router else { panic!("all have come") };
            watcher.reach(last).await;
            watcher.copy.assert_equals(self.host.index());
            // From the snapshot that it began with, each revision, once.
            let seen: Vec<u64> = watcher.copy.seen.iter().map(|revision| revision.0).collect();
            assert_eq!(seen, (seen[0]..=last.0).collect::<Vec<_>>(), "{}", watcher.copy.scope);
            assert_eq!(watcher.copy.resyncs, 0);
            watcher.acknowledge(last).await;
        }
        let here = |hub: &Hub| hub.proof(last).pending.iter().all(|pending| !pending.connected);
        self.host.until("all acknowledgements", here).await;
        // Those who left and came back said nothing about the process that left: its leases must run out.
        self.host.pass(LEASE);
        assert!(self.host.hub.proof(last).is_complete());
    }
}

proptest! {
    #![proptest_config(Config { cases: 48, max_shrink_iters: 200, ..Config::default() })]

    #[test]
    fn each_revision_appears_on_every_open_and_every_resumed_watch(turns in prop::collection::vec(turn(), 1..40)) {
        Runtime::new().unwrap().block_on(async {
            let mut world = World::new().await;
            for turn in turns {
                world.play(turn).await;
            }
            world.settle().await;
        });
    }
}
