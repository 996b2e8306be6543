//! Bundles as tar archives: the same bundle gives the same bytes, and no archive reaches outside or grows beyond bounds.

use std::io::Read as _;

use bytes::Bytes;
use tar::{Archive, Builder, Entry, EntryType, Header};

use super::{
    Files,
    files::{self, FILE_BYTES, FILES, TOTAL_BYTES},
};
use crate::problem::{Code, Problem, Problems};

/// The files as an archive: sorted, owned by nobody, dated 1970.
pub(super) fn pack(files: &Files) -> Vec<u8> {
    const IN_MEMORY: &str = "writing to memory does not fail";
    let mut builder = Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, path, bytes.as_ref()).expect(IN_MEMORY);
    }
    builder.into_inner().expect(IN_MEMORY)
}

/// The files of an archive. Directories are passed over; everything else that is no regular file is refused.
pub(super) fn unpack(archive: &[u8]) -> Result<Files, Problems> {
    let mut out = Unpacked { files: Files::new(), total: 0, problems: Vec::new() };
    // Archives have headers and padding: an archive at the bound of files and bytes is still below this.
    if archive.len() > TOTAL_BYTES + FILES * 2048 {
        out.problems.push(Problem::new("", Code::BundleTooLarge, "the archive is larger than any bundle may be"));
    } else if let Err(error) = out.read(archive) {
        let problem = Problem::new("", Code::ArchiveMalformed, format!("the archive cannot be read: {error}"));
        out.problems.push(problem.hint("pack the bundle again; compression is not supported"));
    }
    if out.files.is_empty() && out.problems.is_empty() {
        out.problems.push(Problem::new("", Code::ArchiveMalformed, "the archive holds no file"));
    }
    Problems(out.problems).into_result().map(|()| out.files)
}

struct Unpacked {
    files: Files,
    total: usize,
    problems: Vec<Problem>,
}

// === impl Unpacked ===

impl Unpacked {
    fn read(&mut self, archive: &[u8]) -> std::io::Result<()> {
        for (n, entry) in Archive::new(archive).entries()?.enumerate() {
            if n >= FILES * 2 {
                self.problems.push(Problem::new("", Code::TooManyFiles, "the archive has too many entries"));
                return Ok(());
            }
            if !self.entry(entry?)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes one entry; `false` when a bound is hit and nothing more is read.
    fn entry(&mut self, mut entry: Entry<'_, &[u8]>) -> std::io::Result<bool> {
        let raw = entry.path_bytes().into_owned();
        let Ok(path) = String::from_utf8(raw) else {
            self.problems.push(Problem::new("", Code::NotUtf8, "an entry's path is not UTF-8"));
            return Ok(true);
        };
        let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            let inner = path.trim_end_matches('/');
            if !inner.is_empty() && inner != "." {
                self.problems.extend(files::path_problem(inner));
            }
            return Ok(true);
        }
        if let Some(problem) = refused(&path, kind).or_else(|| files::path_problem(&path)) {
            self.problems.push(problem);
            return Ok(true);
        }
        if self.files.len() >= FILES {
            self.problems.push(Problem::new("", Code::TooManyFiles, format!("more than {FILES} files")));
            return Ok(false);
        }
        // The size in the header may lie; what is read counts.
        let mut bytes = Vec::new();
        entry.by_ref().take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        self.total += bytes.len();
        if bytes.len() > FILE_BYTES {
            self.problems.push(Problem::new(&path, Code::FileTooLarge, format!("more than {FILE_BYTES} bytes")));
        } else if self.total > TOTAL_BYTES {
            self.problems.push(Problem::new("", Code::BundleTooLarge, format!("more than {TOTAL_BYTES} bytes")));
            return Ok(false);
        } else if (bytes.len() as u64) < entry.header().size()? {
            let problem = Problem::new(&path, Code::ArchiveMalformed, "the archive ends inside this file");
            self.problems.push(problem.hint("transfer the archive again"));
        } else if self.files.insert(path.clone(), Bytes::from(bytes)).is_some() {
            self.problems.push(Problem::new(&path, Code::DuplicateFile, "the file stands twice in the archive"));
        }
        Ok(true)
    }
}

fn refused(path: &str, kind: EntryType) -> Option<Problem> {
    let (code, what) = match kind {
        EntryType::Regular | EntryType::Continuous => return None,
        EntryType::Symlink => (Code::SymbolicLink, "a symbolic link"),
        EntryType::Link => (Code::HardLink, "a hard link"),
        _ => (Code::NotRegularFile, "neither file nor directory"),
    };
    let shown = crate::yaml::clip(&path.escape_debug().to_string());
    Some(Problem::new(&shown, code, format!("the entry is {what}")).hint("a bundle holds regular files only"))
}
