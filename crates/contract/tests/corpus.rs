//! B-07 on a corpus: each folder of `corpus/` is laid over `corpus/base` and must give exactly the problems of the file
//! beside it. `BLESS=1` rewrites those files; read the difference before committing it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ostiary_contract::{Bundle, Code, Files};

/// In an overlay: the file of the base is not there.
const DELETE: &[u8] = b"<<delete>>\n";

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

#[expect(clippy::disallowed_methods, reason = "a switch of the developer's, for tests only")]
fn bless() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

fn overlay(directory: &Path, inside: &str, files: &mut Files) {
    for entry in fs::read_dir(directory).expect("readable") {
        let entry = entry.expect("readable");
        let name = entry.file_name().into_string().expect("UTF-8");
        let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
        if entry.file_type().expect("known").is_dir() {
            overlay(&entry.path(), &path, files);
            continue;
        }
        let bytes = fs::read(entry.path()).expect("readable");
        if bytes == DELETE {
            files.remove(&path);
        } else {
            files.insert(path, Bytes::from(bytes));
        }
    }
}

fn base() -> Files {
    let mut files = Files::new();
    overlay(&corpus().join("base"), "", &mut files);
    files
}

#[test]
fn the_base_of_the_corpus_is_without_problem() {
    assert!(Bundle::load(&base()).is_ok_and(|bundle| bundle.card.is_some()));
}

#[test]
fn every_bad_bundle_gives_all_its_problems() {
    let mut wrong = String::new();
    let mut seen = 0;
    for entry in fs::read_dir(corpus()).expect("the corpus") {
        let path = entry.expect("readable").path();
        if !path.is_dir() || path.ends_with("base") {
            continue;
        }
        seen += 1;
        let mut files = base();
        overlay(&path, "", &mut files);
        let found = match Bundle::load(&files) {
            Ok(_) => "no problem\n".to_owned(),
            Err(problems) => format!("{problems}\n"),
        };
        let expected = path.with_extension("expected");
        if fs::read_to_string(&expected).ok().as_deref() == Some(found.as_str()) {
            continue;
        }
        if bless() {
            fs::write(&expected, &found).expect("written");
        } else {
            writeln!(wrong, "=== {}\n{found}", path.display()).expect("to a string");
        }
    }
    assert!(seen > 30, "only {seen} folders");
    assert!(wrong.is_empty(), "other problems than expected (BLESS=1 rewrites):\n{wrong}");
}

#[test]
fn no_expectation_of_the_corpus_is_empty() {
    for entry in fs::read_dir(corpus()).expect("the corpus") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|e| e == "expected") {
            let text = fs::read_to_string(&path).expect("readable");
            assert!(text.contains(": ") && !text.contains("no problem"), "{}", path.display());
            assert!(path.with_extension("").is_dir(), "{} belongs to no folder", path.display());
        }
    }
}

#[track_caller]
fn codes(files: &Files) -> Vec<(Code, String, Option<u32>)> {
    let problems = Bundle::load(files).expect_err("refused").0;
    problems.into_iter().map(|p| (p.code, p.file, p.line)).collect()
}

#[test]
fn an_oversized_file_is_refused_before_it_is_read() {
    let mut files = base();
    files.insert("skills.yaml".into(), Bytes::from(vec![b'#'; (1 << 20) + 1]));
    assert_eq!(codes(&files)[0], (Code::FileTooLarge, "skills.yaml".into(), None));
    let mut files = base();
    files.insert("fixtures/big.json".into(), Bytes::from(vec![b' '; (4 << 20) + 1]));
    assert_eq!(codes(&files), [(Code::FileTooLarge, "fixtures/big.json".into(), None)]);
}

#[test]
fn a_file_with_too_many_values_is_refused() {
    let mut files = base();
    files.insert("drift.yaml".into(), Bytes::from(format!("a: [{}]", "1,".repeat(60_000))));
    assert_eq!(codes(&files), [(Code::TooManyNodes, "drift.yaml".into(), Some(1))]);
}

#[test]
fn a_secret_is_refused_in_every_kind_of_file_and_never_shown() {
    let token = ["gh", "p_", "Zk3vQ9xT1mB7rY5wN2cH8dL4pJ6sF0aGuEoI"].concat();
    for (path, text) in [
        ("fixtures/request.json", format!("{{\n \"a\": \"{token}\"\n}}")),
        ("pacts/x.json", format!("{{\n \"a\": \"{token}\"\n}}")),
        ("temporal.yaml", format!("temporal_contract:\n  acknowledge_within_ms: {token}\n")),
        ("cases/negative/x.yaml", format!("case: x\nwhen: {{tool: {token}}}\nexpect: {{result: {token}}}\n")),
        ("agent-card.json", format!("{{\n\"x\": \"{token}\", \"{token}\": 1, \"{token}\": 1}}")),
    ] {
        let mut files = base();
        files.insert(path.into(), Bytes::from(text));
        let problems = Bundle::load(&files).expect_err("refused");
        let secrets: Vec<_> = problems.0.iter().filter(|p| p.code == Code::SecretFound).collect();
        assert!(secrets.iter().any(|p| p.file == path && p.line == Some(2)), "{problems}");
        assert!(!problems.to_string().contains(&token), "{problems}");
    }
}
