//! A look at PostgreSQL: one transaction that can only read and sees one moment.

use futures::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use super::{Snapshot, SqlError, SqlOptions, TableState, quoted};

/// One moment for all tables, nothing written, and spellings of values that no setting of a role changes.
const BEGIN: [&str; 6] = [
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL timezone = 'UTC'",
    "SET LOCAL intervalstyle = 'postgres'",
    "SET LOCAL extra_float_digits = 3",
    "SET LOCAL bytea_output = 'hex'",
];

pub(super) async fn look(options: &SqlOptions) -> Result<Snapshot, SqlError> {
    let mut connection = PgConnection::connect(&options.dsn).await?;
    for statement in BEGIN {
        sqlx::query(statement).execute(&mut connection).await?;
    }
    // The server stops as well when nobody waits any more.
    let millis = options.within.as_millis();
    sqlx::query(AssertSqlSafe(format!("SET LOCAL statement_timeout = {millis}"))).execute(&mut connection).await?;
    let mut snapshot = Snapshot::default();
    for table in &options.tables {
        let key = key(&mut connection, &table.name).await?;
        let state = rows(&mut connection, &table.name, &key, options.rows).await?;
        snapshot.tables.insert(table.name.clone(), state);
    }
    sqlx::query("ROLLBACK").execute(&mut connection).await?;
    connection.close().await?;
    Ok(snapshot)
}

/// The columns of the primary key in their order.
async fn key(connection: &mut PgConnection, table: &str) -> Result<Vec<String>, SqlError> {
    let name = quoted(table);
    let known = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL").bind(&name);
    if !known.fetch_one(&mut *connection).await? {
        return Err(SqlError::NoTable(table.to_owned()));
    }
    let columns = sqlx::query_scalar(
        "SELECT a.attname::text FROM pg_catalog.pg_index i \
         CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place) \
         JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
         WHERE i.indrelid = to_regclass($1) AND i.indisprimary ORDER BY k.place",
    );
    Ok(columns.bind(&name).fetch_all(connection).await?)
}

async fn rows(connection: &mut PgConnection, table: &str, key: &[String], most: usize) -> Result<TableState, SqlError> {
    let mut state = TableState::new(!key.is_empty());
    let columns: Vec<_> = key.iter().map(|name| format!("r.\"{}\"::text", name.replace('"', "\"\""))).collect();
    let key =
        if key.is_empty() { "NULL".to_owned() } else { format!("jsonb_build_array({})::text", columns.join(", ")) };
    // Digests are made where the rows are, so that no contents leave the database.
    let digest = "sha256(convert_to(ROW(r.*)::text, 'UTF8'))";
    let sql = format!("SELECT {key}, {digest} FROM {} AS r LIMIT {}", quoted(table), most.saturating_add(1));
    let mut found = sqlx::query(AssertSqlSafe(sql)).fetch(connection);
    let mut seen = 0;
    while let Some(row) = found.try_next().await? {
        seen += 1;
        if seen > most {
            state.cut = true;
            break;
        }
        let (key, digest): (Option<String>, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
        state.add(key, &digest);
    }
    Ok(state)
}
