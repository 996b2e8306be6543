//! Leaves a record of what a unit test showed, for the table of promises (`docs/promises.md`): the check that passed an
//! honest recording, and the change of it that was caught.

use std::{fs, path::Path};

use ostiary_canon::Digest;
use ostiary_record::ReasonCode;
use serde_json::{Value, json};

use crate::check::Check;

/// The check passed.
pub(super) fn passed(check: &dyn Check) {
    keep(&json!([{"check": check.spec().id, "verdict": "PASS"}]));
}

/// The check caught what the running test is named for.
pub(super) fn caught(check: &dyn Check, reason: ReasonCode) {
    let thread = std::thread::current();
    let test = thread.name().and_then(|name| name.rsplit("::").next()).unwrap_or("unnamed").replace('_', " ");
    let (id, layer) = (check.spec().id, check.spec().layer);
    keep(&json!([{"check": id, "verdict": "FAIL", "layer": layer, "code": reason, "lie": test}]));
}

/// One file a record, named by its content: tests run as many processes, and say the same each time.
fn keep(record: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/pairs/unit");
    let text = record.to_string();
    let path = folder.join(format!("{}.json", Digest::of(text.as_bytes()).hex()));
    if path.is_file() {
        return;
    }
    fs::create_dir_all(&folder).expect("the folder of pairs can be made");
    let draft = path.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path)).expect("a record of a pair can be written");
}
