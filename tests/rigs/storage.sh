#!/usr/bin/env bash
# R3 and R9 for the storage room, and its kill loop, in their long forms:
# every n-th failing write, 500 flipped bits each in journal and index, 100 kills. All but the journal's with runs of the index that have files of their own and with such
# that have not.
# SEED chooses the bits, WHAT the tests; numbers can be changed by the variables below. Takes about twenty minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CAUDAL_SEED=${SEED:-$RANDOM} CAUDAL_FLIPS=${CAUDAL_FLIPS:-500}
export CAUDAL_KILLS=${CAUDAL_KILLS:-100} CAUDAL_FAULT_STEP=${CAUDAL_FAULT_STEP:-1}
echo "SEED=$CAUDAL_SEED"
for what in ${WHAT:-tests::flips tests::rounds::a_flipped tests::apart tests::faults tests::kill}; do
    # sled reports its own panics on damaged files; they are contained, and not of interest here
    RUST_BACKTRACE=0 cargo test -q -p caudal-storage --lib -- "$what" --nocapture --test-threads=1 \
        2>/dev/null | grep -oE '(CAUDAL_SEED|index:|journal:|[0-9]+ (failures|kills|found)|test result).*'
done
