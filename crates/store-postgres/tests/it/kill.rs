//! A process that is killed, not one that unwinds: at every failpoint that the store passes.

use std::{
    process::{Command, ExitStatus},
    sync::Arc,
};

use ostiary_domain::{
    Crashed, Failpoint, Failpoints, StateName, Store,
    conformance::{
        Bench, Tamper,
        world::{LEASE, World},
    },
    ports::StorePorts,
    sample,
};
use ostiary_record::{Gate, Outcome, ports::BoxFuture};
use ostiary_store_postgres::{PostgresStore, Settings, TimeSource, cluster::Cluster};

/// Which database the child opens, and where it dies.
const URL: &str = "OSTIARY_TEST_DATABASE";
const POINT: &str = "OSTIARY_TEST_FAILPOINT";

const POINTS: [Failpoint; 8] = [
    Failpoint::SubmitWritten,
    Failpoint::SubmitCommitted,
    Failpoint::JobClaimed,
    Failpoint::CommitGuarded,
    Failpoint::CommitVersionWritten,
    Failpoint::CommitEvidenceWritten,
    Failpoint::CommitWritten,
    Failpoint::CommitDone,
];

/// Ends the process without a word: nothing is dropped, closed or rolled back by us.
#[derive(Debug)]
struct Kill(Failpoint);

impl Failpoints for Kill {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        if point == self.0 { std::process::abort() } else { Ok(()) }
    }
}

/// A database, opened by a process that dies at a point, or by one that does not.
struct OneDatabase {
    url: String,
    dies_at: Option<Failpoint>,
}

impl Bench for OneDatabase {
    fn open(&self, ports: StorePorts) -> BoxFuture<'_, Arc<dyn Store>> {
        let ports = match self.dies_at {
            Some(point) => ports.with_failpoints(Arc::new(Kill(point))),
            None => ports,
        };
        Box::pin(async move {
            let settings = Settings::from_url(&self.url).expect("a database URL").time(TimeSource::Ports);
            Arc::new(PostgresStore::open(&settings, ports).await.expect("the database opens")) as Arc<dyn Store>
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn tamper(&self, _: Tamper) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_killed_process_leaves_one_legal_state_and_the_gate_goes_on() {
    for point in POINTS {
        let url = Cluster::shared().database().await;
        assert!(!child(&url, point).success(), "{point}: the child outlived its failpoint");

        let bench = OneDatabase { url, dies_at: None };
        let world = World::taken_up(&bench).await;
        world.is_sound().await;
        let key = sample::key("1.0.0");
        let found = world.store.version(&key).await.expect("a look-up").map(|v| v.state.name());
        let expected = match point {
            Failpoint::SubmitWritten => None,
            Failpoint::CommitDone => Some(StateName::StaticValidated),
            _ => Some(StateName::Draft),
        };
        assert_eq!(found, expected, "{point}");

        world.clock.pass(LEASE);
        if found.is_none() {
            world.submit("1.0.0").await;
        }
        if found != Some(StateName::StaticValidated) {
            world.run(Gate::Static, Outcome::Pass).await;
        }
        world.run(Gate::Conformance, Outcome::Pass).await;
        assert_eq!(world.state(&key).await, StateName::ConformanceVerified, "{point}");
        world.is_sound().await;
    }
}

fn child(url: &str, point: Failpoint) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().expect("this test is a program"));
    child.args(["--exact", "kill::the_child_that_is_killed", "--ignored"]);
    child.env(URL, url).env(POINT, point.as_str());
    child.output().expect("the child starts").status
}

#[tokio::test]
#[ignore = "a process of its own, started by the test above"]
#[expect(clippy::disallowed_methods, reason = "how the parent tells its child where to die")]
async fn the_child_that_is_killed() {
    let url = std::env::var(URL).expect("started by the test above");
    let point = std::env::var(POINT).expect("started by the test above").parse().expect("a failpoint");
    let bench = OneDatabase { url, dies_at: Some(point) };
    let world = World::new(&bench).await;
    world.submit("1.0.0").await;
    world.run(Gate::Static, Outcome::Pass).await;
}
