"""The client for asyncio and trio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, ParamSpec, TypeVar

import anyio
import httpx

from .calls import NDJSON, Answer, Call, EventReader, Rows, Shared, module_of, next_page
from .errors import CaudalError, NoAnswerError
from .operations import AsyncOperations
from .retries import Retries

P = ParamSpec("P")
T = TypeVar("T")


class AsyncCaudal(AsyncOperations):
    """The same as `Caudal`, where each operation is awaited and each list is read with `async for`. Tasks may share it."""

    def __init__(
        self,
        url: str | Sequence[str],
        key: str,
        *,
        retries: Retries = Retries(),
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ):
        self._shared = Shared(url, key, retries, timeout)
        self._http = httpx.AsyncClient(transport=transport, **self._shared.options)

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncCaudal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def answer(self, operation: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Answer[T]:
        """As `Caudal.answer`."""
        return await self._answer(module_of(operation), args, dict(kwargs))

    async def each(self, operation: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """As `Caudal.each`."""
        asked: dict[str, Any] | None = kwargs
        while asked is not None:
            page = await self.answer(operation, *args, **asked)
            for row in page.data if isinstance(page.data, list) else page.data.items:
                yield row
            asked = next_page(page, asked)

    async def rows(
        self, operation: Callable[P, Awaitable[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[dict[str, Any]]:
        """As `Caudal.rows`."""
        rows = Rows()
        response = await self._open(Call(module_of(operation), args, dict(kwargs), self._shared, NDJSON))
        async with aclosing(response):
            async for line in _sent(response.aiter_lines()):
                row = rows.take(line)
                if row is not None:
                    yield row
        rows.end()

    async def download(
        self, accept: str, operation: Callable[P, Awaitable[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[bytes]:
        """As `Caudal.download`."""
        response = await self._open(Call(module_of(operation), args, dict(kwargs), self._shared, accept))
        async with aclosing(response):
            async for part in _sent(response.aiter_bytes()):
                yield part

    async def events(self, *, after: str | None = None, types: Sequence[str] = ()) -> AsyncIterator[Any]:
        """As `Caudal.events`."""
        reader = EventReader(after)
        while True:
            async with aclosing(await self._open(Call.to_stream(reader.after, types, self._shared))) as response:
                try:
                    async for line in response.aiter_lines():
                        event = reader.take(line)
                        if event is not None:
                            yield event
                except httpx.TransportError:
                    pass
            await anyio.sleep(reader.pause)

    async def _call(self, module: Any, **values: Any) -> Any:
        return (await self._answer(module, (), values)).data

    async def _answer(self, module: Any, args: tuple[Any, ...], values: dict[str, Any]) -> Answer[Any]:
        call = Call(module, args, values, self._shared)
        while True:
            failure: CaudalError | NoAnswerError
            try:
                response = await self._http.request(url=call.url, **call.request)
                if response.is_success:
                    return call.answer(response)
                failure = CaudalError(response, call.key)
            except httpx.TransportError as why:
                failure = NoAnswerError(why, call.key)
            await anyio.sleep(call.pause(failure))

    async def _open(self, call: Call) -> httpx.Response:
        """A response that is a success, before its body is read."""
        while True:
            failure: CaudalError | NoAnswerError
            try:
                request = self._http.build_request(url=call.url, **call.request)
                response = await self._http.send(request, stream=True)
                if response.is_success:
                    call.answered()
                    return response
                await response.aread()
                failure = CaudalError(response, call.key)
            except httpx.TransportError as why:
                failure = NoAnswerError(why, call.key)
            await anyio.sleep(call.pause(failure))


async def _sent(parts: AsyncIterator[T]) -> AsyncIterator[T]:
    try:
        async for part in parts:
            yield part
    except httpx.TransportError as why:
        raise NoAnswerError(why) from why
