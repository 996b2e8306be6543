//! Archives and documents that nobody vouches for: they load, or give problems, and never panic.

use std::{fs, path::Path};

use bytes::Bytes;
use ostiary_contract::{Bundle, Environment, Files};
use proptest::prelude::*;

fn read(folder: &Path, inside: &str, out: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder of the corpus") {
        let path = entry.expect("readable").path();
        let name = format!("{inside}{}", path.file_name().expect("a name").to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), out);
        } else {
            out.insert(name, Bytes::from(fs::read(&path).expect("readable")));
        }
    }
}

/// The base of the corpus as an archive.
fn archive() -> Vec<u8> {
    let mut files = Files::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/base"), "", &mut files);
    Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}")).to_tar()
}

proptest! {
    #[test]
    fn any_bytes_are_no_archive(bytes in prop::collection::vec(any::<u8>(), 1..1_200)) {
        prop_assert!(Bundle::from_tar(&bytes).is_err());
    }

    #[test]
    fn a_damaged_archive_loads_or_is_refused(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut bytes = archive();
        let n = at.index(bytes.len());
        if cut { bytes.truncate(n) } else { bytes[n] = byte }
        if let Err(problems) = Bundle::from_tar(&bytes) {
            prop_assert!(!problems.0.is_empty());
        }
    }

    #[test]
    fn any_text_in_any_file_gives_problems_or_loads(
        name in prop::sample::select(vec![
            "contract.yaml", "skills.yaml", "errors.yaml", "task-machine.yaml", "authorization.yaml", "coverage.yaml",
            "drift.yaml", "agent-card.json", "agent-card.snapshot.json", "tools.snapshot.json", "cases/any.case.yaml",
        ]),
        text in "([a-z_]{1,8}: ?|- |\\{|\\}|\\[|\\]|\"|,|\n {0,4}|[0-9]{1,3}|\\PC){0,60}",
    ) {
        let files: Files = [(name.to_owned(), Bytes::from(text.clone()))].into();
        if let Err(problems) = Bundle::load(&files) {
            prop_assert!(!problems.0.is_empty() && problems.0.iter().all(|p| !p.message.is_empty()));
        }
        let _ = Environment::parse("environment.yaml", text.as_bytes()).map_err(|p| assert!(!p.0.is_empty()));
    }
}
