#!/usr/bin/env bash
# A service whose log is in PostgreSQL, under 64 clients: in turns the service, the database, both, or their
# connections are killed. Then the log alone, with connections that end, answers that are lost and requests that come
# late, and many owners of one cell as a model. Needs PostgreSQL's server (Debian: postgresql); says "not run"
# without it.
#
#   tests/rigs/postgres.sh [BREAKS]    (40 without it)
set -euo pipefail
cd "$(dirname "$0")/../.."
export CAUDAL_KILLS=${1:-40} CAUDAL_PROPTEST_CASES=${CAUDAL_PROPTEST_CASES:-2560}
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
    echo "not run: no initdb; apt-get install postgresql"
    exit 77
fi
show() { grep -E '^([0-9]+ (breaks|kills|connections)|test (tests::faults|fencing|kill)|test result)'; }
cargo test -q --locked --test service -- --nocapture service_or_database_die 2>/dev/null | show
cargo test --locked -p caudal-postgres --features server --lib -- --nocapture tests::faults 2>/dev/null | show
cargo test --locked -p caudal-proptests --test ask -- fencing 2>/dev/null | show
