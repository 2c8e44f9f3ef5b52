"""The client: what all operations share."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

import httpx

from .errors import CaudalError, NoAnswerError
from .generated import Client
from .nodes import Nodes, Route
from .operations import MODULES, Operations
from .retries import Retries

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer with what its headers say.

    replayed: Whether this is the answer of an earlier request with the same key or `id_externo`.
    """

    data: T
    status: int
    headers: httpx.Headers
    replayed: bool


class _Page(Protocol[T]):
    items: list[T]


class Caudal(Operations):
    """A client of one realm: a tenant's live or test mode, as the key is. Threads may share it.

    url: Where the service is, for instance `http://127.0.0.1:8080`; a list for a service with several nodes.
    key: The API key.
    timeout: How long one attempt may take, in seconds.
    transport: In place of the network.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        key: str,
        *,
        retries: Retries = Retries(),
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ):
        self._retries = retries
        self._nodes = Nodes(url)
        self._generated = Client(base_url=self._nodes.urls[0], raise_on_unexpected_status=True)
        # Redirects are not followed: the key goes to the given URLs only.
        self._http = httpx.Client(
            headers={"x-api-key": key}, timeout=timeout, transport=transport, follow_redirects=False
        )

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Caudal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        """Calls an operation of this client, and gives its answer with the headers."""
        name = operation.__name__
        if name not in MODULES:
            raise TypeError(f"{name} is no operation of the API")
        return self._answer(MODULES[name], args, dict(kwargs))

    @overload
    def each(self, operation: Callable[P, list[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]: ...

    @overload
    def each(self, operation: Callable[P, _Page[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]: ...

    def each(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """All rows of a list from the beginning or from `cursor`, page after page as they are taken."""
        while True:
            page = self.answer(operation, *args, **kwargs)
            yield from page.data if isinstance(page.data, list) else page.data.items
            cursor = page.headers.get("X-Next-Cursor")
            if cursor is None:
                return
            # The cursor stands for where the page began, too.
            begins = ("offset", "after", "page", "page_number")
            kwargs = {name: value for name, value in kwargs.items() if name not in begins}
            kwargs["cursor"] = cursor

    def _call(self, module: Any, **values: Any) -> Any:
        return self._answer(module, (), values).data

    def _answer(self, module: Any, args: tuple[Any, ...], values: dict[str, Any]) -> Answer[Any]:
        """Sends a request until it is answered. A POST that takes an `Idempotency-Key` gets one, unless it has one or
        an `id_externo` already, so that it can be sent again."""
        named = bool(getattr(values.get("body"), "id_externo", None))
        is_try = values.get("dry_run") is True
        key = values.get("idempotency_key") or None
        if key is None and "idempotency_key" in signature(module._get_kwargs).parameters and not named and not is_try:
            key = values["idempotency_key"] = str(uuid.uuid4())
        request = module._get_kwargs(*args, **values)
        repeatable = request["method"] == "get" or key is not None or named or is_try
        path, route = request.pop("url"), Route(self._nodes)
        attempt, begun = 1, time.monotonic()
        while True:
            failure: CaudalError | NoAnswerError
            try:
                response = self._http.request(url=route.url + path, **request)
                if response.is_success:
                    route.answered()
                    data = module._parse_response(client=self._generated, response=response)
                    replayed = response.headers.get("Idempotent-Replayed") == "true"
                    return Answer(data, response.status_code, response.headers, replayed)
                failure = CaudalError(response, key)
            except httpx.TransportError as why:
                failure = NoAnswerError(why, key)
            further = route.goes_on(failure)
            pause = self._retries.before(failure, repeatable, attempt, time.monotonic() - begun, further)
            if pause is None:
                raise failure
            time.sleep(pause)
            attempt += 0 if further else 1
