"""Makes what schemathesis generates meet what exists: accounts with right check digits, types, transfers.

A generated request of the positive kind gets CVUs, aliases, types and ids from a pool that this file opens
in the test realm, unique ids where an operation asks for one, and amounts that the accounts have. So most
of the requests post, hold and transfer. One in ten is left as it was generated, and so are all of the
negative kind. `hits.json` counts the answers by operation and status.
"""

import atexit
import collections
import itertools
import json
import os
import random
import threading
import urllib.parse
import urllib.request
import uuid

import schemathesis

API, KEY, HITS = (os.environ[name] for name in ("CAUDAL_URL", "CAUDAL_KEY", "CAUDAL_HITS"))
DICE = random.Random(int(os.environ.get("CAUDAL_SEED", "1")))
ACCOUNTS, SPARE, LEFT_AS_IT_WAS = 40, 10, 0.1
POOL = collections.defaultdict(list)
POSTED = collections.Counter()
LOCK = threading.Lock()
NUMBERS = itertools.count(1)


def call(method, path, body=None):
    """One request of the set-up; anything but success ends the run."""
    headers = {"x-api-key": KEY, "content-type": "application/json", "idempotency-key": str(uuid.uuid4())}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def cuit(number):
    """A CUIT of a natural person with its check digit (modulo 11, weights 5 4 3 2 7 6 5 4 3 2)."""
    for prefix in ("20", "23", "24"):
        digits = f"{prefix}{number:08d}"
        rest = sum(int(d) * w for d, w in zip(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2))) % 11
        check = (11 - rest) % 11
        if check < 10:
            return f"{digits}{check}"
    raise AssertionError(number)


def open_pool():
    """Opens the accounts and types that generated requests will name."""
    for code, sense in (("RIG_IN", "credit"), ("RIG_OUT", "debit")):
        made = call("POST", "/v1/voucher-types", {"code": code, "name": code, "sense": sense})
        POOL["type"].append(code)
        POOL["legacy"].append(made["legacyId"])
    for number in range(ACCOUNTS + SPARE):
        body = {"cuit": cuit(30_000_000 + number), "holderName": f"Rig {number}", "externalId": f"rig-{number}"}
        made = call("POST", "/v1/accounts", body)
        pool = "" if number < ACCOUNTS else "spare"
        POOL[pool + "cvu"].append(made["cvu"])
        POOL[pool + "account"].append(made["walletAccountId"])
        POOL["alias"].append(made["alias"])
        POOL["cuit"].append(made["holder"]["cuit"])
        funds = {"voucherTypeCode": "RIG_IN", "amount": "1000000", "idExterno": f"rig-funds-{number}"}
        call("POST", f"/v1/accounts/{made['cvu']}/comprobantes", funds)


def unique():
    return f"rig-{next(NUMBERS)}-{uuid.uuid4().hex[:8]}"


def amount():
    return f"{DICE.randrange(1, 500)}.{DICE.randrange(100):02d}"


def one(pool):
    return DICE.choice(POOL[pool]) if POOL[pool] else None


# What ends or blocks an account asks for one of the spare ones, so that the others go on posting.
ENDING = ("close", "suspend", "cerrar", "bloque", "limits", "habilit", "cuenta/{id}")
BY_NAME = {
    "idempotency-key": unique,
    "idExterno": unique,
    "externalId": unique,
    "codigo": unique,
    "voucherTypeCode": lambda: one("type"),
    "idTipoComprobante": lambda: one("legacy"),
    "amount": amount,
    "importe": lambda: float(amount()),
    "cuit": lambda: one("cuit"),
    "cuitCuil": lambda: one("cuit"),
    "alias": lambda: one("alias"),
}


def better(name, value, ending):
    """A value of that name that exists, or the one that was generated."""
    spare = "spare" if ending else ""
    if name in ("cvu", "fromCvu", "cbu"):
        return one(spare + "cvu") or value
    if name in ("idCuenta", "accountId"):
        return one(spare + "account") or value
    found = BY_NAME.get(name)
    return (found() or value) if found else value


def improve(value, ending):
    """The same body with names that exist, at every depth."""
    if isinstance(value, dict):
        known = {name: improve(inner, ending) for name, inner in value.items()}
        for name, inner in known.items():
            if isinstance(inner, (str, int, float)) and not isinstance(inner, bool):
                known[name] = better(name, inner, ending)
        if "to" in known and isinstance(known["to"], dict):
            known["to"] = DICE.choice([{"cvu": one("cvu")}, {"alias": one("alias")}, {"alias": "DESTINO.0"}])
        if "holds" not in known and "expiresAt" in known:
            known.pop("expiresAt")
        return known
    if isinstance(value, list):
        return [improve(inner, ending) for inner in value]
    return value


@schemathesis.hook
def before_call(context, case, kwargs):
    """Puts what exists into a request of the positive kind."""
    with LOCK:
        path = case.operation.path
        method = case.operation.method.upper()
        if case.meta is not None and not case.meta.generation.mode.is_positive:
            return
        if DICE.random() < LEFT_AS_IT_WAS:
            return
        ending = method == "DELETE" or any(word in path.lower() for word in ENDING) and method != "GET"
        for name in list(case.path_parameters or {}):
            if name in ("cvu", "cvuOrCbu", "cbu"):
                case.path_parameters[name] = one(("spare" if ending else "") + "cvu")
            elif name == "alias":
                case.path_parameters[name] = one("alias")
            elif name in ("code",):
                case.path_parameters[name] = one("type") if method == "GET" else case.path_parameters[name]
            elif name in ("id", "idCuenta", "holdId", "transferId", "webhookId", "deliveryId"):
                kind = "hold" if "hold" in path else "transfer" if "transfer" in path else "account"
                kind = "webhook" if "webhook" in path else kind
                if POOL[kind]:
                    case.path_parameters[name] = one(kind)
        if case.query and "dryRun" in case.query and DICE.random() < 0.8:
            case.query.pop("dryRun")
        for headers in (case.headers,):
            if headers is not None:
                for name in [name for name in headers if name.lower() == "if-match"]:
                    headers.pop(name)
                if "post" == method.lower():
                    headers["Idempotency-Key"] = unique()
        if isinstance(case.body, (dict, list)):
            case.body = improve(case.body, ending)
            if path.endswith("/comprobantes/batch") and DICE.random() < 0.7:
                case.body = {
                    "mode": "independent",
                    "items": [
                        {
                            "cvu": one("cvu"),
                            "voucherTypeCode": one("type"),
                            "amount": amount(),
                            "idExterno": unique(),
                        }
                        for _ in range(DICE.randrange(1, 250))
                    ],
                }


@schemathesis.hook
def after_call(context, case, response):
    """Counts the answer, and remembers the ids that later requests may name."""
    operation = f"{case.operation.method.upper()} {case.operation.path}"
    with LOCK:
        POSTED[f"{operation} {response.status_code}"] += 1
        if response.status_code == 201:
            made = json.loads(response.content)
            for pool, place in (("hold", "/holds"), ("transfer", "/transfers"), ("webhook", "/webhooks")):
                if case.operation.path.endswith(place) and isinstance(made, dict) and "id" in made:
                    POOL[pool].append(made["id"])


@atexit.register
def write():
    with open(HITS, "w") as out:
        json.dump(dict(sorted(POSTED.items())), out, indent=1)


open_pool()
