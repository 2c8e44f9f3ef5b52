#!/usr/bin/env python3
"""Verifies proofs and sealed days of Caudal without the service: verify_day.py FILE... [--key VKEY]

Needs Python 3.9 and nothing else; docs/sealed-days.md describes the format. Exit code 1: a file is refused; 2: wrong usage."""
import argparse, base64, datetime, hashlib, json, re, sys

FILE_BYTES_MAX, PATH_STEPS_MAX, NUMBER_MAX = 1 << 20, 64, 2**53 - 1
CREDITS = "clients suspense unclassified fee_tax fees interest adjustments psp_funds".split()
BOOKS = ["bank", *CREDITS[:-1], "bank_fees", "bank_taxes", CREDITS[-1]]
WHY = {
    "file": "it cannot be read",
    "form": "it is damaged, or it is not a proof or a day",
    "key": "its key was changed, did not sign it, or is not the key that was given or that an earlier day names",
    "signature": "the checkpoint is not what the key signed: one of them was changed",
    "date": "the file and its checkpoint have different dates",
    "books": "the signed books do not add up, or differ from the signed totals",
    "negative": "a sum is negative, which could hide that clients have more than the total",
    "path": "the path does not lead from this balance to the signed root: it is not part of the signed total",
    "sums": "the signed total is not the sum of the accounts",
    "previous": "it does not name the checkpoint of the day before, or another one of its day is signed, too: two histories",
}


class Refused(Exception):
    """A file is refused: a word of WHY, and the place in the file if it is known."""


# Ed25519 by RFC 8032, 5.1.7. A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p, q):
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    product = (0, 1, 1, 0)
    while scalar:
        product = add(product, point) if scalar & 1 else product
        point, scalar = add(point, point), scalar >> 1
    return product


def decompress(data):
    sign, y = data[31] >> 7, int.from_bytes(data, "little") & (1 << 255) - 1
    xx = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(xx, (P + 3) // 8, P)
    x = x if x * x % P == xx else x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != xx or (x == 0 and sign):
        return None
    return (x if x & 1 == sign else P - x, y, 1, (x if x & 1 == sign else P - x) * y % P)


def compress(point):
    x, y = (point[at] * pow(point[2], -1, P) % P for at in (0, 1))
    return (y | (x & 1) << 255).to_bytes(32, "little")


def is_signature(public, text, signature):
    base, point = decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little")), decompress(public)
    s = int.from_bytes(signature[32:], "little")
    if point is None or s >= L or len(signature) != 64:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % L
    return compress(add(times(s, base), times(k, (P - point[0], point[1], 1, P - point[3])))) == signature[:32]


# Readers: each returns None for what the format does not have.
def like(pattern):
    return lambda it: it if isinstance(it, str) and re.fullmatch(pattern, it, re.ASCII | re.DOTALL) else None


def b64(length):
    def read(text):
        try:  # Spare bits and padding have to be as an encoder writes them.
            data = base64.b64decode(text, validate=True)
            return data if len(data) == length and base64.b64encode(data).decode() == text else None
        except (TypeError, ValueError):
            return None
    return read


def number(text):
    return int(text) if like("0|[1-9][0-9]{0,15}")(text) and int(text) <= NUMBER_MAX else None


def amount(text):
    it = int(text.replace(".", "")) if like(r"-?(0|[1-9][0-9]{0,38})\.[0-9]{2}")(text) and text != "-0.00" else None
    return it if it is not None and -(2**127) <= it < 2**127 else None


def day(text):
    try:
        return like("[0-9]{4}-[0-9]{2}-[0-9]{2}")(text) and datetime.date.fromisoformat(text)
    except ValueError:
        return None


def late(text):
    parts = text.split(" ")
    return text if len(parts) == 3 and None not in (day(parts[0]), amount(parts[1]), b64(32)(parts[2])) else None


name, anything, b32 = like("[!-*,-~]+"), like("[^\ud800-\udfff]*"), b64(32)
FIELDS = [("", "origin", name), ("", "size", number), ("", "root", b32), ("date ", "date", day)]
FIELDS += [(f"{it} ", it, amount) for it in ("available", "held", "suspense", *("book " + it for it in BOOKS))]
FIELDS += [("vouchers ", "vouchers", number), ("events ", "events", number)]
FIELDS += [("bank ", "bank", lambda it: it if it in ("pending", "none") else late("2000-01-01 " + it) and it.split(" ")[0])]
PREVIOUS = ("previous ", "previous", lambda it: it if it == "none" else b32(it))


def need(value, place):
    if value is None:
        raise Refused("form", place)
    return value


def field(values, key, read, place=""):
    return need(read(values.get(key)) if isinstance(values, dict) else None, place + key)


def verifier_key(text):
    """(name, id, public key) of <name>+<id>+<base64>; None if it is none or its id is wrong."""
    owner, key_id, encoded = (text.split("+", 2) + ["", ""])[:3]
    key = b64(33)(encoded)
    if not key or key[0] != 1 or not name(owner):
        return None
    own_id = hashlib.sha256(owner.encode() + b"\n" + key).digest()[:4]
    return (owner, own_id, key[1:]) if own_id.hex() == key_id else None


def vkey(key):
    return f"{key[0]}+{key[1].hex()}+{base64.b64encode(bytes([1]) + key[2]).decode()}"


def open_note(note, key):
    """The signed text of a note, with its last line end."""
    text, _, line = note.rpartition("\n\n")
    signer, signed = need(re.fullmatch("\u2014 ([^ \n]+) ([^ \n]+)\n", line), "checkpoint").groups()
    signature = need(b64(68)(signed), "checkpoint")
    if (signer, signature[:4]) != key[:2]:
        raise Refused("key")
    if not is_signature(key[2], (text + "\n").encode(), signature[4:]):
        raise Refused("signature")
    return text + "\n"


def checkpoint(text):
    lines, values = text.split("\n"), {"digest": hashlib.sha256(text.encode()).digest()}
    fields = FIELDS + [("late ", "late", late)] * sum(line.startswith("late ") for line in lines)
    fields += [("key ", "next", verifier_key)] * any(line.startswith("key ") for line in lines) + [PREVIOUS]
    for at, (line, (word, key, read)) in enumerate(zip(lines, fields), 1):
        values[key] = need(read(line[len(word):]) if line.startswith(word) else None, f"line {at} of the checkpoint")
    need(lines[len(fields):] == [""] or None, "the end of the checkpoint")
    return values


# A node of the tree: its hash, and the sums of what is available and held, in centavos.
def node(values, place, read_hash):
    available, held = field(values, "available", amount, place), field(values, "held", amount, place)
    return read_hash(available.to_bytes(16, "big", signed=True) + held.to_bytes(16, "big", signed=True)), available, held


def leaf_hash(leaf, sums):
    salt, chain = field(leaf, "salt", b32, "leaf."), field(leaf, "chain", b32, "leaf.")
    sequence = field(leaf, "sequence", lambda it: it if type(it) is int and 0 <= it <= NUMBER_MAX else None, "leaf.")
    cvu = field(leaf, "cvu", like("[0-9]{22}"), "leaf.").encode()
    return hashlib.sha256(b"caudal/day/leaf/1\n" + salt + cvu + sums + sequence.to_bytes(8, "big") + chain).digest()


def join(left, right):
    available, held = left[1] + right[1], left[2] + right[2]
    if max(available, held) >= 2**127:
        raise Refused("sums")
    sums = (it[0] + it[1].to_bytes(16, "big", signed=True) + it[2].to_bytes(16, "big", signed=True) for it in (left, right))
    return hashlib.sha256(b"caudal/day/node/1\n" + b"".join(sums)).digest(), available, held


def climb(node, path, size):
    """The root to which a path leads, if it is a path of a tree of this size."""
    for side, _ in reversed(path):  # The left subtree has the largest power of two that is smaller than the size.
        left = 1 << max(size - 1, 0).bit_length() >> 1
        size = 0 if size < 2 else left if side == "right" else size - left
    if size != 1:
        raise Refused("path")
    if min(min(it[1:]) for it in [node, *(step[1] for step in path)]) < 0:
        raise Refused("negative")
    for side, sibling in path:
        node = join(sibling, node) if side == "left" else join(node, sibling)
    return node


def verify(data):
    """The signed values of a file with the key that signed them, and its leaf if it is a proof."""
    if len(data) > FILE_BYTES_MAX:
        raise Refused("form", f"more than {FILE_BYTES_MAX} bytes")
    try:
        file = json.loads(data.decode())
    except (ValueError, RecursionError):
        raise Refused("form", "JSON") from None
    file_day, note = field(file, "date", day), field(file, "checkpoint", anything)
    own, leaf, path = verifier_key(field(file, "key", anything)), file.get("leaf"), file.get("path")
    is_proof = "leaf" in file or "path" in file
    if is_proof:
        start = node(leaf, "leaf.", lambda sums: leaf_hash(leaf, sums))
        need(isinstance(path, list) and len(path) <= PATH_STEPS_MAX or None, "path")
        side = like("left|right")
        steps = [(field(it, "side", side, f"path[{at}]."),
                  node(it, f"path[{at}].", lambda _: field(it, "hash", b32, f"path[{at}].")))
                 for at, it in enumerate(path)]
    if own is None:
        raise Refused("key")
    values = {"signer": own, "next": own, **checkpoint(open_note(note, own))}
    root, books = (values["root"], values["available"], values["held"]), {it: values["book " + it] for it in BOOKS}
    if {values["origin"], values["next"][0]} != {own[0]}:
        raise Refused("key")
    if values["date"] != file_day:
        raise Refused("date")
    if (sum(books.values()) != 2 * sum(books[it] for it in CREDITS) or books["clients"] != root[1] + root[2]
            or books["suspense"] != values["suspense"]):
        raise Refused("books")
    if min(root[1:]) < 0:
        raise Refused("negative")
    top = climb(start, steps, values["size"]) if is_proof else root
    top = (hashlib.sha256(b"caudal/day/empty/1\n").digest(), 0, 0) if values["size"] == 0 else top
    if top != root:
        raise Refused("path" if top[0] != root[0] and is_proof else "sums")
    return values, leaf


def follows(first, second):
    """What is known of the order of two checkpoints of a realm."""
    one, two, origin = first["date"], second["date"], first["origin"]
    if first["digest"] == second["digest"]:
        return None
    if second["previous"] == first["digest"] and one != two:
        if second["signer"] != first["next"]:
            raise Refused("key")
        return f"{origin}: {two} follows {one}"
    if (two - one).days < 2:
        raise Refused("previous")
    return f"{origin}: the days between {one} and {two} were not given: their order was not verified"


def pesos(centavos):
    return f"{'-' * (centavos < 0)}{abs(centavos) // 100}.{abs(centavos) % 100:02}"


def lines(values, leaf, key):
    yield f"verified: a {'proof' if leaf else 'day'} of {values['date']} by {values['origin']}"
    yield "signature: verified with the key " + (
        "in the file; THE KEY ITSELF WAS NOT VERIFIED: give the key that the PSP publishes" if key is None
        else "that was given" if values["signer"] == key else "that an earlier day names")
    if leaf:
        yield (f"balance: CVU {leaf['cvu']} has {leaf['available']} available and {leaf['held']} held after its voucher "
               f"{leaf['sequence']}, and is part of the total")
    yield f"total: {pesos(values['available'])} available and {pesos(values['held'])} held in {values['size']} accounts"
    yield "bank: " + values["bank"].replace("pending", "pending, a later day has it")
    yield "books: " + ", ".join(f"{it} {pesos(values['book ' + it])}" for it in BOOKS) + "; they add up"
    yield f"counts: {values['vouchers']} vouchers, {values['events']} events"
    if values["next"] != values["signer"]:
        yield "key: the days after it are signed with " + vkey(values["next"])


def main():
    parser = argparse.ArgumentParser(description="Verifies proofs and sealed days, without a service.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a proof or a day, as JSON")
    parser.add_argument("--key", metavar="VKEY", help="the key of the realm as the PSP publishes it, NAME+ID+BASE64")
    args = parser.parse_args()
    key = verifier_key(args.key or "")
    if args.key is not None and key is None:
        parser.error("--key is not a verifier key: NAME+ID+BASE64, with the id of this name and key")
    found = []
    for path in args.files:
        try:
            with open(path, "rb") as file:
                found.append([path, *verify(file.read(FILE_BYTES_MAX + 1)), None])
        except (Refused, OSError) as why:
            found.append([path, None, None, why if isinstance(why, Refused) else Refused("file", why.strerror)])
    order, last, known = [], None, [key]
    for each in sorted((it for it in found if it[1]), key=lambda it: (it[1]["origin"], it[1]["date"])):
        try:
            if key and each[1]["signer"] not in known:
                raise Refused("key")
            order += [follows(last, each[1])] if last and last["origin"] == each[1]["origin"] else []
            last = each[1]
            known.append(last["next"])
        except Refused as why:
            each[3] = why
    for path, values, leaf, why in found:
        said = f"refused ({': '.join(why.args)}): {WHY[why.args[0]]}" if why else "\n  ".join(lines(values, leaf, key))
        print(f"{path}: {said}")
    print("".join(f"{line}\n" for line in order if line), end="")
    if any(it[3] for it in found):
        sys.exit(f"verify_day: {sum(it[3] is not None for it in found)} of {len(found)} files refused")


if __name__ == "__main__":
    main()
