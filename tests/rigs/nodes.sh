#!/usr/bin/env bash
# Three nodes on one log in PostgreSQL, under 64 clients that try again: in turns the owner is killed, stopped for longer
# than its lease, and told to hand over. Counts what was acknowledged, lost, and there twice, how long nothing was
# acknowledged, and compares all nodes. Needs PostgreSQL's server (Debian: postgresql); says "not run" without it.
#
#   tests/rigs/nodes.sh [ROUNDS]    (30 without it)
set -euo pipefail
cd "$(dirname "$0")/../.."
export CAUDAL_NODE_ROUNDS=${1:-30} CAUDAL_NODE_CLIENTS=${CAUDAL_NODE_CLIENTS:-64}
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
    echo "not run: no initdb; apt-get install postgresql"
    exit 77
fi
cargo test -q --locked --test service -- --nocapture nodes::processes 2>&1 |
    grep -E '^([0-9]+ |test result)|panicked|assertion|left:|right:'
