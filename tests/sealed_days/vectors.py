# Which signatures, notes and keys of a file verify_day.py accepts: vectors.py FILE
import json, pathlib, sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "verify"))
import verify_day as it

vectors = json.loads(pathlib.Path(sys.argv[1]).read_text())


def opened(note):
    try:
        return it.open_note(note["note"], it.verifier_key(note["key"]))
    except it.Refused:
        return None


parts = ("public", "message", "signature")
print(json.dumps({
    "signatures": [it.is_signature(*(bytes.fromhex(each[part]) for part in parts)) for each in vectors["signatures"]],
    "notes": [opened(note) for note in vectors["notes"]],
    "keys": [it.verifier_key(key) is not None for key in vectors["keys"]],
}))
