"""What the two clients share: one call with its retries, and what comes in an answer."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, TypeVar

import httpx

from .errors import CaudalError, NoAnswerError
from .generated import Client
from .nodes import Nodes, Route
from .operations import MODULES
from .retries import Retries
from .webhooks import event_of

T = TypeVar("T")

#: The form of a list in which its rows come one after the other.
NDJSON = "application/x-ndjson"
#: A stream of events says at least every 15 seconds that it is alive.
STREAM_TIMEOUT = httpx.Timeout(30.0, read=60.0)


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer with what its headers say.

    replayed: Whether this is the answer of an earlier request with the same key or `id_externo`.
    """

    data: T
    status: int
    headers: httpx.Headers
    replayed: bool


def module_of(operation: Any) -> Any:
    """The generated module of an operation of a client."""
    name = getattr(operation, "__name__", None)
    if name not in MODULES:
        raise TypeError(f"{name} is no operation of the API")
    return MODULES[name]


class Shared:
    """What the calls of one client share.

    options: What its client of `httpx` is made with.
    """

    def __init__(self, url: str | Sequence[str], key: str, retries: Retries, timeout: float):
        self.nodes, self.retries = Nodes(url), retries
        self.generated = Client(base_url=self.nodes.urls[0], raise_on_unexpected_status=True)
        # Redirects are not followed: the key goes to the given URLs only.
        self.options: dict[str, Any] = {"headers": {"x-api-key": key}, "timeout": timeout, "follow_redirects": False}


class Call:
    """A request that is sent until it is answered. A POST that takes an `Idempotency-Key` gets one, unless it has one or
    an `id_externo` already, so that it can be sent again."""

    def __init__(
        self,
        module: Any,
        args: tuple[Any, ...],
        values: dict[str, Any],
        shared: Shared,
        accept: str | None = None,
    ):
        named = bool(getattr(values.get("body"), "id_externo", None))
        is_try = values.get("dry_run") is True
        key = values.get("idempotency_key") or None
        if key is None and "idempotency_key" in signature(module._get_kwargs).parameters and not named and not is_try:
            key = values["idempotency_key"] = str(uuid.uuid4())
        request = module._get_kwargs(*args, **values)
        self._module = module
        self._begin(request, shared)
        self.key = key
        self._repeatable = request["method"] == "get" or key is not None or named or is_try
        if accept is not None:
            request.setdefault("headers", {})["Accept"] = accept

    @classmethod
    def to_stream(cls, after: str | None, types: Sequence[str], shared: Shared) -> Call:
        """The call that opens the stream of events."""
        call = cls.__new__(cls)
        asked = {"after": after, "types": ",".join(types)}
        request = {
            "method": "get",
            "url": "/v1/events/stream",
            "params": {name: value for name, value in asked.items() if value},
            "headers": {"Accept": "text/event-stream"},
            "timeout": STREAM_TIMEOUT,
        }
        call._begin(request, shared)
        call.key, call._repeatable = None, True
        return call

    def _begin(self, request: dict[str, Any], shared: Shared) -> None:
        self._shared = shared
        self._path, self._route = request.pop("url"), Route(shared.nodes)
        self.request = request
        self._attempt, self._begun = 1, time.monotonic()

    @property
    def url(self) -> str:
        """Where it is sent next."""
        return self._route.url + self._path

    def answered(self) -> None:
        """Notes that the URL works."""
        self._route.answered()

    def answer(self, response: httpx.Response) -> Answer[Any]:
        """The answer in a response that is a success."""
        self.answered()
        data = self._module._parse_response(client=self._shared.generated, response=response)
        replayed = response.headers.get("Idempotent-Replayed") == "true"
        return Answer(data, response.status_code, response.headers, replayed)

    def pause(self, failure: CaudalError | NoAnswerError) -> float:
        """How long to wait before it is sent again after a failure. Raises the failure if it is not."""
        further = self._route.goes_on(failure)
        elapsed = time.monotonic() - self._begun
        pause = self._shared.retries.before(failure, self._repeatable, self._attempt, elapsed, further)
        if pause is None:
            raise failure
        self._attempt += 0 if further else 1
        return pause


def next_page(answer: Answer[Any], values: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments for the page after an answer; None after the last."""
    cursor = answer.headers.get("X-Next-Cursor")
    if cursor is None:
        return None
    # The cursor stands for where the page began, too.
    begins = ("offset", "after", "page", "page_number")
    return {name: value for name, value in values.items() if name not in begins} | {"cursor": cursor}


class Rows:
    """The rows of a list as NDJSON. Its last line is a summary: without it, the answer was cut."""

    def __init__(self) -> None:
        self._whole = False

    def take(self, line: str) -> dict[str, Any] | None:
        """The row of a line; None for the summary."""
        row = json.loads(line)
        self._whole = set(row) == {"summary"}
        return None if self._whole else row

    def end(self) -> None:
        """Raises NoAnswerError if the answer was cut."""
        if not self._whole:
            raise NoAnswerError(EOFError("the answer was cut"))


class EventReader:
    """Reads events from the lines of a stream.

    after: The id of the last event, from which a stream goes on.
    pause: How many seconds to wait before a stream that was cut is opened again.
    """

    def __init__(self, after: str | None):
        self.after = after
        self.pause = 2.0
        self._id: str | None = None
        self._data: str | None = None

    def take(self, line: str) -> Any:
        """The event that a line completes; None if it completes none."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "id":
                self._id = value
            case "data":
                self._data = value
            case "retry" if value.isdecimal():
                self.pause = int(value) / 1000
        if line:
            return None
        data, self._data = self._data, None
        self.after, self._id = self._id or self.after, None
        return None if data is None else event_of(json.loads(data))
