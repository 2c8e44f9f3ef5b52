#!/usr/bin/env bash
# Requests generated from the OpenAPI document against `caudal dev`: no 5xx, no answer that the document does not
# promise, and a ledger that verifies afterwards. usage: schemathesis.sh [EXAMPLES] [SEED]; needs python3.
# CAUDAL names the binary (target/release/caudal unless set).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
caudal=$(realpath "${CAUDAL:-$here/../../target/release/caudal}")
examples=${1:-1000} seed=${2:-1}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/caudal-rigs/schemathesis
if [ ! -x "$cache/bin/schemathesis" ]; then
  python3 -m venv "$cache"
  "$cache/bin/pip" install --quiet --disable-pip-version-check 'schemathesis==4.32.5'
fi

work=$(mktemp -d)
cd "$work"
service=
trap 'kill "$service" 2>/dev/null || true; rm -rf "$work"' EXIT
"$caudal" dev --data "$work/data" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --bank-listen 127.0.0.1:0 \
  >"$work/log" 2>&1 &
service=$!
for _ in $(seq 300); do [ -s "$work/data/dev.json" ] && break; sleep 0.1; done
of() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/data/dev.json"; }
CAUDAL_URL=$(of url) CAUDAL_KEY=$(of testKey)
export CAUDAL_URL CAUDAL_KEY CAUDAL_HITS="$work/hits.json" CAUDAL_SEED="$seed" SCHEMATHESIS_HOOKS=hooks PYTHONPATH="$here/schemathesis"

failed=0
"$cache/bin/schemathesis" run "$CAUDAL_URL/openapi.json" --header "x-api-key: $CAUDAL_KEY" \
  --phases examples,coverage,fuzzing,stateful --mode all --max-examples "$examples" --seed "$seed" --workers 1 \
  --exclude-path-regex 'stream|notifications' --no-color --warnings off \
  --checks not_a_server_error,status_code_conformance,response_schema_conformance,content_type_conformance \
  || failed=1

kill -TERM "$service"; wait "$service"; service=
"$caudal" verify --data "$work/data" | tee "$work/verify"
python3 - "$CAUDAL_HITS" <<'PY'
import collections, json, sys
hits = json.load(open(sys.argv[1]))
by_status = collections.Counter()
for operation, count in hits.items():
    by_status[operation.rsplit(" ", 1)[1]] += count
print("answers by status:", dict(sorted(by_status.items())))
print("operations that never answered 2xx:", sorted(
    {o.rsplit(" ", 1)[0] for o in hits} - {o.rsplit(" ", 1)[0] for o in hits if " 2" in o}))
PY
exit "$failed"
