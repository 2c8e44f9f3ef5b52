#!/usr/bin/env bash
# Backups under kills. First so many machines are lost under load (kill -9, then the data folder is removed), and the
# service goes on elsewhere from the backup: what is lost is counted, and how old it was. Then the backup command itself
# is killed so many times on the last folder, and has to go on; `backup verify` and a restore say whether it did.
#
#   tests/rigs/backup.sh [LOSSES] [KILLS]             (20 and 50 without them)
set -euo pipefail
cd "$(dirname "$0")/../.."
losses=${1:-20}
kills=${2:-50}
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
caudal=${CARGO_TARGET_DIR:-target}/debug/caudal

CAUDAL_BACKUP_LOSSES=$losses CAUDAL_BACKUP_KEEP=$site/data \
    cargo test --locked -q --test service -- backup::machine --nocapture | grep -E 'machines lost|test result'

# how long it takes when nobody kills it, in milliseconds: it is killed at any moment of that
since=$(date +%s%N)
"$caudal" backup --data "$site/data" --to "$site/whole" >"$site/out"
took=$((($(date +%s%N) - since) / 1000000))
killed=0
begun=0
for n in $(seq "$kills"); do
    "$caudal" backup --data "$site/data" --to "$site/backup" >"$site/out" 2>&1 &
    backup=$!
    sleep "$(awk -v most="$took" -v draw="$RANDOM" 'BEGIN { printf "%.3f", most * draw / 32768 / 1000 }')"
    if kill -9 "$backup" 2>/dev/null; then killed=$((killed + 1)); fi
    wait "$backup" 2>/dev/null || true
    if [ -n "$(find "$site/backup" -type f 2>/dev/null)" ]; then begun=$((begun + 1)); fi
    # so that some begin from nothing, too
    [ $((n % 3)) -ne 1 ] || rm -rf "$site/backup"
done
"$caudal" backup --data "$site/data" --to "$site/backup"
"$caudal" backup verify --from "$site/backup"
mkdir "$site/new"
cp "$site/data/pepper" "$site/new/"
"$caudal" restore --from "$site/backup" --data "$site/new"
echo "$killed of $kills backups killed, the others ended first; after $begun there was something; the last one went on, and what was restored is whole"
