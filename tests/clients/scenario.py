"""A PSP's day with the client in Python: a card payment with a tip, refunds, transfers, and the bank's side of them.

python scenario.py DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.
"""

import json
import os
import sys
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from caudal_client import Caudal, CaudalError
from caudal_client.generated.models import (
    ChangeHoldDto,
    CreateAccountDto,
    CreateHoldDto,
    CreateTransferDto,
    CreateVoucherTypeDto,
    DestinationDto,
    HoldStepDto,
    ReverseComprobanteDto,
    SimulateCashInDto,
)

dev = json.loads(Path(sys.argv[1]).read_text())
api = Caudal(dev["url"], dev["testKey"])
run = f"sc-py-{os.getpid()}"


def wait(read, good):
    """Reads until what is read is good."""
    for _ in range(100):
        found = read()
        if good(found):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def open_account(cuit, name):
    """A new account."""
    return api.create_account(body=CreateAccountDto(cuit=cuit, holder_name=name)).cvu


# Two customers; the first is sent 20000 from another bank.
ana, bea = open_account("20267565393", "Ana Prueba"), open_account("27123456780", "Bea Prueba")
arrived = api.simulate_cash_in(body=SimulateCashInDto(cvu=ana, amount="20000", from_name="Juan Remitente"))
wait(lambda: api.read_balance(ana).available, lambda available: available == "20000.00")
assert api.list_realm_comprobantes(coelsa_id=arrived.coelsa_id).items[0].amount == "20000.00"

# A card payment of 10000 is authorised; the answer has the balance for the card network.
meal = f"MEAL_PY_{os.getpid()}"
api.create_voucher_type(body=CreateVoucherTypeDto(code=meal, name="Meal", sense="debit", capture_tolerance=20))
card = {"mcc": "5812", "terminal": "T-77"}
hold = api.create_hold(
    ana,
    body=CreateHoldDto.from_dict(
        {"amount": "10000", "idExterno": f"{run}-auth", "voucherTypeCode": meal, "metadata": card}
    ),
)
assert (hold.balance.available, hold.balance.held) == ("10000.00", "10000.00")
assert hold.metadata.to_dict() == card

# It is raised for a tip, and captured a little above what is held.
hold = api.change_hold(hold.id, body=ChangeHoldDto(amount="11000.50"))
assert (hold.balance.available, hold.remaining) == ("8999.50", "11000.50")
taken = api.confirm_hold(hold.id, body=HoldStepDto(amount="11500.50"))
assert (taken.status, taken.balance.total) == ("confirmed", "8499.50")

# The purchase is refunded twice in part; more than is left of it is refused, with the figures.
for part, left in (("1500.50", "10000.00"), ("4000", "6000.00")):
    body = ReverseComprobanteDto(amount=part, id_externo=f"{run}-refund-{left}")
    refund = api.reverse_comprobante(taken.voucher_id, body=body)
    assert refund.reverses == taken.voucher_id
    assert api.read_comprobante(taken.voucher_id).remaining == left
try:
    body = ReverseComprobanteDto(amount="6000.01", id_externo=f"{run}-refund-too-much")
    api.reverse_comprobante(taken.voucher_id, body=body)
    raise SystemExit("more was refunded than was paid")
except CaudalError as refused:
    assert refused.code == "reversal_exceeds"
    figures = {"original": "11500.50", "reversed": "5500.50", "remaining": "6000.00"}
    assert figures.items() <= refused.details.items(), refused.details
assert api.read_balance(ana).available == "14000.00"


def send(to, amount, name):
    """Sends money from the first customer."""
    body = CreateTransferDto(
        from_cvu=ana, to=DestinationDto(**to), amount=amount, id_externo=f"{run}-{name}"
    )
    return api.create_transfer(body=body)


# To the other customer at once, and to another bank; one that nobody has is rejected with a code.
p2p = send({"cvu": bea}, "3500", "p2p")
assert (p2p.status, p2p.balance.available) == ("completed", "10500.00")
payout = send({"alias": "DESTINO.0"}, "2500", "payout")
assert payout.balance.held == "2500.00"
payout = wait(lambda: api.read_transfer(payout.id), lambda found: found.status == "completed")
nobody = send({"alias": "NO.EXISTE.XX"}, "10", "nobody")
nobody = wait(lambda: api.read_transfer(nobody.id), lambda found: found.status == "rejected")
assert nobody.rejection.code == "destination_not_found"
try:
    api.lookup_alias("NO.EXISTE.XX")
    raise SystemExit("somebody has that alias")
except CaudalError as unknown:
    assert (unknown.status, unknown.code) == (404, "destination_not_found")

# Support has only the id on the rail.
assert [it.id for it in api.list_transfers(coelsa_id=payout.coelsa_id).items] == [payout.id]

# The bank's list of the day has both movements, and the ledger agrees.
today = datetime.now(timezone(timedelta(hours=-3))).strftime("%Y-%m-%d")
reconciled = api.reconcile(date=today)
results = {it.coelsa_id: it.result for it in reconciled.items}
assert [results[it] for it in (arrived.coelsa_id, payout.coelsa_id)] == ["matched", "matched"]
money = [api.read_balance(cvu) for cvu in (ana, bea)]
assert sum(Decimal(it.total) for it in money) == Decimal("11500.00")
print("the scenario in Python is done")
