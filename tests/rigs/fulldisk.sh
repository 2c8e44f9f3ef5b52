#!/usr/bin/env bash
# A disk that fills under a running service, and is full at a start: a ticket, a page and the refusal of writes come in this
# order and end in the other; reads are answered, what was acknowledged is there afterwards, and with room again all goes on.
#
#   tests/rigs/fulldisk.sh             (needs root, for a tmpfs of 2 GiB; ports 8080 to 8082)
#
# CAUDAL_BIN names a built `caudal`. Prints `not run: reason` and exits with 77 when it cannot run here.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() { echo "not run: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root, for a mount"
for tool in curl mount dd; do command -v "$tool" >/dev/null || skip "$tool is missing"; done
bin=${CAUDAL_BIN:-}
if [ -z "$bin" ]; then
    cargo build --release --locked -q --bin caudal
    bin=${CARGO_TARGET_DIR:-target}/release/caudal
fi

disk=$(mktemp -d)
pid=''
clean() {
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
    [ -z "$pid" ] || wait "$pid" 2>/dev/null || true
    mountpoint -q "$disk" && umount "$disk" || true
    rmdir "$disk" || true
}
trap clean EXIT
mount -t tmpfs -o size=2g tmpfs "$disk" || skip "a tmpfs cannot be mounted"
api=http://127.0.0.1:8080
failed=0
check() { # what it is, what is wanted, what was seen
    if [ "$2" = "$3" ]; then echo "ok: $1: $3"; else echo "FAILED: $1: $3, not $2"; failed=1; fi
}

start() { # what it says when it is asked whether it is ready
    "$bin" dev --data "$disk/data" >"$disk.log" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        [ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8081/readyz)" = "$1" ] && [ -s "$disk/data/dev.json" ] && return
        kill -0 "$pid" 2>/dev/null || { tail -n 5 "$disk.log"; return; }
        sleep 0.1
    done
    echo "FAILED: /readyz is not $1"; tail -n 5 "$disk.log"
    exit 1
}
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }
call() { curl -sS -H "x-api-key: $key" -H 'content-type: application/json' "$@"; }
status() { call -o "$disk.body" -w '%{http_code}' "$@"; }
credit() { status -X POST "$api/v1/accounts/$cvu/comprobantes" -d "{\"voucherTypeCode\":\"IN\",\"amount\":\"1\",\"idExterno\":\"$1\"}"; }

start 200
key=$(field testKey <"$disk/data/dev.json")
call -o /dev/null -X POST $api/v1/voucher-types -d '{"code":"IN","name":"In","sense":"credit"}'
cvu=$(call -X POST $api/v1/accounts -H 'idempotency-key: one' \
    -d '{"cuit":"20267565393","holderName":"Ana Disco","alias":"disco.lleno"}' | field cvu)
posted=0
for n in $(seq 50); do check "voucher $n with room" 201 "$(credit "before-$n")" | grep -v '^ok' || true; posted=$((posted + 1)); done

# What the status of the service says of the disk, once it is this: by the free room, in MiB, that a file leaves.
export CAUDAL_ADMIN_KEY
CAUDAL_ADMIN_KEY=$(field adminKey <"$disk/data/dev.json")
leave() {
    local free
    free=$(df --output=avail -B1M "$disk" | tail -n 1)
    [ "$free" -le "$1" ] || dd if=/dev/zero of="$disk/fill-$1" bs=1M count=$((free - $1)) 2>/dev/null
    sleep 1
}
disk_problem() {
    { "$bin" status --admin-url http://127.0.0.1:8081 --json 2>/dev/null || true; } |
        sed -n 's/.*"code": "\(disk_[a-z_]*\|not_ready\)".*/\1/p' | head -n 1
}
"$bin" status --admin-url http://127.0.0.1:8081 >"$disk.status" && code=0 || code=$?
check "the status with room" "0 " "$code $(disk_problem)"
leave 900
"$bin" status --admin-url http://127.0.0.1:8081 >"$disk.status" 2>&1 && code=0 || code=$?
check "the status below four times the floor" "5 disk_low" "$code $(disk_problem)"
leave 400
"$bin" status --admin-url http://127.0.0.1:8081 >"$disk.status" 2>&1 && code=0 || code=$?
check "the status below twice the floor" "1 disk_nearly_full" "$code $(disk_problem)"
check "a voucher on a disk that is nearly full" 201 "$(credit nearly)"
posted=$((posted + 1))

dd if=/dev/zero of="$disk/fill" bs=1M 2>/dev/null || true
refused=0
for n in $(seq 2000); do
    answer=$(credit "full-$n")
    if [ "$answer" = 201 ]; then posted=$((posted + 1)); else refused=$answer; break; fi
done
check "a voucher on a full disk" 503 "$refused"
echo "    $(field code <"$disk.body"): $(field message <"$disk.body")"
check "a balance on a full disk" 200 "$(status "$api/v1/accounts/$cvu/balance")"
check "what was acknowledged" "\"$posted.00\"" "$(grep -o '"available":"[^"]*"' "$disk.body" | cut -d: -f2)"
check "the status of a full disk" not_ready "$(disk_problem)"
rm "$disk"/fill*
for _ in $(seq 100); do answer=$(credit "room-again"); [ "$answer" = 201 ] && break; sleep 0.1; done
check "a voucher with room again" 201 "$answer"
for _ in $(seq 100); do problem=$(disk_problem); [ -z "$problem" ] && break; sleep 0.1; done
check "the status with room again" "" "$problem"
posted=$((posted + 1))

kill -9 "$pid"; wait "$pid" 2>/dev/null || true; pid=''
dd if=/dev/zero of="$disk/fill" bs=1M 2>/dev/null || true
start 503
if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
    check "a balance after a start on a full disk" 200 "$(status "$api/v1/accounts/$cvu/balance")"
    kill "$pid"; wait "$pid" || true; pid=''
else
    wait "$pid" && code=0 || code=$?
    pid=''
    check "a start on a full disk is refused for now" 1 "$code"
fi
rm "$disk/fill"
start 200
check "a balance after all" 200 "$(status "$api/v1/accounts/$cvu/balance")"
check "what was acknowledged" "\"$posted.00\"" "$(grep -o '"available":"[^"]*"' "$disk.body" | cut -d: -f2)"
kill "$pid"; wait "$pid" || true; pid=''
if "$bin" verify --data "$disk/data" >"$disk.verify" 2>&1; then echo "ok: verify is clean"; else cat "$disk.verify"; failed=1; fi
rm -f "$disk.log" "$disk.body" "$disk.status" "$disk.verify"
exit $failed
