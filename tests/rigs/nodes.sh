#!/usr/bin/env bash
# Three nodes on one log in PostgreSQL, under 64 clients that try again. First in turns the owner is killed, stopped for longer
# than its lease, and told to hand over. Then the server that takes writes is killed, every other time with the owner, and
# a standby is promoted. Then that server stands still until a standby was promoted, and goes on. Then the disk of its log
# is full, and that of its tables, and they have room again. Then it is slow, and slower than anybody waits. Then one node
# on its disk goes into the database, becomes three and one again, and goes back to its disk. Then, with a network for each
# node, the owner is cut off from the database and from clients. Then HAProxy stands before the nodes, and the owner hands
# over, is killed, told to stop, and stopped. Counts what was acknowledged, lost, and there twice, how long nothing was
# acknowledged, and compares all nodes. Needs PostgreSQL's server (Debian: postgresql), for the full disk and the cuts root,
# for the cuts `ip`, for the last one haproxy; says "not run" without.
#
#   tests/rigs/nodes.sh [ROUNDS [PROMOTIONS [CUTS [FREEZES [FULL [SLOW [HAND_OVERS [BALANCED]]]]]]]]
#                                                       (30, 10, 10, 10, 5, 5, 50 and 15 without them)
# RIGS names those that run, of: processes promotions frozen full slow partitions balanced.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CAUDAL_NODE_ROUNDS=${1:-30} CAUDAL_NODE_PROMOTIONS=${2:-10} CAUDAL_NODE_PARTITIONS=${3:-10}
export CAUDAL_NODE_FREEZES=${4:-10} CAUDAL_NODE_FULL=${5:-5} CAUDAL_NODE_SLOW=${6:-5}
export CAUDAL_NODE_HAND_OVERS=${7:-50} CAUDAL_NODE_BALANCED=${8:-15}
export CAUDAL_NODE_CLIENTS=${CAUDAL_NODE_CLIENTS:-64}
if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null; then
    echo "not run: no initdb; apt-get install postgresql"
    exit 77
fi
for rig in ${RIGS:-processes promotions frozen full slow partitions balanced}; do
    cargo test -q --locked --test service -- --nocapture "nodes::$rig" 2>&1 |
        grep -E '^([0-9]+ |not run|test result)|panicked|assertion|left:|right:'
done
