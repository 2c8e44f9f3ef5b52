"""Makes what schemathesis generates meet what exists: accounts with right check digits, types, transfers.

A generated request of the positive kind gets CVUs, aliases, types and ids from a pool that this file opens
in the test realm, unique ids where an operation asks for one, and amounts that the accounts have. So most
of the requests post, hold and transfer. One in ten is left as it was generated, and so are all of the
negative kind. `hits.json` counts the answers by operation and status.
"""

import atexit
import collections
import datetime
import itertools
import json
import os
import random
import threading
import urllib.error
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
HOLDERS = itertools.count(1)
HOLDER = {}


def call(method, path, body=None):
    """One request of the set-up; anything but success fails the operation that it is for."""
    headers = {"x-api-key": KEY, "content-type": "application/json", "idempotency-key": str(uuid.uuid4())}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None
    except urllib.error.HTTPError as refused:
        raise AssertionError(f"{method} {path}: {refused.code} {refused.read()}") from refused


def attempt(method, path, body=None):
    """One request of the set-up that may be refused, as when an account is suspended already; then `None`."""
    try:
        return call(method, path, body)
    except AssertionError as refused:
        assert ": 4" in str(refused), refused
        return None


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
        made = opened()
        pool = "" if number < ACCOUNTS else "spare"
        POOL[pool + "cvu"].append(made["cvu"])
        POOL[pool + "account"].append(made["walletAccountId"])
        POOL["alias"].append(made["alias"])
        POOL["cuit"].append(made["holder"]["cuit"])
        funds = {"voucherTypeCode": "RIG_IN", "amount": "1000000", "idExterno": f"rig-funds-{number}"}
        posted = call("POST", f"/v1/accounts/{made['cvu']}/comprobantes", funds)
        POOL["voucher"].append(posted["id"])
        POOL["external"].append(f"rig-funds-{number}")


def opened():
    """A new account of a new holder."""
    number = next(HOLDERS)
    body = {"cuit": cuit(30_000_000 + number), "holderName": f"Rig {number}", "externalId": f"rig-{number}"}
    made = call("POST", "/v1/accounts", body)
    HOLDER[made["cvu"]] = made["holder"]
    return made


def cuenta():
    """A wallet account without a CVU."""
    body = {"cuitCuil": cuit(60_000_000 + next(HOLDERS)), "nombre": "Rig", "apellido": "Bare"}
    return call("POST", "/wallet/v1/Cuenta", body)["id"]


def unique():
    return f"rig-{next(NUMBERS)}-{uuid.uuid4().hex[:8]}"


def amount():
    return f"{DICE.randrange(1, 500)}.{DICE.randrange(100):02d}"


def one(pool):
    return DICE.choice(POOL[pool]) if POOL[pool] else None


# What blocks or renames an account asks for one of the spare ones, so that the others go on posting; what ends
# one for good gets an account of its own.
ENDING = ("suspend", "reactivate", "limits", "identidad", "habilit", "cuenta/{id}", "alias")
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
    "alias_destino": lambda: one("alias"),
}


def batch():
    """A batch that posts: some hundred items, since a run has few batches."""
    items = [
        {"cvu": one("cvu"), "voucherTypeCode": one("type"), "amount": amount(), "idExterno": unique()}
        for _ in range(DICE.randrange(1, 500))
    ]
    return {"mode": "independent", "items": items}


def wallet_transfer():
    """A transfer of the wallet family: it names one receiver."""
    receiver = DICE.choice(
        [{"cbu_cvu_destino": one("cvu")}, {"alias_destino": one("alias")}, {"alias_destino": "DESTINO.0"}]
    )
    return {"cvuOrigen": one("cvu"), "importe": float(amount()), "idExterno": unique(), **receiver}


def own_types():
    """A filter of events: types and groups of types that exist."""
    return DICE.choice(["voucher.posted", "hold.*", "transfer.*,account.created"])


def prepare(case, method, path):
    """What an operation needs beside names that exist: the state or the body without which it only refuses."""
    key = f"{method} {path}"
    parameters, body = case.path_parameters or {}, case.body
    if key == "DELETE /v1/accounts/{cvu}":
        parameters["cvu"] = opened()["cvu"]
    elif key == "POST /v1/accounts/{cvu}/reactivate":
        attempt("POST", f"/v1/accounts/{parameters['cvu']}/suspend", {"reason": "the rig reactivates it"})
    elif key == "PATCH /v1/accounts/{cvu}/identidad":
        holder = HOLDER[parameters["cvu"]]
        case.body = {"titulares": [{"cuit": holder["cuit"], "name": f"Rig {DICE.randrange(100)}"}]}
    elif path.endswith("/alias") or "AsignarAlias" in path:
        case.body = {"alias": f"rig.{next(NUMBERS)}.{DICE.randrange(10_000)}"}
    elif key == "POST /wallet/v1/transferir":
        case.body = wallet_transfer()
    elif key == "POST /wallet/v1/CVU":
        case.body = {"idCuenta": cuenta(), **{k: v for k, v in body.items() if k == "aliasAutomatico"}}
    elif key == "POST /v1/comprobantes/batch":
        case.body = batch()
    elif key == "DELETE /v1/voucher-types/{code}" or key == "DELETE /wallet/v1/TipoComprobante/{id}":
        code = f"RIG_{next(NUMBERS)}"
        made = call("POST", "/v1/voucher-types", {"code": code, "name": code, "sense": "credit"})
        parameters.update({"code": code} if "code" in parameters else {"id": made["legacyId"]})
    elif path in ("/v1/holds/{id}/confirm", "/v1/holds/{id}/release"):
        holding = {"amount": "10.00", "idExterno": unique()}
        made = attempt("POST", f"/v1/accounts/{one('cvu')}/holds", holding)
        parameters["id"] = made["id"] if made else parameters["id"]
        if isinstance(body, dict) and "amount" in body:
            body["amount"] = "4.00"


def alone(query, names):
    """Leaves one of several parameters that exclude each other."""
    found = [name for name in names if name in query]
    for name in found[1:]:
        query.pop(name)


def past(query):
    """Days and instants that have been, in an order that makes a period, of accounts and types that exist."""
    today = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=3)).date().isoformat()
    instant = f"{today}T03:00:01Z"
    alone(query, ("date", "fecha", "at", "asOf", "from"))
    if "from" not in query and ("date" in query or "fecha" in query):
        query.pop("to", None)
    for name in ("date", "fecha", "from", "to", "fechaDesde", "fechaHasta", "desde", "hasta", "fechaExterna"):
        if name in query:
            query[name] = today
    for name in ("at", "asOf"):
        if name in query:
            query[name] = instant
    # A cursor is the word of another answer; as generated it is refused.
    query.pop("cursor", None)
    alone(query, ("cvu", "idCuenta"))
    alone(query, ("cbuOrCvu", "alias"))
    alone(query, ("pageNumber", "page"))
    alone(query, ("idTipoComprobante", "codigo"))
    for name, pool in (
        ("cvu", "cvu"), ("fromCvu", "cvu"), ("cbuOrCvu", "cvu"), ("alias", "alias"), ("idCuenta", "account"),
        ("cuit", "cuit"), ("counterpartyCuit", "cuit"), ("voucherTypeCode", "type"), ("codigo", "type"),
        ("tipo", "type"), ("type", "type"), ("idTipoComprobante", "legacy"), ("idExterno", "external"),
    ):
        if name in query:
            query[name] = one(pool)
    for name in ("importe", "importeMax", "max"):
        if name in query:
            query[name] = "500.00"
    for name in ("importeMin", "min"):
        if name in query:
            query[name] = "1.00"
    if "types" in query:
        query["types"] = own_types()


def better(name, value, ending):
    """A value of that name that exists, or the one that was generated."""
    spare = "spare" if ending else ""
    if name in ("cvu", "fromCvu", "cbu", "cvuOrigen", "cbu_cvu_destino"):
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
        ending = any(word in path.lower() for word in ENDING) and method != "GET"
        for name in list(case.path_parameters or {}):
            if name in ("cvu", "cvuOrCbu", "cbu"):
                case.path_parameters[name] = one(("spare" if ending else "") + "cvu")
            elif name == "alias":
                case.path_parameters[name] = one("alias")
            elif name == "idExterno":
                case.path_parameters[name] = one("sent" if "Operacion" in path else "external")
            elif name == "key":
                case.path_parameters[name] = one("key") or case.path_parameters[name]
            elif name in ("id", "idCuenta"):
                kinds = ("delivery", "webhook", "hold", "transfer", "comprobante", "operacion")
                kind = next((kind for kind in kinds if kind in path.lower()), "account")
                kind = {"operacion": "transfer", "comprobante": "voucher"}.get(kind, kind)
                kind = "record" if "/CVU/" in path else kind
                kind = "spareaccount" if ending and kind == "account" else kind
                case.path_parameters[name] = one(kind) or case.path_parameters[name]
        if case.query:
            past(case.query)
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
        if DICE.random() < 0.8:
            prepare(case, method, path)


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
            if case.operation.path == "/v1/transfers":
                POOL["sent"].append(made["idExterno"])
            if case.operation.path == "/wallet/v1/CVU":
                POOL["record"].append(made["id"])
            sent = case.headers or {}
            key = next((sent[name] for name in sent if name.lower() == "idempotency-key"), None)
            if key:
                POOL["key"].append(key)
        elif response.status_code == 200 and case.operation.path.endswith("/deliveries"):
            POOL["delivery"].extend(item["id"] for item in json.loads(response.content)["items"])


@atexit.register
def write():
    with open(HITS, "w") as out:
        json.dump(dict(sorted(POSTED.items())), out, indent=1)


open_pool()
