//! The example of docs/routers.md: other people's routers are written against it.

use std::fmt::Write as _;

use jiff::SignedDuration;
use ostiary_admission::{
    Change, Enforcement, HEAD_PAYLOAD_TYPE, Head, HoldKind, Scope, State, Tree, VerifiedHead, ViewScope, wire,
};
use ostiary_canon::{
    Digest, Revision,
    dsse::{Keyring, SigningKey},
};

use crate::fixture::{self, hold, hours, now};

const PAGE: &str = include_str!("../../../../docs/routers.md");

fn entries() -> [Change; 3] {
    let mut active = fixture::record(State::Active);
    active.holds = [hold(HoldKind::RouteDisabled, Scope::Consumer("ledger".into()))].into();
    active.sunset = None;
    let mut quarantined = fixture::record(State::Quarantined);
    quarantined.version = "3.4.0".parse().unwrap();
    (quarantined.evidence, quarantined.sunset, quarantined.canary_weight) = (None, None, 0);
    let observe = Enforcement::Observe { until: now() + SignedDuration::from_millis(1_500) };
    [Change::Upsert(active), Change::Upsert(quarantined), Change::Enforce("acme".into(), observe)]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

fn example() -> String {
    let mut text = String::new();
    for change in entries() {
        let bytes = wire::entry_bytes(&change);
        _ = writeln!(text, "entry   {}", hex(&bytes));
        _ = writeln!(text, "leaf    {}", hex(wire::leaf(&bytes).as_bytes()));
        _ = writeln!(text, "shard   {}", change.shard().index());
    }
    let leaf = |change: &Change| (change.shard(), wire::leaf(&wire::entry_bytes(change)));
    let root = entries().iter().map(leaf).collect::<Tree>().root();
    _ = writeln!(text, "empty   {}", hex(Tree::new().root().as_bytes()));
    _ = writeln!(text, "root    {}", hex(root.as_bytes()));
    let key = SigningKey::from_seed([7; 32]);
    _ = writeln!(text, "key     {}", hex(key.verifying_key().as_bytes()));
    let envelope = key.sign(HEAD_PAYLOAD_TYPE, head(root).payload());
    _ = writeln!(text, "payload {}", String::from_utf8(envelope.payload.clone()).unwrap());
    _ = writeln!(text, "sig     {}", hex(&envelope.signatures[0].sig));
    text
}

fn head(root: Digest) -> Head {
    Head {
        scope: ViewScope::All,
        revision: Revision(7),
        root,
        entries: 3,
        lease_until: now() + hours(1),
        issued_at: now(),
    }
}

/// The text between the fences of the page's example.
fn printed() -> &'static str {
    let (_, rest) = PAGE.split_once("```text\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_page_shows_what_is_computed() {
    #[expect(clippy::disallowed_methods, reason = "BLESS=1 writes the page, as everywhere")]
    if std::env::var("BLESS").is_ok() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/routers.md");
        std::fs::write(path, PAGE.replace(printed(), &example())).unwrap();
        return;
    }
    assert_eq!(
        printed(),
        example(),
        "run with BLESS=1 only if the wire form was meant to change: routers depend on it"
    );
}

#[test]
fn the_example_verifies() {
    let key = SigningKey::from_seed([7; 32]);
    let leaf = |change: &Change| (change.shard(), wire::leaf(&wire::entry_bytes(change)));
    let root = entries().iter().map(leaf).collect::<Tree>().root();
    let envelope = key.sign(HEAD_PAYLOAD_TYPE, head(root).payload()).to_json();
    let verified = VerifiedHead::read(envelope.as_bytes(), &Keyring::trusting([key.verifying_key()])).unwrap();
    assert_eq!(verified.head(), &head(root));
    for change in entries() {
        assert_eq!(wire::read_entry(&wire::entry_bytes(&change)), Ok(change));
    }
}
