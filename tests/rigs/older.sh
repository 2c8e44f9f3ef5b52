#!/usr/bin/env bash
# A data folder that an older program wrote under 64 clients while it was killed, and that it left by a kill or by a stop. This
# program verifies it, finds what was acknowledged, goes on under the same clients while it is killed in turn, and
# verifies it again.
#
#   tests/rigs/older.sh PROGRAM [KILLS]                  (a built `caudal`; 5 kills of each without it)
set -euo pipefail
if [ $# -lt 1 ]; then
    echo "not run: tests/rigs/older.sh PROGRAM [KILLS]"
    exit 77
fi
older=$(realpath "$1")
cd "$(dirname "$0")/../.."
export CAUDAL_OLDER=$older CAUDAL_KILLS=${2:-5}
cargo test -q --locked --test service -- --nocapture kill::older 2>&1 |
    grep -E '^([0-9]+ |not run|test result)|panicked|assertion|left:|right:'
