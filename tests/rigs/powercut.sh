#!/usr/bin/env bash
# R2, power cuts: a store on ext4 on a disk with a volatile cache; at any instant the cache is lost,
# wholly or by halves, and everything acknowledged before must be there.
#
#   tests/rigs/powercut.sh [CUTS]      (200 without it; needs root, FUSE, gcc, about 1 GB of memory)
#
# Runs of the index have files of their own in turns: each, those of 2,000 keys, and as usual (none here).
# SEED chooses the blocks that survive; POWERCUT_BIN names a built example `powercut`.
# Prints `not run: reason` and exits with 77 when it cannot run here: neither passed nor failed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cuts=${1:-200}
seed=${SEED:-$RANDOM}
per_run=25

skip() { echo "not run: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root, for loop devices and mounts"
[ -e /dev/fuse ] || skip "there is no /dev/fuse"
for tool in gcc pkg-config losetup mkfs.ext4 mount fusermount3; do
    command -v "$tool" >/dev/null || skip "$tool is missing"
done
pkg-config --exists fuse3 || skip "libfuse3 for building is missing (Debian: libfuse3-dev, fuse3)"

work=$(mktemp -d)
writer='' fuse='' loop=''
clean() {
    [ -z "$writer" ] || kill -9 "$writer" 2>/dev/null || true
    [ -z "$writer" ] || wait "$writer" 2>/dev/null || true
    mountpoint -q "$work/crash" && umount "$work/crash" || true
    mountpoint -q "$work/live" && umount "$work/live" || true
    [ -z "$loop" ] || losetup -d "$loop" 2>/dev/null || true
    mountpoint -q "$work/fuse" && fusermount3 -u "$work/fuse" || true
    [ -z "$fuse" ] || wait "$fuse" 2>/dev/null || true
    writer='' fuse='' loop=''
}
trap 'clean; rm -rf "$work"' EXIT

bin=${POWERCUT_BIN:-}
if [ -z "$bin" ]; then
    cargo build --release -q -p caudal-storage --example powercut
    bin=${CARGO_TARGET_DIR:-target}/release/examples/powercut
fi
# shellcheck disable=SC2046
gcc -O2 -o "$work/powerdisk" tests/rigs/powerdisk.c $(pkg-config --cflags --libs fuse3)
mkdir "$work/fuse" "$work/live" "$work/crash"
loop_probe=$(losetup -f 2>/dev/null) || skip "no loop device is free"
echo "SEED=$seed, $cuts cuts, first loop device $loop_probe"

begin() {
    POWERDISK_MB=384 POWERDISK_SEED=$1 POWERDISK_IMAGE="$work/image" \
        "$work/powerdisk" -f -s "$work/fuse" 2>>"$work/disk.log" &
    fuse=$!
    for _ in $(seq 100); do [ -e "$work/fuse/disk" ] && break; sleep 0.05; done
    [ -e "$work/fuse/disk" ] || skip "the FUSE file system did not come up"
    loop=$(losetup -f --show "$work/fuse/disk")
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$loop"
    mount "$loop" "$work/live"
    : >"$work/acks"
    start_writer
}

starts=0
start_writer() {
    bounds=(1 2000 131072)
    export POWERCUT_APART_KEYS=${bounds[starts % 3]}
    starts=$((starts + 1))
    "$bin" write "$work/live/store" "$work/acks" 2>>"$work/writer.log" &
    writer=$!
}

done_cuts=0 acked=0 rebuilt=0 apart=0
while [ "$done_cuts" -lt "$cuts" ]; do
    begin "$((seed + done_cuts))"
    sleep 0.5
    for n in $(seq "$per_run"); do
        [ "$done_cuts" -lt "$cuts" ] || break
        # now and then the process dies too, so that cuts also meet a store that is opening
        if [ $((n % 5)) = 0 ]; then
            kill -9 "$writer"; wait "$writer" 2>/dev/null || true
            start_writer
        fi
        sleep "0.$((RANDOM % 30 + 10))"
        kill -0 "$writer" || { cat "$work/writer.log"; echo "FAILED: the writer ended"; exit 1; }
        cp "$work/acks" "$work/acks.before"
        case $((RANDOM % 4)) in 0) how=none ;; 1) how=all ;; *) how=half ;; esac
        echo "$how" >"$work/fuse/control"
        mount -o loop "$work/image" "$work/crash"
        if ! result=$("$bin" check "$work/crash/store" "$work/acks.before" 2>"$work/check.log"); then
            cat "$work/check.log"
            echo "FAILED: cut $done_cuts ($how), SEED=$seed: $result"
            exit 1
        fi
        case $result in *rebuilt*) rebuilt=$((rebuilt + 1)) ;; esac
        case $result in *", 0 runs apart"*) ;; *"runs apart"*) apart=$((apart + 1)) ;; esac
        umount "$work/crash"
        done_cuts=$((done_cuts + 1))
    done
    acked=$((acked + $(wc -l <"$work/acks")))
    clean
done
echo "passed: $done_cuts power cuts, $acked acknowledged commits, 0 lost, index rebuilt $rebuilt times;" \
    "$apart met runs with files of their own"
tail -n 1 "$work/disk.log"
