//! What a router is after it was killed, with and without its disk.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use ostiary_admission::{Index, State, ViewScope, wire::Sent};
use ostiary_canon::{
    Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_router::{DecisionReason, Downstream, RelayedHead, Router, RouterConfig};

use crate::plane::{PATIENCE, Plane, query, until};

fn config(plane: &Plane, state: &Path) -> RouterConfig {
    RouterConfig { state_dir: Some(state.to_owned()), ..plane.config() }
}

/// A router that died with a copy on disk, and a control plane that cannot be reached.
async fn died(plane: &Plane, state: &Path) {
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router_with(config(plane, state)).await;
    until("the copy is on disk", || state.join("all.copy").exists()).await;
    plane.cut();
    router.stop().await;
}

async fn started(config: RouterConfig, plane: &Plane) -> Router {
    Router::connect_with(config, plane.ports()).await.unwrap()
}

fn reason(router: &Router) -> DecisionReason {
    router.check(&query("acme/planner", "1.0.0")).reason
}

#[tokio::test(flavor = "multi_thread")]
async fn the_copy_on_disk_serves_while_its_lease_lives() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    plane.time.advance(10);
    let router = started(config(&plane, state.path()), &plane).await;
    assert_eq!(reason(&router), DecisionReason::Allowed);
    plane.time.advance(5);
    assert_eq!(reason(&router), DecisionReason::ViewStale);
}

/// A router that followed some steps after its snapshot, and was stopped; the copy's bytes before and after the steps.
async fn followed(plane: &Plane, state: &Path) -> (Vec<u8>, Vec<u8>) {
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router_with(config(plane, state)).await;
    until("the copy is on disk", || state.join("all.copy").exists()).await;
    let before = fs::read(state.join("all.copy")).unwrap();
    plane.set("acme/planner", "1.0.0", State::Quarantined);
    plane.set("acme/planner", "2.0.0", State::Active);
    let raised = plane.set("acme/planner", "1.0.0", State::Active);
    assert!(router.reached("acme", raised, PATIENCE).await);
    until("it is acknowledged", || plane.has_applied(raised)).await;
    plane.cut();
    router.stop().await;
    (before, fs::read(state.join("all.copy")).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_followed_steps_serves_from_disk() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    followed(&plane, state.path()).await;
    plane.time.advance(10);
    let router = started(config(&plane, state.path()), &plane).await;
    assert_eq!(reason(&router), DecisionReason::Allowed);
    plane.time.advance(5);
    assert_eq!(reason(&router), DecisionReason::ViewStale);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_ends_before_what_was_verified_is_not_served() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    let (before, after) = followed(&plane, state.path()).await;
    assert!(before.len() < after.len() && after.starts_with(&before), "steps are added at the end");
    fs::write(state.path().join("all.copy"), before).unwrap();
    let router = started(config(&plane, state.path()), &plane).await;
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    plane.mend();
    until("it is in step", || reason(&router) == DecisionReason::Allowed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_copy_on_disk_denies_and_is_resumed_from() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    plane.time.advance(3_600);
    let router = started(config(&plane, state.path()), &plane).await;
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    plane.mend();
    until("it is in step", || reason(&router) == DecisionReason::Allowed).await;
    assert!(router.metrics().contains("ostiary_router_snapshots_total 0"), "the disk's copy went on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_another_key_is_not_believed() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    let mut config = config(&plane, state.path());
    config.trust = Keyring::trusting([SigningKey::from_seed([9; 32]).verifying_key()]);
    let router = started(config, &plane).await;
    assert_eq!(reason(&router), DecisionReason::ViewStale);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_or_changed_copy_is_not_believed_and_the_floor_stays() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    let copy = fs::read(state.path().join("all.copy")).unwrap();
    let mut changed = copy.clone();
    *changed.last_mut().unwrap() ^= 1;
    for broken in [&copy[..copy.len() / 2], &copy[..20], &[], &changed] {
        fs::write(state.path().join("all.copy"), broken).unwrap();
        let router = started(config(&plane, state.path()), &plane).await;
        assert_eq!(reason(&router), DecisionReason::ViewStale, "{} bytes", broken.len());
        router.stop().await;
    }
    plane.mend();
    let router = started(config(&plane, state.path()), &plane).await;
    until("a snapshot repairs it", || reason(&router) == DecisionReason::Allowed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_across_a_restart_is_refused_also_without_a_readable_copy() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router_with(config(&plane, state.path())).await;
    let lowered = plane.set("acme/planner", "1.0.0", State::Quarantined);
    assert!(router.reached("acme", lowered, PATIENCE).await);
    until("the floor is on disk", || {
        fs::read_to_string(state.path().join("all.state.json"))
            .is_ok_and(|text| text.contains(&format!("\"revision\":{lowered}")))
    })
    .await;
    router.stop().await;
    fs::remove_file(state.path().join("all.copy")).unwrap();
    // A control plane that has not seen the quarantine, with the same key.
    let older = Plane::start().await;
    older.set("acme/planner", "1.0.0", State::Active);
    let router = started(config(&older, state.path()), &older).await;
    until("it refused the older head", || router.metrics().contains("ostiary_router_faults_total{fault=\"older\"} 1"))
        .await;
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    // The honest twin: without a floor the same control plane is believed.
    let fresh = tempfile::tempdir().unwrap();
    let router = older.router_with(config(&older, fresh.path())).await;
    assert_eq!(reason(&router), DecisionReason::Allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_an_acknowledgement_it_does_not_go_back_behind_it() {
    for round in 0..10 {
        let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
        plane.set("acme/planner", "1.0.0", State::Active);
        let router = plane.router_with(config(&plane, state.path())).await;
        until("the copy is on disk", || state.path().join("all.copy").exists()).await;
        let lowered = plane.set("acme/planner", "1.0.0", State::Quarantined);
        until("it is acknowledged", || plane.hub.proof(lowered).applied > 0).await;
        // The files as they are at the moment of the acknowledgement, whatever is still being done.
        let frozen = tempfile::tempdir().unwrap();
        for file in ["all.copy", "all.state.json"] {
            fs::copy(state.path().join(file), frozen.path().join(file)).unwrap();
        }
        plane.cut();
        let again = started(config(&plane, frozen.path()), &plane).await;
        assert!(!again.check(&query("acme/planner", "1.0.0")).allows(), "round {round}");
        router.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_never_claims_more_than_was_applied() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    let router = plane.router_with(config(&plane, state.path())).await;
    for round in 0..20 {
        let raised = plane.set("acme/planner", &format!("1.0.{round}"), State::Active);
        assert!(router.reached("acme", raised, PATIENCE).await);
        let text = fs::read_to_string(state.path().join("all.state.json")).unwrap();
        let floor: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(floor["floor"]["revision"].as_u64().unwrap() <= router.status().scopes[0].applied.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_wakes_with_an_old_clock_does_not_believe_its_disk() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    plane.time.advance(3_600);
    plane.time.step_wall(-7_200);
    let router = started(config(&plane, state.path()), &plane).await;
    assert_eq!(reason(&router), DecisionReason::ViewStale);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_cannot_be_written_costs_the_copy_and_not_the_service() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router_with(config(&plane, state.path())).await;
    until("the copy is on disk", || state.path().join("all.copy").exists()).await;
    fs::remove_dir_all(state.path()).unwrap();
    fs::write(state.path(), b"in the way").unwrap();
    let lowered = plane.set("acme/planner", "1.0.0", State::Quarantined);
    until("it is applied all the same", || reason(&router) == DecisionReason::Quarantined).await;
    let raised = plane.set("acme/planner", "2.0.0", State::Active);
    until("the failure shows", || !router.metrics().contains("ostiary_router_disk_errors_total 0")).await;
    until("steps go on", || router.status().scopes[0].applied >= raised).await;
    assert!(lowered < raised);
    fs::remove_file(state.path()).unwrap();
    fs::create_dir(state.path()).unwrap();
}

/// What whoever follows was told first.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Told {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Downstream for Told {
    fn replaced(&self, _: &ViewScope, index: &Arc<Index>, head: &RelayedHead) {
        self.note(format!("all {} versions at {}", index.len(), head.revision));
    }

    fn stepped(&self, _: &ViewScope, changes: &[Sent], to: Revision, _: Option<&RelayedHead>) {
        self.note(format!("{} changes to {to}", changes.len()));
    }

    fn confirmed(&self, _: &ViewScope, _: &RelayedHead) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_is_told_of_the_copy_on_disk_before_of_what_came_after() {
    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    died(&plane, state.path()).await;
    plane.set("acme/planner", "2.0.0", State::Active);
    plane.mend();
    let told = Arc::new(Told::default());
    let config = RouterConfig { downstream: Some(Arc::clone(&told) as _), ..config(&plane, state.path()) };
    let router = plane.router_with(config).await;
    assert!(router.reached("acme", Revision(2), PATIENCE).await);
    until("the follower is told", || told.0.lock().unwrap().len() > 1).await;
    assert_eq!(*told.0.lock().unwrap(), ["all 1 versions at 1", "1 changes to 2"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_disk_is_for_nobody_else_and_is_written_through_no_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let (plane, state) = (Plane::start().await, tempfile::tempdir().unwrap());
    let victim = state.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    for name in ["all.copy.new", "all.state.json.new"] {
        symlink(&victim, state.path().join(name)).unwrap();
    }
    died(&plane, state.path()).await;
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    for name in ["all.copy", "all.state.json"] {
        let found = fs::symlink_metadata(state.path().join(name)).unwrap();
        assert!(found.is_file());
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{name}");
    }
}
