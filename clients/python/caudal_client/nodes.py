"""The base URLs of a service with several nodes: one of them serves, the others name it."""

from __future__ import annotations

from collections.abc import Sequence

import httpx

from .errors import CaudalError, NoAnswerError


class Nodes:
    """The base URLs of a client.

    last: The number of the one that answered last.
    """

    def __init__(self, given: str | Sequence[str]):
        self.urls = [it.rstrip("/") for it in ([given] if isinstance(given, str) else given)]
        self._origins = [_origin(it) for it in self.urls]
        self.last = 0
        if not self.urls:
            raise ValueError("url must name at least one base URL")
        if None in self._origins:
            raise ValueError("each base URL must begin with http:// or https:// and name a host")

    def named(self, url: str | None) -> int | None:
        """The number of the base URL with the scheme, host and port of a URL. Others never get a request, since the key
        would go with it."""
        origin = _origin(url) if url is not None else None
        return self._origins.index(origin) if origin is not None and origin in self._origins else None


class Route:
    """The base URLs that one request goes to: each of them at most once in a round."""

    def __init__(self, nodes: Nodes):
        self._nodes = nodes
        self._at = nodes.last
        self._asked = {self._at}

    @property
    def url(self) -> str:
        """The base URL that is next."""
        return self._nodes.urls[self._at]

    def answered(self) -> None:
        """Notes that the URL works: the next request begins with it."""
        self._nodes.last = self._at

    def goes_on(self, failure: CaudalError | NoAnswerError) -> bool:
        """Chooses the URL after a failure; whether it is a further one of the same round."""
        if isinstance(failure, CaudalError) and failure.code != "not_owner":
            self._asked = {self._at}
            self.answered()
            return False
        owner = self._nodes.named(failure.owner) if isinstance(failure, CaudalError) else None
        count = len(self._nodes.urls)
        choice = [] if owner is None else [owner]
        choice += [(self._at + step) % count for step in range(1, count + 1)]
        further = [it for it in choice if it not in self._asked]
        self._at = (further or choice)[0]
        self._asked = self._asked | {self._at} if further else {self._at}
        # Also if this request ends here, the next one does not begin with what did not serve.
        self._nodes.last = self._at
        return bool(further)


def _origin(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a URL; None if it has none of HTTP's."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        return None
    usual = {"http": 80, "https": 443}.get(parsed.scheme)
    if usual is None or not parsed.host:
        return None
    return parsed.scheme, parsed.host, parsed.port or usual
