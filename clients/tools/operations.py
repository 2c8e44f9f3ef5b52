"""The table of operations of a client, by their names in the OpenAPI document.

operations.py typescript DOCUMENT            name, method, path, and whether it takes an Idempotency-Key
operations.py python DOCUMENT GENERATED      a method for each, over what openapi-python-client generated
"""

import ast
import json
import re
import sys
from pathlib import Path

METHODS = ("get", "post", "put", "patch", "delete")
#: The bank calls the one; for the other the clients have a method that is written by hand.
ASIDE = ("takeBankNotice", "streamEvents")
#: What is the client's own, and what only a cache has a use for.
WITHHELD = ("client", "if_none_match")


def resolved(document, it):
    """What a reference leads to, or the thing itself."""
    if "$ref" not in it:
        return it
    found = document
    for part in it["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def operations(document):
    """Each operation that answers in JSON: method, path, its description in the document."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS and operation["operationId"] not in ASIDE:
                yield method, path, operation


def parameters(document, operation):
    """The names of its parameters."""
    return [resolved(document, it)["name"] for it in operation.get("parameters", [])]


def sentence(operation):
    """The sentence that says what it does."""
    return operation["summary"].replace("*/", "*")


def typescript(document):
    """The table of the TypeScript client."""
    print("// Generated from the OpenAPI document.\n\nexport const operations = {")
    for method, path, operation in operations(document):
        takes = json.dumps("Idempotency-Key" in parameters(document, operation))
        print(f"  /** {sentence(operation)} */")
        print(
            f"  {operation['operationId']}: "
            f"{{ method: {json.dumps(method.upper())}, path: {json.dumps(path)}, takesKey: {takes} }},"
        )
    print("} as const;")


def snake(name):
    """The name of a Python module, as the generator makes it of an operation's."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def answered(annotation):
    """The type in `Response[Error | …]`, without the error."""
    if not isinstance(annotation, ast.Subscript):
        raise TypeError(ast.unparse(annotation))
    parts, rest = [], annotation.slice
    while isinstance(rest, ast.BinOp):
        parts.append(rest.right)
        rest = rest.left
    names = [ast.unparse(part) for part in [rest, *reversed(parts)]]
    # Any is of an answer without a body.
    return " | ".join(name for name in names if name not in ("Error", "Any")) or "None"


def python(document, generated):
    """The methods of the Python client."""
    imports, modules, methods, awaited = set(), [], [], []
    for _, _, operation in operations(document):
        name, tag = snake(operation["operationId"]), snake(operation["tags"][0])
        source = ast.parse((generated / "api" / tag / f"{name}.py").read_text())
        for node in source.body:
            if isinstance(node, ast.ImportFrom) and node.level == 3 and node.module not in (None, "client"):
                of = "generated." + node.module
                imports.update((of, alias.name) for alias in node.names if alias.name not in ("errors", "Response"))
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in ("datetime", "uuid"):
                imports.update((node.module, alias.name) for alias in node.names)
            if isinstance(node, ast.Import) and node.names[0].name == "datetime":
                imports.add(("", "datetime"))
        call = next(it for it in source.body if isinstance(it, ast.FunctionDef) and it.name == "sync_detailed")
        modules.append((tag, name))
        methods.append(method(name, call, operation))
        awaited.append(method(name, call, operation, "async ", "await "))
    tags = sorted({tag for tag, _ in modules})
    print('"""Generated from the OpenAPI document: a method for each operation."""\n')
    print("from __future__ import annotations\n\nimport datetime\nfrom typing import Any\n")
    print("from .generated import models")
    for tag in tags:
        print(f"from .generated.api.{tag} import {', '.join(name for it, name in modules if it == tag)}")
    for module, name in sorted(imports):
        if module.startswith("generated."):
            print(f"from .{module} import {name}")
    print('\n\nclass Operations:\n    """The operations of the API."""\n')
    print('    def _call(self, module: Any, **values: Any) -> Any:\n        raise NotImplementedError\n')
    print("\n".join(methods))
    print('\n\nclass AsyncOperations:\n    """The operations of the API, each to be awaited."""\n')
    print('    async def _call(self, module: Any, **values: Any) -> Any:\n        raise NotImplementedError\n')
    print("\n".join(awaited))
    print("\n#: The generated module of each operation, by its name.\nMODULES: dict[str, Any] = {")
    for _, name in modules:
        print(f'    "{name}": {name},')
    print("}\n\n#: The class of each type of event.\nEVENTS: dict[str, Any] = {")
    mapping = document["components"]["schemas"]["Event"]["discriminator"]["mapping"]
    for kind, reference in mapping.items():
        print(f'    "{kind}": models.{reference.rsplit("/", 1)[1]},')
    print("}")


def method(name, call, operation, begun="", awaited=""):
    """The text of one method."""
    arguments = call.args
    positional = [f"{it.arg}: {ast.unparse(it.annotation)}" for it in arguments.args]
    named = []
    for it, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if it.arg in WITHHELD:
            continue
        annotation = ast.unparse(it.annotation)
        if it.arg == "idempotency_key":
            annotation, default = "str | Unset", ast.Name("UNSET")
        named.append(f"{it.arg}: {annotation}" + (f" = {ast.unparse(default)}" if default else ""))
    head = ", ".join(["self", *positional, *(["*"] if named else []), *named])
    names = [it.arg for it in arguments.args + arguments.kwonlyargs if it.arg not in WITHHELD]
    values = "".join(f", {it}={it}" for it in names)
    result = answered(call.returns)
    text = sentence(operation).replace('"""', "'''")
    return (
        f'    {begun}def {name}({head}) -> {result}:\n        """{text}"""\n'
        f"        return {awaited}self._call({name}{values})\n"
    )


if __name__ == "__main__":
    said = json.loads(Path(sys.argv[2]).read_text())
    if sys.argv[1] == "typescript":
        typescript(said)
    else:
        python(said, Path(sys.argv[3]))
