//! Reads a bundle's directory into memory: regular files only, bounded, nothing followed that leads out.

use std::{
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use bytes::Bytes;
use ostiary_contract::{
    Code, Files, Problem, Problems,
    bundle::{FILE_BYTES, FILES, TOTAL_BYTES},
};

/// Directories below the root; the contract's own rule on paths is stricter, this only bounds the walk.
const LEVELS: usize = 16;

/// Reads all files below `root`. Names that a bundle may not hold are kept, so that loading reports them all.
///
/// # Errors
/// Links, devices, unreadable entries and broken bounds, each with its path inside the bundle.
pub fn read(root: &Path) -> Result<Files, Problems> {
    let mut walk = Walk { files: Files::new(), total: 0, problems: Vec::new() };
    match fs::metadata(root) {
        Ok(meta) if meta.is_dir() => walk.directory(root, "", 0),
        Ok(_) => walk.problem("", Code::NotRegularFile, "the bundle is no directory", "name the bundle's directory"),
        Err(error) => {
            let message = format!("the directory `{}` cannot be read: {error}", root.display());
            walk.problem("", Code::Unreadable, &message, "name the bundle's directory");
        }
    }
    Problems(walk.problems).into_result().map(|()| walk.files)
}

struct Walk {
    files: Files,
    total: usize,
    problems: Vec<Problem>,
}

// === impl Walk ===

impl Walk {
    fn problem(&mut self, path: &str, code: Code, message: &str, hint: &str) {
        self.problems.push(Problem::new(path, code, message).hint(hint));
    }

    fn full(&self) -> bool {
        self.files.len() > FILES || self.total > TOTAL_BYTES
    }

    fn directory(&mut self, directory: &Path, inside: &str, level: usize) {
        if level > LEVELS {
            return self.problem(inside, Code::PathRefused, "directories are nested too deep", "flatten the bundle");
        }
        let entries = match fs::read_dir(directory).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("the directory cannot be read: {error}");
                return self.problem(inside, Code::Unreadable, &message, "check its permissions");
            }
        };
        for entry in entries {
            if self.full() {
                let message = format!("more than {FILES} files or {TOTAL_BYTES} bytes");
                return self.problem("", Code::TooManyFiles, &message, "is this the bundle's own directory?");
            }
            let Ok(name) = entry.file_name().into_string() else {
                self.problem(inside, Code::PathRefused, "a file name is not UTF-8", "rename the file");
                continue;
            };
            let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            self.entry(&entry.path(), &path, level);
        }
    }

    fn entry(&mut self, at: &Path, path: &str, level: usize) {
        // Not `metadata`: a link is looked at, never through.
        match fs::symlink_metadata(at) {
            Ok(meta) if meta.is_symlink() => {
                self.problem(path, Code::SymbolicLink, "the file is a symbolic link", "copy the file it points to");
            }
            Ok(meta) if meta.is_dir() => self.directory(at, path, level + 1),
            Ok(meta) if meta.is_file() => self.file(at, path),
            Ok(_) => {
                self.problem(
                    path,
                    Code::NotRegularFile,
                    "neither file nor directory",
                    "a bundle holds regular files only",
                );
            }
            Err(error) => {
                self.problem(path, Code::Unreadable, &format!("cannot be read: {error}"), "check its permissions");
            }
        }
    }

    fn file(&mut self, at: &Path, path: &str) {
        let mut bytes = Vec::new();
        let bound = FILE_BYTES as u64 + 1;
        match File::open(at).and_then(|file| file.take(bound).read_to_end(&mut bytes)) {
            Err(error) => {
                self.problem(path, Code::Unreadable, &format!("cannot be read: {error}"), "check its permissions");
            }
            Ok(_) if bytes.len() > FILE_BYTES => {
                let message = format!("the file has more than the {FILE_BYTES} bytes allowed");
                self.problem(path, Code::FileTooLarge, &message, "keep large data outside the bundle");
            }
            Ok(_) => {
                self.total += bytes.len();
                self.files.insert(path.to_owned(), Bytes::from(bytes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(found: Result<Files, Problems>) -> Vec<(Code, String)> {
        found.err().unwrap_or_default().0.into_iter().map(|p| (p.code, p.file)).collect()
    }

    #[test]
    fn regular_files_are_read_with_paths_inside_the_bundle() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(dir.path().join("cases/positive")).expect("made");
        fs::write(dir.path().join("cases/positive/a.yaml"), "case: a\n").expect("written");
        fs::write(dir.path().join(".hidden"), "x").expect("written");
        let files = read(dir.path()).expect("readable");
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(paths, [".hidden", "cases/positive/a.yaml"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_times_do_not_change_the_digest() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("contract.yaml");
        fs::write(&path, "x").expect("written");
        let before = ostiary_contract::Bundle::digest_of(&read(dir.path()).expect("readable"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("allowed");
        let file = File::options().write(true).open(&path).expect("open");
        file.set_modified(std::time::UNIX_EPOCH).expect("allowed");
        assert_eq!(ostiary_contract::Bundle::digest_of(&read(dir.path()).expect("readable")), before);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_refused_and_never_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let outside = tempfile::tempdir().expect("another");
        fs::write(outside.path().join("secret"), "x").expect("written");
        std::os::unix::fs::symlink(outside.path().join("secret"), dir.path().join("file.yaml")).expect("linked");
        std::os::unix::fs::symlink(outside.path(), dir.path().join("schemas")).expect("linked");
        std::os::unix::net::UnixListener::bind(dir.path().join("socket")).expect("bound");
        let expect = [
            (Code::SymbolicLink, "file.yaml".to_owned()),
            (Code::SymbolicLink, "schemas".to_owned()),
            (Code::NotRegularFile, "socket".to_owned()),
        ];
        assert_eq!(codes(read(dir.path())), expect);
    }

    #[test]
    fn a_file_beyond_the_bound_and_a_missing_directory_are_reported() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = File::create(dir.path().join("big.json")).expect("made");
        file.set_len(FILE_BYTES as u64 + 1).expect("sparse");
        assert_eq!(codes(read(dir.path())), [(Code::FileTooLarge, "big.json".to_owned())]);
        assert_eq!(codes(read(&dir.path().join("none"))), [(Code::Unreadable, String::new())]);
    }
}
