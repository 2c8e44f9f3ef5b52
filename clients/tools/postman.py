"""Makes a converted Postman collection ready to run: from the first request to the last, each finds what those before
it have made. Names that must be new are new in each run, and what a run has made is ended at its end.

postman.py COLLECTION DOCUMENT
"""

import json
import re
import sys
from pathlib import Path

#: The bank signs what it sends; a stream has no end; no day is closed on the first day of a realm.
LEFT_OUT = ("takeBankNotice", "streamEvents", "readClosedDay", "readDayProof")
#: The variables of the collection, with the values that they have before a request sets them.
DEFAULTS = {
    "run": "1",
    "today": "2026-03-01",
    "alias": "DESTINO.0",
    "cuit": "20267565393",
    "importe": "100.00",
    "cvu": "0000000000000000000000",
    "code": "PURCHASE-1",
    "voucherId": "cmp_none",
    "holdId": "hld_none",
    "transferId": "trf_none",
    "cbu": "2850590900000000100007",
    "eventId": "evt_none",
    "webhookId": "whk_none",
    "redelivered": "evt_none",
    "deliveryId": "dlv_none",
    "cuentaId": "1",
    "walletCvu": "0000000000000000000000",
    "walletCvuId": "1",
    "tipoId": "1001",
    "walletVoucherId": "cmp_none",
    "operacionId": "trf_none",
}
#: What is kept of an answer, by operation: the variable, and where its value is.
KEPT = {
    "createAccount": {"cvu": "cvu"},
    "createVoucherType": {"code": "code"},
    "createComprobante": {"voucherId": "id"},
    "createHold": {"holdId": "id"},
    "changeHold": {"changedHoldId": "id"},
    "createTransfer": {"transferId": "id"},
    "lookupAlias": {"cbu": "cbu"},
    "listEvents": {"eventId": "items[0].id"},
    "createWebhook": {"webhookId": "id"},
    "redeliverRange": {"redelivered": "from"},
    "listWebhookDeliveries": {"deliveryId": "items[0]?.id"},
    "createCuenta": {"cuentaId": "id"},
    "createWalletCvu": {"walletCvu": "cvu", "walletCvuId": "id"},
    "createTipoComprobante": {"tipoId": "id"},
    "createWalletComprobante": {"walletVoucherId": "id"},
    "walletTransferir": {"operacionId": "operacionId"},
    "simulateTransferOutcome": {"endedTransferId": "id"},
}
#: What is in a path, by the word before it and the name there, where the name does not say it.
IN_PATH = {
    "comprobantes id": "{{voucherId}}",
    "holds id": "{{holdId}}",
    "transfers id": "{{transferId}}",
    "webhooks id": "{{webhookId}}",
    "deliveries id": "{{deliveryId}}",
    "Cuenta id": "{{cuentaId}}",
    "CVU id": "{{walletCvuId}}",
    "Comprobante id": "{{walletVoucherId}}",
    "TipoComprobante id": "{{tipoId}}",
    "Operacion id": "{{operacionId}}",
    "by-external idExterno": "order-77-{{run}}",
    "ComprobanteByIdExterno idExterno": "carga-1-{{run}}",
    "OperacionByIdExterno idExterno": "pago-1-{{run}}",
    "idempotency key": "account-{{run}}",
}
#: What a name stands for in a path, a query or a body.
NAMED = {
    "cvu": "{{cvu}}",
    "fromCvu": "{{cvu}}",
    "cvuOrigen": "{{walletCvu}}",
    "voucherTypeCode": "{{code}}",
    "idCuenta": "{{cuentaId}}",
    "idTipoComprobante": "{{tipoId}}",
    "idComprobante": "{{walletVoucherId}}",
    "from": "{{today}}",
    "to": "{{today}}",
}
#: Parameters of which an operation needs one.
ONE_OF = {
    "readHistoricalBalance": ("date", "{{today}}"),
    "readHistoricalPosition": ("date", "{{today}}"),
    "walletCuentaByCbuCvuOrAlias": ("alias", "{{alias}}"),
    "readSaldoHistorico": ("fecha", "{{today}}"),
    "readSaldoHistoricoOfCuenta": ("fecha", "{{today}}"),
    "readSaldoHistoricoByCVU": ("fecha", "{{today}}"),
    "walletMovimientosCliente": ("cvu", "{{cvu}}"),
    "walletSaldoClienteHistoricoByCVU": ("fecha", "{{today}}"),
}
#: Fields in place of those of the example, by operation.
SENT = {
    "createVoucherType": {"sense": "credit"},
    # It waits until its outcome is simulated.
    "createTransfer": {"to": {"alias": "DESTINO.2"}},
    "simulateTransferOutcome": {"transferId": "{{transferId}}", "outcome": "completed"},
    "simulateReversal": {"transferId": "{{transferId}}"},
    "redeliverRange": {"from": "{{eventId}}"},
    "suspendAccount": {"code": "fraud"},
}
#: What an operation needs besides the variables that it names.
NEEDS = {
    "confirmHold": {"changedHoldId"},
    "releaseHold": {"changedHoldId"},
    "readComprobanteByExternal": {"voucherId"},
    "readWalletComprobanteByExternal": {"walletVoucherId"},
    "walletOperacionByIdExterno": {"operacionId"},
    "listWebhookDeliveries": {"redelivered"},
    "simulateReversal": {"endedTransferId"},
}
#: Names that nobody else may have.
NEW = ("code", "codigo", "externalId", "idExterno")
#: The operations that end something, besides those that delete.
ENDS = ("toggleVoucherType",)
#: The last folder.
END = {
    "name": "End",
    "description": "Ends what the requests before it have made.",
}
#: Before each request. `Create account` begins a run.
BEFORE = [
    'if (pm.info.requestName === "Create account") pm.collectionVariables.set("run", Date.now().toString(36));',
    "const inBuenosAires = new Date(Date.now() - 3 * 3600 * 1000);",
    'pm.collectionVariables.set("today", inBuenosAires.toISOString().slice(0, 10));',
]
#: After each request.
AFTER = ['pm.test("is done", () => pm.expect(pm.response.code, pm.response.text()).to.be.below(400));']
#: After a request whose answer has what is kept of it.
KEEP = (
    "{{ const it = pm.response.code < 204 ? pm.response.json().{place} : undefined; "
    'if (it !== undefined) pm.collectionVariables.set("{variable}", String(it)); }}'
)
#: After a request whose answer has it a moment later.
WAIT = [
    "// Webhooks are sent in the background: asked again until there is a delivery.",
    'const left = Number(pm.collectionVariables.get("left") ?? 50);',
    "const found = pm.response.json().items?.length > 0;",
    "if (!found && left > 0) setTimeout(() => pm.execution.setNextRequest(pm.info.requestName), 200);",
    'if (found) pm.collectionVariables.unset("left");',
    'else pm.collectionVariables.set("left", left - 1);',
]
#: Variables that are numbers in a body.
NUMBERS = ("cuentaId", "tipoId")


def requests(items):
    """Every request of a folder and its folders."""
    for item in items:
        if "item" in item:
            yield from requests(item["item"])
        else:
            yield item


def script(when, lines):
    """What runs before a request or after its answer."""
    return {"listen": when, "script": {"type": "text/javascript", "exec": lines}}


def words(name):
    """The name of an operation in words: `createAccount` is "Create account"."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return " ".join([parts[0].capitalize(), *(part if part.isupper() else part.lower() for part in parts[1:])])


def operation_of(item, document):
    """The operation of a request."""
    url = item["request"]["url"]
    path = "/" + re.sub(r":(\w+)", r"{\1}", "/".join(url["path"]))
    return document["paths"][path][item["request"]["method"].lower()]


def sent(value, name=None):
    """The value of a field of an example as the collection sends it."""
    if name in NAMED:
        return NAMED[name]
    if isinstance(value, dict):
        return {name: sent(it, name) for name, it in value.items()}
    if isinstance(value, list):
        return [sent(it) for it in value]
    if name in NEW:
        return f"{value}-{{{{run}}}}"
    if name == "alias":
        return value.replace("prueba", "{{run}}")
    return value


def ready(item, operation):
    """Makes a request ready to send."""
    request, name = item["request"], operation["operationId"]
    url = request["url"]
    item["name"] = request["name"] = words(name)
    about = [operation["summary"], operation.get("description")]
    request["description"] = "\n\n".join(text for text in about if text)
    for extra in ("id", "response"):
        item.pop(extra, None)
    request.pop("auth", None)
    for header in request["header"]:
        if header["key"] == "Idempotency-Key":
            header["value"] = "account-{{run}}" if name == "createAccount" else "{{$guid}}"
    for part in url.get("query", []):
        if part["key"] == ONE_OF.get(name, ("",))[0]:
            part.update(value=ONE_OF[name][1], disabled=False)
        elif part.get("disabled"):
            part["value"] = ""
        else:
            part["value"] = NAMED.get(part["key"], "{{" + part["key"] + "}}")
    for before, part in zip(url["path"], url["path"][1:]):
        for variable in url["variable"]:
            key = variable["key"]
            if part == f":{key}":
                default = NAMED.get(key, "{{" + key + "}}")
                variable.update(value=IN_PATH.get(f"{before} {key}", default))
                variable.pop("id", None)
    if raw := (request.get("body") or {}).get("raw"):
        body = sent(json.loads(raw)) | SENT.get(name, {})
        text = json.dumps(body, indent=2, ensure_ascii=False)
        for number in NUMBERS:
            text = text.replace(f'"{{{{{number}}}}}"', f"{{{{{number}}}}}")
        request["body"]["raw"] = text
    after = [KEEP.format(variable=variable, place=place) for variable, place in KEPT.get(name, {}).items()]
    if name == "listWebhookDeliveries":
        after += WAIT
    if after:
        item["event"] = [script("test", after)]


def in_order(items, known):
    """Requests in the order in which they can be sent: each as soon as the variables are set that it names."""
    waiting, ordered = list(items), []
    while waiting:
        free = (it for it in waiting if needs(*it) <= known)
        item, name = found = next(free, waiting[0])
        waiting.remove(found)
        known |= set(KEPT.get(name, {}))
        ordered.append(item)
    return ordered


def needs(item, name):
    """The variables that a request needs and that another request sets."""
    named = set(re.findall(r"{{(\w+)}}", json.dumps(item["request"])))
    return NEEDS.get(name, set()) | named & {variable for kept in KEPT.values() for variable in kept}


def main(file, document):
    """Rewrites the collection."""
    collection = json.loads(file.read_text())
    folders, ends, known = [], [], set()
    for folder in collection["item"]:
        goes_on = []
        for item in requests([folder]):
            operation = operation_of(item, document)
            name = operation["operationId"]
            if name in LEFT_OUT:
                continue
            ready(item, operation)
            ending = item["request"]["method"] == "DELETE" or name in ENDS
            (ends if ending else goes_on).append((item, name))
        if goes_on:
            folders.append(folder | {"item": in_order(goes_on, known)})
    # What was made last is ended first.
    collection["item"] = [*folders, END | {"item": [item for item, _ in reversed(ends)]}]
    collection["info"].pop("_postman_id", None)
    collection["variable"] = [{"key": key, "value": value} for key, value in DEFAULTS.items()]
    collection["event"] = [script("prerequest", BEFORE), script("test", AFTER)]
    collection["auth"]["apikey"] = [
        {"key": "key", "value": "x-api-key", "type": "string"},
        {"key": "value", "value": "{{apiKey}}", "type": "string"},
        {"key": "in", "value": "header", "type": "string"},
    ]
    file.write_text(json.dumps(collection, indent=1, ensure_ascii=False) + "\n")


main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
