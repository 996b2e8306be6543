//! The SQL observer: which rows of a candidate's tables came, changed and went between two looks.
//!
//! Looks by a connection of its own that can only read, in one transaction over all tables, and keeps keys and digests,
//! never contents. SQLite and PostgreSQL.

mod postgres;
mod snapshot;
mod sqlite;

use std::{collections::BTreeMap, time::Duration};

use ostiary_record::{
    Event, Tape,
    ports::{BoxFuture, CouldNotRun, Observer},
};

pub use self::snapshot::{Changes, Snapshot, TableState};
use super::observed::Marks;

/// What is watched.
#[derive(Clone, Debug)]
pub struct SqlOptions {
    /// `sqlite:PATH`, `sqlite://PATH` or `postgres://…`; the user needs no right but to read the tables.
    pub dsn: String,
    /// The tables.
    pub tables: Vec<WatchedTable>,
    /// Rows of a table that are looked at; a longer table is observed incompletely.
    pub rows: usize,
    /// Longest time for one look.
    pub within: Duration,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedTable {
    /// Its name: `drafts`, `planning.drafts`.
    pub name: String,
    /// The kind of effect that its rows are: `records`, `outbox`.
    pub effect: String,
}

/// Why there was no look.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The connection string names no database that is known.
    #[error("the connection string starts with neither `sqlite:` nor `postgres://`")]
    Scheme,
    /// No table is named.
    #[error("no table is named; name at least one")]
    NoTables,
    /// There is no such table, or the user may not see it.
    #[error("table `{0}` does not exist, or the user may not read it")]
    NoTable(String),
    /// The database said no.
    #[error("failed to read the database")]
    Database(#[from] sqlx::Error),
    /// It took too long.
    #[error("the look was not over within {0:?}")]
    Late(Duration),
}

/// Watches tables.
pub struct SqlObserver {
    options: SqlOptions,
    marks: Marks<std::sync::Arc<Snapshot>>,
}

/// Rows of a table that are looked at unless the caller says otherwise: seconds to read, and some 20 MB to keep.
pub const ROWS: usize = 100_000;
/// Longest time for one look unless the caller says otherwise.
pub const WITHIN: Duration = Duration::from_secs(30);

// === impl WatchedTable ===

impl WatchedTable {
    /// A table whose rows are `records`, or messages to be sent where it is named `outbox`.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let last = name.rsplit('.').next().unwrap_or(name);
        let effect = if last == "outbox" { "outbox" } else { "records" };
        Self { name: name.to_owned(), effect: effect.to_owned() }
    }
}

// === impl SqlOptions ===

impl SqlOptions {
    /// These tables, within the usual bounds.
    #[must_use]
    pub fn new(dsn: &str, tables: &[&str]) -> Self {
        let tables = tables.iter().map(|name| WatchedTable::named(name)).collect();
        Self { dsn: dsn.to_owned(), tables, rows: ROWS, within: WITHIN }
    }
}

// === impl SqlObserver ===

impl SqlObserver {
    /// An observer that has looked once, so that a wrong connection string or table is found before it is needed.
    ///
    /// # Errors
    /// When it cannot look.
    pub async fn connect(options: SqlOptions) -> Result<Self, SqlError> {
        if options.tables.is_empty() {
            return Err(SqlError::NoTables);
        }
        let observer = Self { options, marks: Marks::new("sql") };
        observer.look().await?;
        Ok(observer)
    }

    /// The tables as they are now, all at the same moment.
    ///
    /// # Errors
    /// When the database cannot be read, or not in time.
    pub async fn look(&self) -> Result<Snapshot, SqlError> {
        let options = &self.options;
        let looking = async {
            match options.dsn.split_once(':').map(|(scheme, _)| scheme) {
                Some("sqlite") => sqlite::look(options).await,
                Some("postgres" | "postgresql") => postgres::look(options).await,
                _ => Err(SqlError::Scheme),
            }
        };
        tokio::time::timeout(options.within, looking).await.map_err(|_| SqlError::Late(options.within))?
    }

    async fn look_or_not_run(&self) -> Result<Snapshot, CouldNotRun> {
        let failed = |error: SqlError| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            CouldNotRun::Setup { what: "the SQL observer's look".to_owned(), why: format!("{error}{cause}") }
        };
        self.look().await.map_err(failed)
    }

    /// The kind of effect of each table.
    fn effects(&self) -> BTreeMap<&str, &str> {
        self.options.tables.iter().map(|table| (table.name.as_str(), table.effect.as_str())).collect()
    }
}

/// Observes `{"records": {TABLE: {"inserted": […], "updated": […], "deleted": […], …}}, "outbox": {…}}`.
impl Observer for SqlObserver {
    fn sees(&self) -> Vec<String> {
        let kinds: std::collections::BTreeSet<_> = self.effects().into_values().map(str::to_owned).collect();
        kinds.into_iter().collect()
    }

    fn blind(&self) -> Vec<String> {
        [
            "rows that came and went between two looks",
            "who changed a row: whatever else writes to the tables is taken for the candidate",
            "tables that are not named, other databases, sequences, and transactions that are not committed",
            "updates in tables without a primary key: they look like a row that went and another that came",
            "a row that was written again with the same contents",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    fn begin<'a>(&'a self, tape: &'a Tape) -> BoxFuture<'a, Result<u64, CouldNotRun>> {
        Box::pin(async move {
            let before = self.look_or_not_run().await?;
            Ok(self.marks.open(tape, std::sync::Arc::new(before)))
        })
    }

    fn since<'a>(&'a self, tape: &'a Tape, mark: u64) -> BoxFuture<'a, Result<Event, CouldNotRun>> {
        Box::pin(async move {
            let (from, before) = self.marks.before(mark)?;
            let changes = before.changes_to(&self.look_or_not_run().await?);
            let (effects, complete) = snapshot::told(&changes, &self.effects());
            Ok(self.marks.write(tape, from, effects, complete))
        })
    }
}

/// A name as an identifier, each part quoted.
fn quoted(name: &str) -> String {
    let part = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    name.split('.').map(part).collect::<Vec<_>>().join(".")
}
