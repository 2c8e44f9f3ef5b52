#!/usr/bin/env bash
# Three nodes on a log that Patroni keeps with etcd, unattended, under 64 clients that try again. One server of etcd and two of
# PostgreSQL, each with its Patroni, run on this machine in a folder that is removed. The PostgreSQL that takes writes is
# killed (kill -9), every other time with its Patroni, which comes back when its lock has ended. Counts what was acknowledged, lost,
# and there twice, and compares all nodes. Needs root, or the user postgres, and Debian's postgresql, patroni, etcd-server and
# python3-etcd; says "not run" without.
#
#   tests/rigs/patroni.sh [KILLS]    (6 without it)
set -euo pipefail
cd "$(dirname "$0")/../.."
export CAUDAL_NODE_FAILOVERS=${1:-6} CAUDAL_NODE_CLIENTS=${CAUDAL_NODE_CLIENTS:-64}
for program in etcd patroni curl; do
    if ! command -v $program >/dev/null; then
        echo "not run: no $program; apt-get install postgresql patroni etcd-server python3-etcd curl"
        exit 77
    fi
done
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)

dir=$(mktemp -d)
chmod 711 "$dir"
mkdir "$dir/run"
[ "$(id -u)" != 0 ] || chown postgres: "$dir/run"
began=()
end() {
    # The shell would tell of each that is killed.
    exec 2>/dev/null
    touch "$dir/over"
    kill -9 "${began[@]}" || true
    # Patroni first, or it would start PostgreSQL again.
    for file in "$dir"/*.pid; do
        [ ! -f "$file" ] || kill -9 "$(cat "$file")" 2>/dev/null || true
    done
    for file in "$dir"/run/*/postmaster.pid; do
        [ ! -f "$file" ] || kill -QUIT "$(head -1 "$file")" 2>/dev/null || true
    done
    wait || true
    rm -rf "$dir"
}
trap end EXIT

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# Etcd: three of them elsewhere, one is enough to try.
client=$(free) peer=$(free)
"${as[@]}" etcd --data-dir "$dir/run/etcd" --listen-client-urls "http://127.0.0.1:$client" \
    --advertise-client-urls "http://127.0.0.1:$client" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer" \
    >"$dir/etcd.log" 2>&1 &
began+=($!)

hosts=()
for name in db1 db2; do
    port=$(free) api=$(free)
    hosts+=("127.0.0.1:$port")
    echo "$api" >"$dir/$name.api"
    cat >"$dir/$name.yml" <<YML
scope: caudal
name: $name
restapi: {listen: "127.0.0.1:$api", connect_address: "127.0.0.1:$api"}
etcd3: {host: "127.0.0.1:$client"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    # No attempt to start it in place first.
    primary_start_timeout: 0
    # A commit waits for the standby, and nothing is acknowledged that has one copy.
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {wal_log_hints: "on", wal_retrieve_retry_interval: 100ms, shared_buffers: 16MB}
      pg_hba:
        - local all all trust
        - host all all 127.0.0.1/32 trust
        - host replication all 127.0.0.1/32 trust
  initdb: [{encoding: UTF8}, {auth: trust}]
postgresql:
  listen: 127.0.0.1:$port
  connect_address: 127.0.0.1:$port
  data_dir: $dir/run/$name
  bin_dir: $bin
  pgpass: $dir/run/$name.pass
  parameters: {unix_socket_directories: "$dir/run"}
  authentication:
    superuser: {username: postgres}
    replication: {username: replicator}
    rewind: {username: postgres}
YML
    # Who is killed comes back, and no longer has the lock.
    (
        while [ ! -e "$dir/over" ]; do
            "${as[@]}" patroni "$dir/$name.yml" >>"$dir/$name.log" 2>&1 &
            echo $! >"$dir/$name.pid"
            wait $! || true
            [ -e "$dir/over" ] || sleep 25
        done
    ) 2>>"$dir/$name.log" &
    began+=($!)
done
leader() {
    for name in db1 db2; do
        if curl --max-time 2 -fso /dev/null "http://127.0.0.1:$(cat "$dir/$name.api")/primary"; then
            echo $name
        fi
    done
}
synchronous() {
    for name in db1 db2; do
        if curl --max-time 2 -fso /dev/null "http://127.0.0.1:$(cat "$dir/$name.api")/sync"; then
            echo $name
        fi
    done
}
# What kills the server that takes writes: it says which. The first argument counts.
cat >"$dir/kill" <<KILL
#!/usr/bin/env bash
set -euo pipefail
$(declare -f leader synchronous)
dir=$dir
whole() { [ -n "\$(leader)" ] && [ -n "\$(synchronous)" ]; }
for _ in \$(seq 600); do
    ! whole || break
    sleep 0.2
done
if ! whole; then
    echo "no leader with a synchronous standby" >&2
    exit 1
fi
name=\$(leader)
if [ \$((\$1 % 2)) = 1 ]; then kill -9 "\$(cat "$dir/\$name.pid")"; fi
kill -9 "\$(head -1 "$dir/run/\$name/postmaster.pid")"
echo "\$name"
KILL
chmod +x "$dir/kill"
for _ in $(seq 600); do
    [ -z "$(leader)" ] || [ -z "$(synchronous)" ] || break
    sleep 0.2
done
if [ -z "$(leader)" ] || [ -z "$(synchronous)" ]; then
    tail -n 20 "$dir"/*.log
    exit 1
fi
export CAUDAL_NODE_LOG="postgres://postgres@${hosts[0]},${hosts[1]}/postgres" CAUDAL_NODE_KILL="$dir/kill"
cargo test -q --locked --test service -- --nocapture nodes::elsewhere 2>&1 |
    grep -E '^([0-9]+ |not run|test result)|panicked|assertion|left:|right:'
echo "$(psql "$CAUDAL_NODE_LOG?target_session_attrs=read-write" -XAtc \
    "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int - 1") promotions"
