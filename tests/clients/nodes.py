"""The client in Python with several base URLs: the same as nodes.ts.

python nodes.py DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder. The service is the node
that serves; the others are of standbys.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
from caudal_client import Caudal, CaudalError, NoAnswerError, Retries
from caudal_client.generated.models import CreateAccountDto, SetAliasDto

dev = json.loads(Path(sys.argv[1]).read_text())
owner, key = dev["url"], dev["testKey"]
nodes = subprocess.Popen(
    [sys.executable, Path(__file__).with_name("standbys.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)
one, two, stranger, refused = json.loads(nodes.stdout.readline())
count = 0


def says(node, status=503, code="not_owner", **headers):
    """What a standby returns from now on."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    httpx.put(f"{node}/-/answer", json={"status": status, "code": code, "headers": headers}).raise_for_status()


def asked(node):
    """What a standby was asked since the last time."""
    return httpx.get(f"{node}/-/asked").json()


def client(*urls, attempts=3, patience=20.0):
    """A client with these base URLs."""
    return Caudal(list(urls), key, retries=Retries(attempts=attempts, pause=0.01, patience=patience))


def failure(call, kind):
    """The error that something fails with."""
    try:
        call()
    except kind as why:
        return why
    raise AssertionError("it did not fail")


account = Caudal(owner, key).create_account(
    body=CreateAccountDto(cuit="20267565393", holder_name="Ana Nodos"), idempotency_key=f"py-nodes-{os.getpid()}"
)


def order(api):
    """An order without a key: it may be sent again only if nothing was done."""
    global count
    count += 1
    alias = f"py.nodos.{os.getpid()}.{count}"
    assert api.set_alias(account.cvu, body=SetAliasDto(alias=alias)).alias == alias


# A standby names the owner: the order goes there at once, past the other standby. The next one begins there.
says(one, Caudal_Owner=f"{owner}/", Retry_After="0")
api = client(one, two, owner)
order(api)
order(api)
[request] = asked(one)
assert (request["method"], request["key"]) == ("PUT", key) and asked(two) == []

# A host that was not given gets nothing, neither as the owner nor by a redirect.
says(one, Caudal_Owner=stranger, Retry_After="0")
order(client(one, owner))
says(one, status=307, code="unknown", Location=f"{stranger}/v1/accounts")
assert failure(lambda: client(one, owner).list_accounts(), CaudalError).status == 307
assert len(asked(one)) == 2 and asked(stranger) == []

# Without a name, and where nobody listens, it is the next URL.
says(one, Retry_After="0")
api = client(refused, one, owner)
order(api)
order(api)
assert len(asked(one)) == 1
unsent = failure(lambda: order(client(refused, attempts=2)), NoAnswerError)
assert not unsent.sent

# Standbys that name each other: each gets every attempt once, and then it ends.
says(one, Caudal_Owner=two, Retry_After="0")
says(two, Caudal_Owner=one, Retry_After="0")
ends = failure(lambda: order(client(one, two)), CaudalError)
assert (ends.status, ends.code) == (503, "not_owner")
assert (len(asked(one)), len(asked(two))) == (3, 3)

# `Retry-After` is waited for, also before a further URL, and not beyond the patience.
says(one, Retry_After="1")
says(two, Retry_After="0")
assert failure(lambda: client(one, two, attempts=1).list_accounts(), CaudalError).code == "not_owner"
[first], [second] = asked(one), asked(two)
assert second["at"] - first["at"] >= 1
says(one, Retry_After="60")
assert failure(lambda: client(one, two).list_accounts(), CaudalError).retry_after == 60
assert (len(asked(one)), asked(two)) == (1, [])

# Other trouble is the node's own: the next attempt is for the same URL.
says(one, code="overloaded", Retry_After="0")
assert failure(lambda: client(one, two).list_accounts(), CaudalError).code == "overloaded"
assert (len(asked(one)), asked(two)) == (3, [])

failure(lambda: Caudal([], key), ValueError)
failure(lambda: Caudal("127.0.0.1:8080", key), ValueError)
nodes.stdin.close()
nodes.wait(10)
print(f"Python: {count} orders at several nodes")
