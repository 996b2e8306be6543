//! A look at SQLite: opened for reading only.

use futures::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{Snapshot, SqlError, SqlOptions, TableState, quoted};

/// Columns with their place in the primary key; 0 = none.
type Columns = Vec<(String, i64)>;

pub(super) async fn look(options: &SqlOptions) -> Result<Snapshot, SqlError> {
    let connect: SqliteConnectOptions = options.dsn.parse()?;
    let mut connection = SqliteConnection::connect_with(&connect.read_only(true)).await?;
    let mut snapshot = Snapshot::default();
    // One transaction: what others commit meanwhile is not seen.
    let mut transaction = connection.begin().await?;
    for table in &options.tables {
        let columns = columns(&mut transaction, &table.name).await?;
        let state = rows(&mut transaction, &table.name, &columns, options.rows).await?;
        snapshot.tables.insert(table.name.clone(), state);
    }
    transaction.rollback().await?;
    connection.close().await?;
    Ok(snapshot)
}

async fn columns(connection: &mut SqliteConnection, table: &str) -> Result<Columns, SqlError> {
    let (schema, name) = table.split_once('.').unwrap_or(("main", table));
    let query = sqlx::query_as("SELECT name, pk FROM pragma_table_info(?, ?) ORDER BY cid").bind(name).bind(schema);
    let columns: Columns = query.fetch_all(connection).await?;
    if columns.is_empty() { Err(SqlError::NoTable(table.to_owned())) } else { Ok(columns) }
}

async fn rows(
    connection: &mut SqliteConnection,
    table: &str,
    columns: &Columns,
    most: usize,
) -> Result<TableState, SqlError> {
    let mut key: Vec<_> = columns.iter().filter(|(_, place)| *place > 0).collect();
    key.sort_by_key(|(_, place)| *place);
    let mut state = TableState::new(!key.is_empty());
    let key: Vec<_> = key.iter().map(|(name, _)| key_of(&quote_one(name))).collect();
    let contents: Vec<_> = columns.iter().map(|(name, _)| contents_of(&quote_one(name))).collect();
    let key = if key.is_empty() { "NULL".to_owned() } else { format!("'[' || {} || ']'", key.join(" || ',' || ")) };
    let (contents, from) = (contents.join(" || ',' || "), quoted(table));
    let sql = format!("SELECT {key}, {contents} FROM {from} LIMIT {}", most.saturating_add(1));
    let mut found = sqlx::query(AssertSqlSafe(sql)).fetch(connection);
    let mut seen = 0;
    while let Some(row) = found.try_next().await? {
        seen += 1;
        if seen > most {
            state.cut = true;
            break;
        }
        let (key, contents): (Option<String>, String) = (row.try_get(0)?, row.try_get(1)?);
        state.add(key, contents.as_bytes());
    }
    Ok(state)
}

fn quote_one(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column of the key as JSON.
fn key_of(column: &str) -> String {
    format!("CASE typeof({column}) WHEN 'blob' THEN '\"' || hex({column}) || '\"' ELSE json_quote({column}) END")
}

/// A column's type and value, so that no two rows that differ look alike: `1` and `'1'`, NULL and an empty text, and
/// numbers whose usual spelling is the same.
fn contents_of(column: &str) -> String {
    format!(
        "typeof({column}) || ':' || CASE typeof({column}) WHEN 'null' THEN '' \
         WHEN 'real' THEN printf('%!.17g', {column}) ELSE hex({column}) END"
    )
}
