"""The client."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import httpx

from .calls import NDJSON, Answer, Call, EventReader, Rows, Shared, module_of, next_page
from .errors import CaudalError, NoAnswerError
from .operations import Operations
from .retries import Retries

P = ParamSpec("P")
T = TypeVar("T")


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
        self._shared = Shared(url, key, retries, timeout)
        self._http = httpx.Client(transport=transport, **self._shared.options)

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Caudal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answer(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        """Calls an operation of this client, and gives its answer with the headers."""
        return self._answer(module_of(operation), args, dict(kwargs))

    @overload
    def each(self, operation: Callable[P, list[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]: ...

    @overload
    def each(self, operation: Callable[P, _Page[T]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T]: ...

    def each(self, operation: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """All rows of a list from the beginning or from `cursor`, page after page as they are taken."""
        asked: dict[str, Any] | None = kwargs
        while asked is not None:
            page = self.answer(operation, *args, **asked)
            yield from page.data if isinstance(page.data, list) else page.data.items
            asked = next_page(page, asked)

    def rows(self, operation: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Iterator[dict[str, Any]]:
        """All rows of a list in one answer, each as a dict with the names of the API. Raises NoAnswerError if the answer
        is cut."""
        rows = Rows()
        with closing(self._open(Call(module_of(operation), args, dict(kwargs), self._shared, NDJSON))) as response:
            for line in _sent(response.iter_lines()):
                row = rows.take(line)
                if row is not None:
                    yield row
        rows.end()

    def download(self, accept: str, operation: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Iterator[bytes]:
        """The answer of an operation in another form than JSON, for instance `text/csv` or `application/pdf`. Raises
        NoAnswerError if the answer is cut."""
        call = Call(module_of(operation), args, dict(kwargs), self._shared, accept)
        with closing(self._open(call)) as response:
            yield from _sent(response.iter_bytes())

    def events(self, *, after: str | None = None, types: Sequence[str] = ()) -> Iterator[Any]:
        """Events as they happen, after the one with the id `after` or from now on, without end. A stream that is cut is
        opened again after its last event."""
        reader = EventReader(after)
        while True:
            with closing(self._open(Call.to_stream(reader.after, types, self._shared))) as response:
                try:
                    for line in response.iter_lines():
                        event = reader.take(line)
                        if event is not None:
                            yield event
                except httpx.TransportError:
                    pass
            time.sleep(reader.pause)

    def _call(self, module: Any, **values: Any) -> Any:
        return self._answer(module, (), values).data

    def _answer(self, module: Any, args: tuple[Any, ...], values: dict[str, Any]) -> Answer[Any]:
        call = Call(module, args, values, self._shared)
        while True:
            failure: CaudalError | NoAnswerError
            try:
                response = self._http.request(url=call.url, **call.request)
                if response.is_success:
                    return call.answer(response)
                failure = CaudalError(response, call.key)
            except httpx.TransportError as why:
                failure = NoAnswerError(why, call.key)
            time.sleep(call.pause(failure))

    def _open(self, call: Call) -> httpx.Response:
        """A response that is a success, before its body is read."""
        while True:
            failure: CaudalError | NoAnswerError
            try:
                request = self._http.build_request(url=call.url, **call.request)
                response = self._http.send(request, stream=True)
                if response.is_success:
                    call.answered()
                    return response
                response.read()
                failure = CaudalError(response, call.key)
            except httpx.TransportError as why:
                failure = NoAnswerError(why, call.key)
            time.sleep(call.pause(failure))


def _sent(parts: Iterator[T]) -> Iterator[T]:
    try:
        yield from parts
    except httpx.TransportError as why:
        raise NoAnswerError(why) from why
