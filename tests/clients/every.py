"""Every operation of the client in Python, with its required arguments only, and with enums and dates as text.

python every.py DEV_JSON OPENAPI_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder. An operation
may be refused by the service; it may not fail before the service has it, nor with what the service returns.
"""

import datetime
import enum
import inspect
import itertools
import json
import os
import sys
import types
import typing
from pathlib import Path

import attrs
from caudal_client import Caudal, CaudalError
from caudal_client.generated import models
from caudal_client.generated.types import Unset
from caudal_client.operations import MODULES

dev, document = (json.loads(Path(name).read_text()) for name in sys.argv[1:])
api = Caudal(dev["url"], dev["testKey"])
count = itertools.count()
DAY = "2026-03-01"
#: Operations that may be called without a body, and are done then.
WITHOUT_BODY = ("confirm_hold", "release_hold", "rotate_webhook_secret")


def plain(name):
    """A name without what only some of its spellings have: `from_`, `idExterno` and `id_externo`."""
    return name.replace("_", "").replace("-", "").lower()


def unique(word):
    """A word that no other run has."""
    return f"{word}-{os.getpid()}-{next(count)}"


def account(holder="Ana Prueba"):
    """A new account with money."""
    opened = api.create_account(
        body=models.CreateAccountDto(cuit="20267565393", holder_name=holder), idempotency_key=unique("every")
    )
    credit = models.CreateComprobanteDto(kind.code, "1000.00", unique("every"))
    return opened, api.create_comprobante(opened.cvu, body=credit)


def hold():
    """A new hold."""
    return api.create_hold(account()[0].cvu, body=models.CreateHoldDto("100.00", unique("every")))


def transfer():
    """A transfer between two new accounts."""
    to = models.DestinationDto(cvu=account("Bea Prueba")[0].cvu)
    return api.create_transfer(body=models.CreateTransferDto(account()[0].cvu, to, "100.00", unique("every")))


def voucher_type():
    """A new voucher type."""
    code = unique("EVERY").replace("-", "_")
    return api.create_voucher_type(body=models.CreateVoucherTypeDto(code, "Every", "credit"))


def tipo():
    """A new voucher type of the wallet family: its number."""
    code = unique("EVERY").replace("-", "_")
    return api.create_tipo_comprobante(body=models.CreateTipoComprobanteDto(codigo=code, nombre="Todo", signo=1)).id


def cuenta():
    """A new account of the wallet family, without a CVU."""
    body = models.CreateWalletAccountDto.from_dict(example("createCuenta") | {"codigo": unique("every")})
    return api.create_cuenta(body=body).id


def webhook():
    """A new webhook, in place of the others: a realm has few."""
    for other in api.list_webhooks():
        api.delete_webhook(other.id)
    return api.create_webhook(body=models.CreateWebhookDto("http://127.0.0.1:9/", ["voucher.created"]))


def key():
    """A key that was used."""
    used = unique("every")
    api.create_voucher_type(body=models.CreateVoucherTypeDto(used.upper(), "Every", "credit"), idempotency_key=used)
    return used


kind = voucher_type()

#: What a parameter is of, by its name and, for an id, by the word before it in the path.
VALUES = {
    "cvu": lambda: account()[0].cvu,
    "code": lambda: voucher_type().code,
    "vouchertypecode": lambda: kind.code,
    "key": key,
    "cbu": lambda: account()[0].cvu,
    "alias": lambda: account()[0].alias,
    "cuit": lambda: "20267565393",
    "importe": lambda: "100.00",
    "from": lambda: DAY,
    "to": lambda: DAY,
    "fecha": lambda: DAY,
    "idcuenta": lambda: account()[0].wallet_account_id,
    "holds id": lambda: hold().id,
    "comprobantes id": lambda: account()[1].id,
    "Comprobante id": lambda: account()[1].id,
    "by-external idexterno": lambda: account()[1].id_externo,
    "ComprobanteByIdExterno idexterno": lambda: account()[1].id_externo,
    "transfers id": lambda: transfer().id,
    "Operacion id": lambda: transfer().id,
    "OperacionByIdExterno idexterno": lambda: transfer().id_externo,
    "webhooks id": lambda: webhook().id,
    "deliveries id": lambda: "dlv_none",
    "Cuenta id": lambda: account()[0].wallet_account_id,
    "CVU id": lambda: api.create_wallet_cvu(body=models.CreateWalletCvuDto(id_cuenta=cuenta())).id,
    "TipoComprobante id": tipo,
}


def operations():
    """Each operation of the document that the client has: name, path, operation."""
    for path, item in document["paths"].items():
        for operation in item.values():
            name = next((it for it in MODULES if plain(it) == operation["operationId"].lower()), None)
            if name is not None:
                yield name, path, operation


def example(operation_id):
    """The body of an operation in the document."""
    items = itertools.chain.from_iterable(item.values() for item in document["paths"].values())
    operation = next(it for it in items if it["operationId"] == operation_id)
    return operation["requestBody"]["content"]["application/json"]["example"]


def parts(annotation):
    """The types that an annotation allows, without those that stand for nothing."""
    some = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else [annotation]
    return [it for it in some if it not in (type(None), Unset)]


def one(annotation, base):
    """The type among those of an annotation that derives from another."""
    return next((it for it in parts(annotation) if isinstance(it, type) and issubclass(it, base)), None)


def text(annotation):
    """The first value of an enum, or a day or an instant, as a text; None for other types."""
    if found := one(annotation, enum.Enum):
        return next(iter(found)).value
    if one(annotation, datetime.date):
        return DAY if datetime.date in parts(annotation) else f"{DAY}T12:00:00Z"
    return None


def given(annotation, value):
    """A value of an example as a caller gives it: enums and dates as text, objects as models."""
    if isinstance(value, dict) and (model := next((it for it in parts(annotation) if attrs.has(it)), None)):
        return filled(model, value, whole=True)
    if isinstance(value, list):
        lists = (it for it in parts(annotation) if typing.get_origin(it) is list)
        items = next(lists, list[str])
        return [given(typing.get_args(items)[0], item) for item in value]
    return value


def filled(model, values, whole):
    """A body with the fields of an example: those that are required, or all of them and one for each enum and date."""
    if not attrs.fields(model):
        return model.from_dict(values)
    hints = typing.get_type_hints(model, vars(models) | vars(sys.modules[model.__module__]))
    known, taken = {plain(name): value for name, value in values.items()}, {}
    for field in attrs.fields(model):
        if not field.init:
            continue
        hint = hints[field.name]
        if field.default is attrs.NOTHING or whole and plain(field.name) in known:
            taken[field.name] = given(hint, known[plain(field.name)])
        elif whole and (said := text(hint)) is not None:
            taken[field.name] = said
    return model(**taken)


def arguments(name, path, operation, whole):
    """The arguments of a call: those that are required; if `whole`, enums, dates and the body of the example, too."""
    hints = typing.get_type_hints(MODULES[name]._get_kwargs)
    values = {}
    for parameter in inspect.signature(getattr(api, name)).parameters.values():
        hint = hints[parameter.name]
        required = parameter.default is inspect.Parameter.empty
        before = path.split("/{")[0].rsplit("/", 1)[1]
        if parameter.name == "body":
            if required or whole:
                body = operation["requestBody"]["content"]["application/json"]["example"]
                model = next(it for it in parts(hint) if attrs.has(it))
                values["body"] = filled(model, fresh(body), whole)
        elif (said := text(hint)) is not None:
            if required or whole:
                values[parameter.name] = said
        elif required:
            word = plain(parameter.name)
            values[parameter.name] = (VALUES.get(f"{before} {word}") or VALUES[word])()
    return values


def fresh(body):
    """The body of an example, for what this run has made."""
    if isinstance(body, list):
        return [fresh(it) for it in body]
    if not isinstance(body, dict):
        return body
    ours = {
        "cvu": lambda: account()[0].cvu,
        "fromCvu": lambda: account()[0].cvu,
        "cvuOrigen": lambda: account()[0].cvu,
        "idCuenta": lambda: account()[0].wallet_account_id,
        "idExterno": lambda: unique("every"),
        "alias": lambda: unique("every").replace("-", "."),
        "voucherTypeCode": lambda: kind.code,
        "codigo": lambda: kind.code,
        "code": lambda: unique("EVERY").replace("-", "_"),
    }
    return {name: ours[name]() if name in ours else fresh(value) for name, value in body.items()}


def main():
    """Calls every operation twice."""
    seen, refused = set(), set()
    for name, path, operation in operations():
        seen.add(name)
        for whole in (False, True):
            values = arguments(name, path, operation, whole)
            try:
                getattr(api, name)(**values)
            except CaudalError as why:
                # For instance, "date is required, or at": the document cannot say so of two parameters.
                assert why.status < 500, (name, values, why)
                refused.add((name, whole))
            except Exception:
                print(f"{name} fails with {values}", file=sys.stderr)
                raise
    assert seen == set(MODULES), set(MODULES) - seen
    assert not refused & {(name, False) for name in WITHOUT_BODY}, refused
    assert len(refused) < len(seen) / 2, f"most calls are to be done, and these are not: {refused}"
    print(f"Python: {len(seen)} operations with what they require, and with enums and dates as text")


main()
