#!/usr/bin/env bash
# `cargo test` on a busy machine: N times beside so many processes that do nothing but work. A line
# for each run, the tests that failed, and the sum; exits with 1 unless all runs were green.
#
#   tests/rigs/busy.sh [N]             (3 without it; LOAD processes, 4 without it)
#
# What a run prints is kept in LOGS (a new folder without it).
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-3}
load=${LOAD:-4}
logs=${LOGS:-$(mktemp -d)}
mkdir -p "$logs"

busy=()
end() { [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true; }
trap end EXIT

cargo test --locked --no-run 2>/dev/null
for _ in $(seq "$load"); do
    (while :; do :; done) &
    busy+=($!)
done
green=0
for run in $(seq "$runs"); do
    log=$logs/run-$run.log
    since=$SECONDS
    if cargo test --locked --no-fail-fast >"$log" 2>&1; then
        green=$((green + 1))
        word=green
    else
        word=FAILED
    fi
    passed=$(awk '/^test result:/ { sum += $4 } END { print sum + 0 }' "$log")
    missed=$(grep -c ': not run:' "$log" || true)
    echo "run $run: $word in $((SECONDS - since)) s, $passed passed, $missed not run"
    sed -n 's/^test \(.*\) \.\.\. FAILED$/    \1/p' "$log"
done
echo "$green of $runs green beside a load of $load; logs in $logs"
[ "$green" -eq "$runs" ]
