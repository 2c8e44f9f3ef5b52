"""The samples of the API reference: those in Python make the request of their operation, those in TypeScript compile.

python samples.py URL, where URL is that of a service. Writes `samples.ts`, for the compiler.
"""

import datetime
import html
import re
import sys
import urllib.request
from pathlib import Path

from caudal_client import Caudal
from caudal_client.generated import models
from caudal_client.generated.types import UNSET

SAMPLE = re.compile(r"<summary>(\w+)</summary>\s*<pre[^>]*><code>(.*?)</code></pre>", re.DOTALL)
#: What a sample in TypeScript passes besides a body.
PARAMETERS = re.compile(r"await api\.\w+\(\{ ((?:\w+\b(?!:)(?:, )?)*)")


class Values(dict):
    """The variables of a sample: each one that it names has a value."""

    def __missing__(self, name):
        return datetime.date(2026, 3, 1)


class Requests(Caudal):
    """A client that makes requests and sends none."""

    made = 0

    def _call(self, module, **values):
        module._get_kwargs(**{name: value for name, value in values.items() if value is not UNSET})
        self.made += 1

    def events(self, **_):
        self.made += 1
        return []


def main():
    """Runs and writes the samples."""
    url = sys.argv[1]
    page = urllib.request.urlopen(f"{url}/docs/api").read().decode()
    samples = [(language, html.unescape(code)) for language, code in SAMPLE.findall(page)]
    api = Requests(url, "none")
    for code in (code for language, code in samples if language == "Python"):
        try:
            exec(code, {}, Values(api=api, models=models))
        except Exception:
            print(f"this sample fails: {code}", file=sys.stderr)
            raise
    typed = [code for language, code in samples if language == "TypeScript"]
    named = [PARAMETERS.match(code) for code in typed]
    names = {name for found in named if found for name in re.findall(r"\w+", found[1])}
    assert api.made == len(typed) > 50, (api.made, len(typed))
    head = 'import { Caudal } from "caudal-client";\ndeclare const api: Caudal;\n'
    declared = "".join(f"declare const {name}: any;\n" for name in sorted(names))
    Path("samples.ts").write_text(head + declared + "\n".join(typed) + "\n")
    print(f"samples: {api.made} in Python make their request")


main()
