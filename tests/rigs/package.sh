#!/usr/bin/env bash
# The Debian package where nothing was before: a fresh Debian 12 in a folder, started with its own systemd. What the
# documents say is done there: `apt install`, settings, `systemctl enable --now`, a tenant, a key, an account, a posting, with the
# sandbox bank beside it. Then it is restarted, killed, given wrong settings, removed and purged: what was posted has to
# be there each time, wrong settings are not tried again, and the ledger outlives its package. Needs root, debootstrap,
# systemd-nspawn and ports 8080 to 8082; says "not run" without.
#
#   tests/rigs/package.sh [DEB]                       (makes one from a release build without it)
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in debootstrap systemd-nspawn; do
    if ! command -v "$tool" >/dev/null; then echo "not run: no $tool"; exit 77; fi
done
if [ "$(id -u)" != 0 ]; then echo "not run: not root"; exit 77; fi
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
deb=${1:-}
if [ -z "$deb" ]; then
    src/packaging/deb "$site/made"
    deb=$(echo "$site"/made/*.deb)
fi
root=$site/root
debootstrap --variant=minbase --include=adduser,ca-certificates,curl,dbus,openssl,systemd,systemd-sysv \
    bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$site/debootstrap.log"
cp "$deb" "$root/srv/caudal.deb"

cat >"$root/srv/walk.sh" <<'WALK'
#!/usr/bin/env bash
# Inside: every step has to go well, and says how long after the first one it was done.
exec >/srv/walk.log 2>&1
set -euo pipefail
trap 'echo "failed in line $LINENO"; systemctl poweroff' ERR
cd /srv
begun=$(date +%s%N)
step() { echo "$((($(date +%s%N) - begun) / 1000000)) ms: $*"; }
ready() { for _ in $(seq 300); do caudal health >/dev/null 2>&1 && return; sleep 0.1; done; false; }

apt-get install --yes --quiet ./caudal.deb >apt.log 2>&1
step "installed; the program has $(stat --format=%s /usr/bin/caudal) bytes"
[ "$(stat --format='%U %a' /etc/caudal/caudal.toml /var/lib/caudal | tr '\n' ' ')" = "caudal 600 caudal 700 " ]
[ "$(systemctl is-enabled caudal || true)" = disabled ]
begun=$(date +%s%N)
sed -i '/^\[bank.live\]/,/^#plain_http/d' /etc/caudal/caudal.toml
key=$(openssl rand -base64 32)
secret=$(openssl rand -base64 32)
printf 'CAUDAL_ADMIN_KEY=%s\nCAUDAL_BANK__TEST__NOTICE_SECRET=%s\n' "$key" "$secret" >/etc/caudal/caudal.env
chmod 600 /etc/caudal/caudal.env
systemctl enable --now --quiet caudal
ready
step "takes requests"
CAUDAL_SANDBOX_NOTICE_SECRET=$secret \
    caudal sandbox-bank --notify http://127.0.0.1:8080/bank/v1/notifications --funds 1000000 >bank.log 2>&1 &
for _ in $(seq 300); do curl -sS -o /dev/null http://127.0.0.1:8082/docs 2>/dev/null && break; sleep 0.1; done
export CAUDAL_ADMIN_URL=http://127.0.0.1:8081 CAUDAL_ADMIN_KEY=$key
tenant=$(caudal tenant create acme | grep -o 'tnt_[a-z0-9]*')
own=$(caudal key issue "$tenant" --mode test --label backend | grep -o 'cdl_test_[A-Za-z0-9_-]*')
api=http://127.0.0.1:8080
call() { curl -sS --fail-with-body -H "x-api-key: $own" -H 'content-type: application/json' "$@"; }
account='{"cuit": "20267565393", "holderName": "Dora Prueba"}'
cvu=$(call $api/v1/accounts -H 'Idempotency-Key: one' -d "$account" | sed -n 's/^{"cvu":"\([0-9]*\)".*/\1/p')
call -o type.json $api/v1/voucher-types -d '{"code": "LOAD", "name": "Load", "sense": "credit"}'
posted='{"voucherTypeCode": "LOAD", "amount": "1500.50", "idExterno": "first"}'
call -o voucher.json "$api/v1/accounts/$cvu/comprobantes" -d "$posted"
step "the first voucher is posted"
call -o arrived.json http://127.0.0.1:8082/sandbox/cash-in -d "{\"cvu\": \"$cvu\", \"amount\": \"5000\"}"
has() { call "$api/v1/accounts/$cvu/balance" | grep -qF "\"total\":\"$1\""; }
for _ in $(seq 300); do has 6500.50 && break; sleep 0.1; done
has 6500.50
step "money of the bank is there"
systemctl restart caudal
ready
has 6500.50
step "restarted"
kill -9 "$(systemctl show --property MainPID --value caudal)"
while caudal health >/dev/null 2>&1; do sleep 0.1; done
ready
has 6500.50
step "killed, and started again by itself"
sed -i 's/^data = .*/data = ""/' /etc/caudal/caudal.toml
systemctl restart caudal
for _ in $(seq 300); do systemctl is-failed --quiet caudal && break; sleep 0.1; done
[ "$(systemctl show --property ExecMainStatus --value caudal)" = 2 ]
systemctl is-failed --quiet caudal
step "wrong settings end it with 2, and it is left alone"
apt-get purge --yes --quiet caudal >>apt.log 2>&1
[ -s /var/lib/caudal/pepper ] && [ -d /var/lib/caudal/store ] && [ ! -e /etc/caudal/caudal.toml ]
step "purged, and the ledger is where it was"
systemctl poweroff
WALK
chmod +x "$root/srv/walk.sh"
printf '[Service]\nExecStart=/srv/walk.sh\n' >"$root/etc/systemd/system/walk.service"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../walk.service "$root/etc/systemd/system/multi-user.target.wants/"
timeout 300 systemd-nspawn --quiet --directory "$root" --boot --register=no --keep-unit >"$site/boot.log" 2>&1 || true
cat "$root/srv/walk.log"
grep -q 'purged, and the ledger' "$root/srv/walk.log"
