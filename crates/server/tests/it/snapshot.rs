//! The index on disk: a start with it gives what a start without it gives, and one that is not ours gives nothing.
//!
//! Covers L-03, L-04 (a restart brings nothing back that was taken off the road).

use std::{fs, path::Path};

use jiff::SignedDuration;
use ostiary_admission::ViewScope;
use ostiary_canon::{Digest, Revision};
use ostiary_server::snapshot::FILE;

use crate::app::TestApp;

/// What routers are told, in one digest.
fn view(app: &TestApp) -> (Revision, Digest) {
    let frozen = app.app().index.freeze();
    (frozen.revision(), frozen.tree(&ViewScope::All).root())
}

/// Whether the index was filled from the file.
fn used(app: &TestApp) -> bool {
    app.app().keeper.age(app.now()).is_some()
}

/// Restarts with what `spoil` makes of the file: it must be left alone, and the view be what the database says.
async fn is_ignored(app: &mut TestApp, spoil: impl FnOnce(&Path)) {
    app.restart_after(spoil).await;
    assert!(!used(app), "the file was believed");
    let told = view(app);
    app.restart_from_database().await;
    assert_eq!(told, view(app));
}

#[tokio::test]
async fn a_restart_with_the_snapshot_gives_the_same_view_as_one_without() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    let before = view(&app);
    app.restart().await;
    assert!(used(&app));
    assert_eq!(view(&app), before);
    assert_eq!(app.reason(question.clone()).await, "ALLOWED");
    app.restart_from_database().await;
    assert!(!used(&app));
    assert_eq!(view(&app), before);
    assert_eq!(app.reason(question).await, "ALLOWED");
}

#[tokio::test]
async fn an_old_snapshot_brings_nothing_back_that_was_quarantined() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    let mut old = Vec::new();
    app.restart_after(|dir| old = fs::read(dir.join(FILE)).expect("a snapshot")).await;
    app.act("quarantine").await;
    let before = view(&app);
    // As after a crash: nothing was written since.
    app.restart_after(|dir| fs::write(dir.join(FILE), &old).expect("written")).await;
    assert!(used(&app));
    assert_eq!(view(&app), before);
    assert_eq!(app.reason(question).await, "QUARANTINED");
}

#[tokio::test]
async fn a_damaged_snapshot_is_ignored() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let at = |from_end: usize| {
        move |dir: &Path| {
            let mut bytes = fs::read(dir.join(FILE)).expect("a snapshot");
            let at = bytes.len() - from_end;
            bytes[at] ^= 1;
            fs::write(dir.join(FILE), bytes).expect("written");
        }
    };
    for from_end in [1, 40, 100] {
        is_ignored(&mut app, at(from_end)).await;
    }
    let cut = |keep: fn(usize) -> usize| {
        move |dir: &Path| {
            let bytes = fs::read(dir.join(FILE)).expect("a snapshot");
            fs::write(dir.join(FILE), &bytes[..keep(bytes.len())]).expect("written");
        }
    };
    for keep in [|_| 0, |_| 100, |_| 8 << 10, |len| len - 1] {
        is_ignored(&mut app, cut(keep)).await;
    }
}

#[tokio::test]
async fn a_frame_of_another_revision_is_ignored() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let mut old = Vec::new();
    app.restart_after(|dir| old = fs::read(dir.join(FILE)).expect("a snapshot")).await;
    app.act("quarantine").await;
    // The claim is today's and good; the entries are those of when it was ACTIVE.
    is_ignored(&mut app, |dir| {
        let new = fs::read(dir.join(FILE)).expect("a snapshot");
        let mixed = [&new[..8 << 10], &old[8 << 10..]].concat();
        fs::write(dir.join(FILE), mixed).expect("written");
    })
    .await;
}

#[tokio::test]
async fn somebody_elses_snapshot_is_ignored() {
    let mut other = TestApp::start().await;
    other.activate().await;
    let mut foreign = Vec::new();
    other.restart_after(|dir| foreign = fs::read(dir.join(FILE)).expect("a snapshot")).await;
    let mut app = TestApp::start().await;
    app.activate().await;
    // These servers draw the same key; the next one does not: signed by nobody that it trusts.
    app.advance(SignedDuration::from_secs(1)).await;
    app.restart_after(|dir| fs::remove_file(dir.join("signing-key.pem")).expect("removed")).await;
    assert!(!used(&app), "made under another key");
    is_ignored(&mut app, |dir| fs::write(dir.join(FILE), &foreign).expect("written")).await;
}

#[tokio::test]
async fn a_snapshot_beside_a_restored_database_is_ignored() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let database = |dir: &Path| dir.join("ostiary.db");
    let mut backup = Vec::new();
    app.restart_after(|dir| backup = fs::read(database(dir)).expect("a database")).await;
    app.act("quarantine").await;
    let mut newer = Vec::new();
    let restore = |dir: &Path| {
        newer = fs::read(dir.join(FILE)).expect("a snapshot");
        fs::write(database(dir), &backup).expect("written");
    };
    // The database knows less than the snapshot.
    is_ignored(&mut app, restore).await;
    // It goes on otherwise, to the snapshot's revision: the same number, another history.
    app.act("deprecate").await;
    is_ignored(&mut app, |dir| fs::write(dir.join(FILE), &newer).expect("written")).await;
}
