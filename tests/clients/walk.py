"""The client in Python against a running service: the same walk as walk.ts.

python walk.py DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.
"""

import asyncio
import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
from caudal_client import AsyncCaudal, Caudal, CaudalError, NoAnswerError, Retries, WebhookVerificationError, verify_webhook
from caudal_client.generated.models import (
    CreateAccountDto,
    CreateComprobanteDto,
    CreateHoldDto,
    CreateTransferDto,
    CreateVoucherTypeDto,
    CreateWebhookDto,
    DestinationDto,
    EventFilter,
    HoldStepDto,
    Sense,
    SetAliasDto,
    TransferStatus,
    VoucherCreatedEvent,
    WebhookTestEvent,
)

dev = json.loads(Path(sys.argv[1]).read_text())
api = Caudal(dev["url"], dev["testKey"])
run = f"py-{os.getpid()}"


def failure(call, kind):
    """The error that something fails with."""
    try:
        call()
    except kind as why:
        return why
    raise AssertionError("it did not fail")


# A receiver of webhooks on this machine: what was sent, as soon as its signature is right.
received = queue.Queue()
secret = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    """Verifies each request and keeps its event."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        event = verify_webhook(secret.queue[0], self.headers, body)
        failure(lambda: verify_webhook(secret.queue[0], self.headers, body + b" "), WebhookVerificationError)
        self.send_response(204)
        self.end_headers()
        received.put(event)

    def log_message(self, *_):
        pass


def next_event(kind):
    """The next event of a class."""
    while True:
        event = received.get(timeout=30)
        if isinstance(event, kind):
            return event


receiver = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{receiver.server_port}/"
hook = api.create_webhook(body=CreateWebhookDto(url=url, types=[EventFilter.VOUCHER_CREATED]))
secret.put(hook.secret)


def open_account(cuit, name, key):
    """An account; a repeat with the same key is the same account."""
    body = CreateAccountDto(cuit=cuit, holder_name=name)
    return api.answer(api.create_account, body=body, idempotency_key=f"{run}-{key}")


ana, again = open_account("20267565393", "Ana Prueba", "ana"), open_account("20267565393", "Ana Prueba", "ana")
cvu = ana.data.cvu
assert again.data.cvu == cvu and (ana.replayed, again.replayed) == (False, True)
bea = open_account("27123456780", "Bea Prueba", "bea").data

# A posting and its retry: one voucher.
kind = f"PY_{os.getpid()}"
api.create_voucher_type(body=CreateVoucherTypeDto(code=kind, name="Top-up", sense=Sense.CREDIT))


def post(amount):
    """Posts an amount, always under the same id."""
    voucher = CreateComprobanteDto(voucher_type_code=kind, amount=amount, id_externo=f"{run}-1")
    return api.answer(api.create_comprobante, cvu, body=voucher)


first, retry = post(1500.5), post("1500.50")
assert retry.data.id == first.data.id and retry.replayed
other = failure(lambda: post("1.00"), CaudalError)
assert (other.status, other.code) == (409, "id_externo_reused")
wrong = failure(lambda: api.create_hold(cvu, body=CreateHoldDto(amount="0", id_externo=f"{run}-0")), CaudalError)
assert wrong.code == "invalid_request" and wrong.errors[0]["field"] == "amount"

# The webhook brings the same voucher; its class says which data it has.
event = next_event(VoucherCreatedEvent)
assert event.data.id == first.data.id and event.data.available_after == "1500.50"

# A transfer to the other account is final at once.
to = DestinationDto(cvu=bea.cvu)
sent = api.create_transfer(body=CreateTransferDto(from_cvu=cvu, to=to, amount="100.25", id_externo=f"{run}-p2p"))
assert sent.status == TransferStatus.COMPLETED

# A hold: part of it leaves, the rest returns. The client makes a key for each step.
hold = api.create_hold(cvu, body=CreateHoldDto(amount=400, id_externo=f"{run}-hold"))
api.confirm_hold(hold.id, body=HoldStepDto(amount="150.25"))
assert api.release_hold(hold.id, body=HoldStepDto()).remaining == "0.00"
balance = api.read_balance(cvu)
assert (balance.available, balance.held) == ("1250.00", "0.00")

# Lists page by page: the same rows in as many pages as there are, in both forms of a list.
rows = [row.id for row in api.each(api.list_movements, cvu, limit=1)]
assert len(rows) >= 3 and rows == [row.id for row in api.list_movements(cvu)]
accounts = [row.cvu for row in api.each(api.list_accounts, limit=1)]
assert cvu in accounts and bea.cvu in accounts
assert len(list(api.each(api.list_cuentas, page_size=1, page=1))) == len(accounts)
assert len(list(api.each(api.list_events, limit=100))) > 5


# The same list in one answer, and as a file.
assert [row["id"] for row in api.rows(api.list_movements, cvu)] == rows
table = b"".join(api.download("text/csv", api.list_movements, cvu)).decode()
assert table.count("\n") == len(rows) + 1 and rows[0] in table
assert failure(lambda: list(api.rows(api.read_balance, cvu)), CaudalError).status == 406

# Events as they happen, after the last that was read.
last = list(api.each(api.list_events, types="voucher.created"))[-2]
assert next(api.events(after=last.id, types=["voucher.created"])).id != last.id


async def awaited():
    """The same without threads: operations, pages, rows, files and events."""
    async with AsyncCaudal(dev["url"], dev["testKey"]) as client:
        assert (await client.read_balance(cvu)).held == "0.00"
        assert [row.id async for row in client.each(client.list_movements, cvu, limit=1)] == rows
        assert [row["id"] async for row in client.rows(client.list_movements, cvu)] == rows
        parts = [part async for part in client.download("text/csv", client.list_movements, cvu)]
        assert b"".join(parts).decode() == table
        async for event in client.events(after=last.id, types=["voucher.created"]):
            assert event.data.cvu and event.id != last.id
            break
        try:
            await client.create_hold(cvu, body=CreateHoldDto(amount="9999999", id_externo=f"{run}-much"))
        except CaudalError as why:
            assert why.code == "insufficient_funds"
        else:
            raise AssertionError("it did not fail")


asyncio.run(awaited())


class Trouble(httpx.BaseTransport):
    """A service in trouble, before the real one. 0 is no answer; 200 is one that gets lost."""

    def __init__(self, statuses, headers=None, code="overloaded"):
        self.statuses, self.headers, self.code = list(statuses), headers, code
        self.keys, self.real = [], httpx.HTTPTransport()

    def handle_request(self, request):
        self.keys.append(request.headers.get("Idempotency-Key"))
        status = self.statuses.pop(0) if self.statuses else None
        if status is None:
            return self.real.handle_request(request)
        if status == 200:
            self.real.handle_request(request).read()
        if status in (0, 200):
            raise httpx.ReadError("connection reset", request=request)
        return httpx.Response(status, headers=self.headers, json={"code": self.code, "message": "no"})


def troubled(*statuses, **more):
    """A client before a service in trouble, and the trouble."""
    trouble = Trouble(statuses, **more)
    retries = Retries(attempts=4, pause=0.001, patience=2)
    return Caudal(dev["url"], dev["testKey"], retries=retries, transport=trouble), trouble


# What may be sent again is, under the same name; what may not is not.
client, trouble = troubled(503, 200, 502)
more = CreateComprobanteDto(voucher_type_code=kind, amount="1.00", id_externo=f"{run}-2")
client.create_comprobante(cvu, body=more)
assert trouble.keys == [None] * 4
client, trouble = troubled(200, 0)
client.create_voucher_type(body=CreateVoucherTypeDto(code=f"{kind}_2", name="Fee", sense=Sense.DEBIT))
assert len(trouble.keys) == 3 and None not in trouble.keys and len(set(trouble.keys)) == 1
client, _ = troubled(0, 500)
assert client.read_balance(cvu).available == "1251.00"
client, _ = troubled(0, 0, 0, 0)
assert "connection reset" in str(failure(lambda: client.read_balance(cvu), NoAnswerError))
alias = SetAliasDto(alias=f"py.prueba.{os.getpid()}")
client, trouble = troubled(502, code="unknown")
assert failure(lambda: client.set_alias(cvu, body=alias), CaudalError).status == 502 and len(trouble.keys) == 1
client, trouble = troubled(429, headers={"Retry-After": "1"})
client.set_alias(cvu, body=alias)
assert len(trouble.keys) == 2
client, _ = troubled(503, headers={"Retry-After": "60"})
assert failure(lambda: client.read_balance(cvu), CaudalError).retry_after == 60

# A word that a later version adds is no reason to fail.
assert TransferStatus("a_later_word") == "a_later_word"

# A try of the webhook has a type of its own.
api.test_webhook(hook.id)
assert next_event(WebhookTestEvent).data.webhook_id == hook.id
api.delete_webhook(hook.id)
receiver.shutdown()
print(f"Python: events verified, {len(rows)} movements, balance {balance.available}")
