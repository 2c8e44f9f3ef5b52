#!/usr/bin/env bash
# The console beside a large tenant: how long each kind of page takes with ACCOUNTS accounts and VOUCHERS vouchers in one
# realm, a tenth of these on one CVU, and TENANTS other tenants. Ends with 1 where a page took longer than 300 ms.
#
#   tests/rigs/console.sh [ACCOUNTS] [TENANTS] [VOUCHERS]      (1000000, 200 and as many vouchers as accounts without them)
#
# Needs a release build (`cargo build --release --bin caudal --package caudal-tools`), node 20 and 3 GiB of disk.
#
# PROGRAM is the program (that of a release build without it). The store is made by `caudal-tools growth` next to it, which
# opens the accounts at the actors' own door and posts by HTTP; SITE is its folder, which is used again where it is there (a
# new one beside the program without it, removed at the end).
set -euo pipefail
cd "$(dirname "$0")/../.."
accounts=${1:-1000000}
tenants=${2:-200}
vouchers=${3:-$accounts}
program=$(realpath "${PROGRAM:-${CARGO_TARGET_DIR:-target}/release/caudal}")
site=${SITE:-$(mktemp -d "$(dirname "$program")/console-XXXXXX")}
service=
end() {
    if [ -n "$service" ]; then kill "$service" 2>/dev/null || true; wait "$service" 2>/dev/null || true; fi
    [ -n "${SITE:-}" ] || rm -rf "$site"
}
trap end EXIT
mkdir -p "$site"
step() { echo "$SECONDS s: $*"; }

if [ ! -d "$site/data" ]; then
    rm -rf "$site"/caudal-bench-*
    "$(dirname "$program")/caudal-tools" growth --keep --dir "$site" --accounts "$accounts" \
        --vouchers "$((vouchers - vouchers / 10))" --hot "$((vouchers / 10))" >"$site/growth.out"
    mv "$site"/caudal-bench-*/data "$site/data"
    step "$accounts accounts and $vouchers vouchers are there"
fi
# Not the addresses of an earlier run.
[ ! -e "$site/data/dev.json" ] || mv "$site/data/dev.json" "$site/data/dev.json.last"
"$program" dev --data "$site/data" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --bank-listen 127.0.0.1:0 \
    >"$site/dev.out" 2>"$site/dev.err" &
service=$!
until [ -s "$site/data/dev.json" ]; do
    kill -0 "$service" 2>/dev/null || { cat "$site/dev.err" >&2; exit 1; }
    sleep 0.2
done
step "it serves"
export DEV=$site/data/dev.json TENANT=tnt_bench
if [ ! -s "$site/filled" ]; then
    TENANTS=$tenants TYPE=BENCH_IN BUSIEST="Titular de Prueba $((accounts + 1))" node tests/console/fill.js >"$site/filled.new"
    mv "$site/filled.new" "$site/filled"
    step "$tenants tenants are there"
fi
read -r ACCOUNT REQUEST <"$site/filled"
export ACCOUNT REQUEST
node tests/console/page_times.js
