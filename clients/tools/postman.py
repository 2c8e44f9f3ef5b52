"""Makes a converted Postman collection ready to send: address and key from the environment, what an order makes is
kept for the requests after it, and nothing in it is drawn by chance.

postman.py COLLECTION DOCUMENT
"""

import json
import re
import sys
from pathlib import Path

#: What is kept of an answer, by method and path: the variable, and the field.
KEPT = {
    "POST v1/accounts": ("cvu", "cvu"),
    "POST v1/accounts/:cvu/comprobantes": ("voucherId", "id"),
    "POST v1/accounts/:cvu/holds": ("holdId", "id"),
    "POST v1/transfers": ("transferId", "id"),
    "POST v1/webhooks": ("webhookId", "id"),
    "POST wallet/v1/Cuenta": ("cuentaId", "id"),
}
#: What an `id` in a path is of, by the word before it.
OF = {
    "comprobantes": "voucherId",
    "holds": "holdId",
    "transfers": "transferId",
    "webhooks": "webhookId",
    "deliveries": "deliveryId",
    "Cuenta": "cuentaId",
}
KEEP = """if (pm.response.code < 300) pm.environment.set("{variable}", String(pm.response.json().{field}));"""
TEST = """pm.test("is done", () => pm.expect(pm.response.code, pm.response.text()).to.be.below(400));"""


def requests(items):
    """Every request of a folder and its folders."""
    for item in items:
        if "item" in item:
            yield from requests(item["item"])
        else:
            yield item


def script(lines):
    """What runs after an answer."""
    return {"listen": "test", "script": {"type": "text/javascript", "exec": lines}}


def words(name):
    """The name of an operation in words: `createAccount` is "Create account"."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return " ".join([parts[0].capitalize(), *(part if part.isupper() else part.lower() for part in parts[1:])])


def ready(item, document):
    """A request that can be sent as it is."""
    request = item["request"]
    url, method = request["url"], request["method"]
    path = "/".join(url["path"])
    operation = document["paths"]["/" + re.sub(r":(\w+)", r"{\1}", path)][method.lower()]
    item["name"] = request["name"] = words(operation["operationId"])
    about = [operation["summary"], operation.get("description")]
    request["description"] = "\n\n".join(text for text in about if text)
    item.pop("id", None)
    item.pop("response", None)
    for header in request["header"]:
        if header["key"] == "Idempotency-Key":
            header["value"] = "{{$guid}}"
    for part in url.get("query", []):
        part["value"] = "" if part.get("disabled") else "{{" + part["key"] + "}}"
    for before, part in zip(url["path"], url["path"][1:]):
        for variable in url["variable"]:
            if part == ":" + variable["key"]:
                name = variable["key"] if variable["key"] != "id" else OF.get(before, "id")
                variable.update(value="{{" + name + "}}")
                variable.pop("id", None)
    raw = (request.get("body") or {}).get("raw")
    if raw:
        request["body"]["raw"] = re.sub(r'("(?:cvu|fromCvu)": )"\d{22}"', r'\1"{{cvu}}"', raw, count=1)
    if kept := KEPT.get(f"{method} {path}"):
        item["event"] = [script([KEEP.format(variable=kept[0], field=kept[1])])]


def main(file, document):
    """Rewrites the collection."""
    collection = json.loads(file.read_text())
    # The bank signs what it sends there.
    collection["item"] = [folder for folder in collection["item"] if folder["name"] != "Bank"]
    for item in requests(collection["item"]):
        ready(item, document)
    collection["info"].pop("_postman_id", None)
    collection["variable"] = []
    collection["event"] = [script([TEST])]
    collection["auth"]["apikey"] = [
        {"key": "key", "value": "x-api-key", "type": "string"},
        {"key": "value", "value": "{{apiKey}}", "type": "string"},
        {"key": "in", "value": "header", "type": "string"},
    ]
    for item in requests(collection["item"]):
        item["request"].pop("auth", None)
    file.write_text(json.dumps(collection, indent=1, ensure_ascii=False) + "\n")


main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))
