//! Opening the file: one process, write-ahead log, all migrations applied.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ostiary_domain::ports::StorePorts;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

/// Concurrent readers: the write-ahead log lets them read while one writes, and more than a few only queue at the disk.
const READERS: u32 = 4;
/// How long a statement waits for another connection of ours before it is reported as unavailable.
const BUSY: Duration = Duration::from_secs(10);

/// The registry in one SQLite file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pub(crate) write: SqlitePool,
    pub(crate) read: SqlitePool,
    pub(crate) ports: StorePorts,
    lock: Arc<Lock>,
}

/// Why the file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("`{path}` is in use by {holder}: one process owns the file; stop the other one, or name another file")]
    InUse {
        /// The database file.
        path: PathBuf,
        /// Who, as far as known.
        holder: String,
    },
    /// The lock file cannot be made.
    #[error("failed to lock `{path}`")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no usable database.
    #[error("failed to open `{path}`")]
    Open {
        /// The database file.
        path: PathBuf,
        /// Why.
        #[source]
        source: sqlx::Error,
    },
    /// The tables cannot be brought up to date.
    #[error("failed to migrate `{path}`")]
    Migrate {
        /// The database file.
        path: PathBuf,
        /// Why.
        #[source]
        source: sqlx::migrate::MigrateError,
    },
}

/// The lock file, locked for as long as this lives; the system unlocks it when the process dies, however it dies.
#[derive(Debug)]
struct Lock {
    _file: File,
}

// === impl SqliteStore ===

impl SqliteStore {
    /// Opens the file, makes it if it is not there, and brings its tables up to date.
    ///
    /// # Errors
    /// When another process has it, or it is no usable database.
    pub async fn open(path: &Path, ports: StorePorts) -> Result<Self, OpenError> {
        let lock = Arc::new(Lock::take(path)?);
        let opened = |source| OpenError::Open { path: path.to_owned(), source };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        let write = SqlitePoolOptions::new().max_connections(1).connect_with(options.clone()).await.map_err(opened)?;
        let migrated = sqlx::migrate!("../../migrations/sqlite").run(&write).await;
        migrated.map_err(|source| OpenError::Migrate { path: path.to_owned(), source })?;
        let readers = SqlitePoolOptions::new().max_connections(READERS);
        let read = readers.connect_with(options.pragma("query_only", "ON")).await.map_err(opened)?;
        Ok(Self { write, read, ports, lock })
    }

    /// Closes all connections and unlocks the file, if this is the last handle to it.
    pub async fn close(self) {
        self.read.close().await;
        self.write.close().await;
        drop(self.lock);
    }
}

// === impl Lock ===

impl Lock {
    fn take(database: &Path) -> Result<Self, OpenError> {
        let mut path = database.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let failed = |source| OpenError::Lock { path: path.clone(), source };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).to_owned();
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).and_then(|()| write!(file, "process {}", std::process::id())).map_err(failed)?;
                Ok(Self { _file: file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(OpenError::InUse { path: database.to_owned(), holder: holder(&mut file) })
            }
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// Who wrote itself into the lock file.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match read {
        Ok(_) if !text.is_empty() => text,
        _ => "another process".to_owned(),
    }
}
