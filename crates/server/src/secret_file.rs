//! Files that only this server may read: its signing key and the first administrator's token.
//!
//! Made on first start with mode 0600, complete or not at all, and refused later when others could read them.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use ostiary_canon::dsse::{KeyError, SigningKey};
use zeroize::Zeroizing;

use crate::entropy::Entropy;

/// Why a secret file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// It cannot be read or written.
    #[error("failed to use `{}`", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others can read it.
    #[error("`{}` can be read by others (mode {mode:o}); run chmod 600 on it and replace what it holds", path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It holds something else.
    #[error("`{}` holds no signing key", path.display())]
    Key {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: KeyError,
    },
}

/// The signing key of `path`; a new one on first start.
///
/// # Errors
/// When the file cannot be read or written, is readable by others, or holds something else.
pub fn signing_key(path: &Path, entropy: &dyn Entropy) -> Result<SigningKey, SecretFileError> {
    let broken = |source| SecretFileError::Key { path: path.to_owned(), source };
    if let Some(pem) = read(path)? {
        return SigningKey::from_pkcs8_pem(&pem).map_err(broken);
    }
    let mut seed = Zeroizing::new([0; 32]);
    entropy.fill(&mut *seed);
    let key = SigningKey::from_seed(*seed);
    write(path, key.to_pkcs8_pem().map_err(broken)?.as_bytes())?;
    Ok(key)
}

/// The token of `path`; a new one on first start. The flag says whether it was made now.
///
/// # Errors
/// When the file cannot be read or written, or is readable by others.
pub fn token(path: &Path, entropy: &dyn Entropy) -> Result<(Zeroizing<String>, bool), SecretFileError> {
    if let Some(text) = read(path)? {
        return Ok((Zeroizing::new(text.trim().to_owned()), false));
    }
    let mut bytes = Zeroizing::new([0; 32]);
    entropy.fill(&mut *bytes);
    let text = Zeroizing::new(hex::encode(*bytes));
    write(path, text.as_bytes())?;
    Ok((text, true))
}

fn read(path: &Path) -> Result<Option<Zeroizing<String>>, SecretFileError> {
    let io = |source| SecretFileError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
        Ok(found) => refuse_exposed(path, &found)?,
    }
    fs::read_to_string(path).map(|text| Some(Zeroizing::new(text))).map_err(io)
}

/// Writes beside the target and renames, so that a crash leaves no half key.
fn write(path: &Path, bytes: &[u8]) -> Result<(), SecretFileError> {
    let io = |source| SecretFileError::Io { path: path.to_owned(), source };
    let partial = path.with_extension("partial");
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    let mut file = options.open(&partial).map_err(io)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io)?;
    fs::rename(&partial, path).map_err(io)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

#[cfg(unix)]
fn refuse_exposed(path: &Path, found: &fs::Metadata) -> Result<(), SecretFileError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(SecretFileError::Exposed { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn refuse_exposed(_: &Path, _: &fs::Metadata) -> Result<(), SecretFileError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SeededEntropy;

    #[test]
    fn key_is_made_once_and_found_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("signing-key.pem");
        let made = signing_key(&path, &SeededEntropy::new("a")).expect("made");
        let found = signing_key(&path, &SeededEntropy::new("b")).expect("found");
        assert_eq!(made.key_id(), found.key_id());
    }

    #[cfg(unix)]
    #[test]
    fn key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("signing-key.pem");
        signing_key(&path, &SeededEntropy::new("a")).expect("made");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("own file");
        let refused = signing_key(&path, &SeededEntropy::new("a"));
        assert!(matches!(refused, Err(SecretFileError::Exposed { mode: 0o640, .. })), "{refused:?}");
    }

    #[test]
    fn left_over_of_a_crash_is_no_key() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("signing-key.pem");
        fs::write(path.with_extension("partial"), "-----BEGIN").expect("written");
        assert!(signing_key(&path, &SeededEntropy::new("a")).is_ok());
    }

    #[test]
    fn file_that_is_no_key_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("signing-key.pem");
        write(&path, b"not a key").expect("written");
        assert!(matches!(signing_key(&path, &SeededEntropy::new("a")), Err(SecretFileError::Key { .. })));
        assert_eq!(fs::read(&path).expect("still there"), b"not a key");
    }
}
