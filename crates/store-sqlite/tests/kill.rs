//! A process that is killed, not one that unwinds: at every failpoint that the store passes.

use std::{
    path::{Path, PathBuf},
    process::Command,
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
use ostiary_store_sqlite::SqliteStore;
use tempfile::TempDir;

/// Which file the child opens, and where it dies.
const FILE: &str = "OSTIARY_TEST_FILE";
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

/// Ends the process without a word: nothing is dropped, closed or flushed.
#[derive(Debug)]
struct Kill(Failpoint);

impl Failpoints for Kill {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        if point == self.0 { std::process::abort() } else { Ok(()) }
    }
}

/// A file, opened by a process that dies at a point, or by one that does not.
struct OneFile {
    path: PathBuf,
    dies_at: Option<Failpoint>,
}

impl Bench for OneFile {
    fn open(&self, ports: StorePorts) -> BoxFuture<'_, Arc<dyn Store>> {
        let ports = match self.dies_at {
            Some(point) => ports.with_failpoints(Arc::new(Kill(point))),
            None => ports,
        };
        Box::pin(async move {
            Arc::new(SqliteStore::open(&self.path, ports).await.expect("the file opens")) as Arc<dyn Store>
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
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("ostiary.db");
        assert!(!child(&path, point).success(), "{point}: the child outlived its failpoint");

        let bench = OneFile { path, dies_at: None };
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

fn child(path: &Path, point: Failpoint) -> std::process::ExitStatus {
    let mut child = Command::new(std::env::current_exe().expect("this test is a program"));
    child.args(["--exact", "the_child_that_is_killed", "--ignored"]);
    child.env(FILE, path).env(POINT, point.as_str());
    let output = child.output().expect("the child starts");
    output.status
}

#[tokio::test]
#[ignore = "a process of its own, started by the test above"]
#[expect(clippy::disallowed_methods, reason = "how the parent tells its child where to die")]
async fn the_child_that_is_killed() {
    let path = PathBuf::from(std::env::var_os(FILE).expect("started by the test above"));
    let point = std::env::var(POINT).expect("started by the test above").parse().expect("a failpoint");
    let bench = OneFile { path, dies_at: Some(point) };
    let world = World::new(&bench).await;
    world.submit("1.0.0").await;
    world.run(Gate::Static, Outcome::Pass).await;
}
