//! The file set: portable paths, bounds, and the digest over all of it.

use std::collections::BTreeMap;

use ostiary_canon::{Digest, json};
use serde_json::{Map, Value};

use super::Files;
use crate::problem::{Code, Problem};

/// Most files of a bundle: ten times a large one of today.
pub const FILES: usize = 4_000;
/// Most bytes of one file: what strict JSON reads of a document.
pub const FILE_BYTES: usize = 4 << 20;
/// Most bytes of all files.
pub const TOTAL_BYTES: usize = 64 << 20;

const PATH_BYTES: usize = 255;
const PATH_LEVELS: usize = 8;

/// The digest over all files.
pub(super) fn digest(files: &Files) -> Digest {
    let members = files.iter().map(|(path, bytes)| (path.clone(), Value::String(Digest::of(bytes).to_string())));
    let object = Value::Object(members.collect::<Map<_, _>>());
    json::digest(&object).expect("an object of ASCII strings under valid UTF-8 keys has a canonical form")
}

/// Bounds on the whole set; when one is broken, nothing is read.
pub(super) fn bounds(files: &Files) -> Vec<Problem> {
    let mut problems = Vec::new();
    if files.len() > FILES {
        let message = format!("the bundle has {} files, more than the {FILES} allowed", files.len());
        problems.push(Problem::new("", Code::TooManyFiles, message));
    }
    let total: usize = files.values().map(bytes::Bytes::len).sum();
    if total > TOTAL_BYTES {
        let message = format!("the files have {total} bytes together, more than the {TOTAL_BYTES} allowed");
        problems.push(Problem::new("", Code::BundleTooLarge, message));
    }
    problems
}

/// Paths that are one file on systems which do not tell capitals apart.
pub(super) fn same_but_for_case(files: &Files) -> Vec<Problem> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    let mut problems = Vec::new();
    for path in files.keys() {
        if let Some(other) = seen.insert(path.to_lowercase(), path) {
            let message = format!("the path differs from `{other}` in capitals only");
            problems.push(Problem::new(path, Code::DuplicateFile, message).hint("rename one of them"));
        }
    }
    problems
}

/// Why one file is not read.
pub(super) fn refused(path: &str, bytes: &[u8]) -> Option<Problem> {
    path_problem(path).or_else(|| {
        let message = format!("the file has {} bytes, more than the {FILE_BYTES} allowed", bytes.len());
        (bytes.len() > FILE_BYTES).then(|| Problem::new(path, Code::FileTooLarge, message))
    })
}

/// What is wrong with a path inside a bundle.
pub(crate) fn path_problem(path: &str) -> Option<Problem> {
    let refuse = |why: &str| {
        let message = format!("the path {why}");
        let shown = crate::yaml::clip(&path.escape_debug().to_string());
        Some(Problem::new(&shown, Code::PathRefused, message).hint("use plain relative paths inside the bundle"))
    };
    if path.is_empty() || path.len() > PATH_BYTES {
        return refuse("is empty or longer than 255 bytes");
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return refuse("is absolute");
    }
    if path.chars().any(|c| c.is_control() || matches!(c, '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|')) {
        return refuse("holds a character that not every system can write");
    }
    let parts: Vec<&str> = path.split('/').collect();
    if parts.contains(&"..") {
        return refuse("leaves the bundle");
    }
    if parts.iter().any(|p| p.is_empty() || *p == ".") || parts.len() > PATH_LEVELS {
        return refuse("has empty, `.` or too many levels");
    }
    if parts.iter().any(|p| p.starts_with('.')) {
        let problem = Problem::new(path, Code::HiddenFile, "hidden files are no part of a bundle");
        return Some(problem.hint("remove the file"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_hide_or_are_not_portable_are_refused() {
        let code = |path: &str| path_problem(path).map(|p| p.code);
        for path in ["../a", "a/../b", "/etc/passwd", "C:/a", "a\\b", "a//b", "./a", "", "a\nb", "a/b/c/d/e/f/g/h/i"] {
            assert_eq!(code(path), Some(Code::PathRefused), "{path}");
        }
        assert_eq!(code(".git/config"), Some(Code::HiddenFile));
        assert_eq!(code("cases/.DS_Store"), Some(Code::HiddenFile));
        assert_eq!(code("cases/positive/a.yaml"), None);
    }
}
