#!/usr/bin/env bash
# Writes the query data in .sqlx again, from the queries in src and the tables of the migrations.
#
# The query macros write it themselves when they see a database and a folder to write to, so no further tool is needed;
# the database is a server of this script's own, gone with it.
# With `--check` nothing is written, and the script fails when what is committed is not what would be.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
mkdir "$scratch/sqlx" "$scratch/server"

# Debian keeps the programs off the PATH.
for folder in /usr/lib/postgresql/*/bin; do PATH="$PATH:$folder"; done
command -v initdb >/dev/null || { echo "PostgreSQL is missing: apt-get install postgresql" >&2; exit 1; }

# PostgreSQL refuses to run as root.
server() { "$@"; }
if [[ "$(id -u)" == 0 ]]; then
    chmod 755 "$scratch"
    chown postgres "$scratch/server"
    server() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
fi
end() {
    server pg_ctl -D "$scratch/server/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap end EXIT

server initdb -D "$scratch/server/data" -A trust -U postgres --no-sync -E UTF8 --locale=C >/dev/null
options="-c listen_addresses= -k $scratch/server -c fsync=off"
(cd "$scratch/server" && server pg_ctl -D data -w -l log -o "$options" start >/dev/null)
for migration in "$here"/../../migrations/postgres/*.sql; do
    psql -q -v ON_ERROR_STOP=1 -h "$scratch/server" -U postgres -f "$migration"
done

# The macros run only when the crate is compiled, and cargo does not see that the answer would be another one.
touch "$here/src/lib.rs"
DATABASE_URL="postgres://postgres@localhost/postgres?host=$scratch/server" \
    SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$scratch/sqlx" \
    cargo check --quiet --manifest-path "$here/Cargo.toml"
touch "$here/src/lib.rs"

if [[ "${1:-}" == "--check" ]]; then
    diff --recursive "$scratch/sqlx" "$here/.sqlx" || {
        echo "the query data is not current: run cargo xtask gen" >&2
        exit 1
    }
else
    rm -rf "$here/.sqlx"
    mv "$scratch/sqlx" "$here/.sqlx"
fi
