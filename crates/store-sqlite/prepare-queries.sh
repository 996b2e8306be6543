#!/usr/bin/env bash
# Writes the query data in .sqlx again, from the queries in src and the tables of the migrations.
#
# The query macros write it themselves when they see a database and a folder to write to, so no further tool is needed.
# With `--check` nothing is written, and the script fails when what is committed is not what would be.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/sqlx"

python3 - "$scratch/tables.db" "$here"/../../migrations/sqlite/*.sql <<'PYTHON'
import pathlib, sqlite3, sys

database = sqlite3.connect(sys.argv[1])
for migration in sorted(sys.argv[2:]):
    database.executescript(pathlib.Path(migration).read_text())
database.commit()
PYTHON

# The macros run only when the crate is compiled, and cargo does not see that the answer would be another one.
touch "$here/src/lib.rs"
DATABASE_URL="sqlite://$scratch/tables.db" SQLX_OFFLINE=false SQLX_OFFLINE_DIR="$scratch/sqlx" \
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
