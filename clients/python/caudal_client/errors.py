"""What a call can fail with: an error of the API, or no answer at all."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


class CaudalError(Exception):
    """The service refused, or failed: switch on `code`, show `message` to people.

    status: The HTTP status.
    code: A stable word; `unknown` if the answer was none of Caudal's, for instance a proxy's.
    message: A sentence for people.
    request_id: Names the request in the service's log.
    errors: Each field that is wrong, with a message.
    details: The figures of a refusal, by code.
    retry_after: After how many seconds the service asks to be tried again.
    owner: The URL of the node that serves, if this one does not (`not_owner`) and knows it.
    idempotency_key: The key of the request: with it, the same order can be tried again later, and is executed once.
    """

    def __init__(self, response: httpx.Response, idempotency_key: str | None = None):
        body = _parsed(response)
        self.status: int = response.status_code
        self.code: str = body.get("code", "unknown")
        self.message: str = body.get("message", "a body that is no error of Caudal")
        self.request_id: str | None = body.get("requestId") or response.headers.get("X-Request-Id")
        self.errors: list[dict[str, Any]] = body.get("errors") or []
        self.details: dict[str, Any] = body.get("details") or {}
        self.retry_after: float | None = _seconds(response.headers.get("Retry-After"))
        self.owner: str | None = response.headers.get("Caudal-Owner")
        self.idempotency_key = idempotency_key
        super().__init__(f"{self.status} {self.code}: {self.message}")


class NoAnswerError(Exception):
    """Nothing came back, or not whole: whether the order was executed is not known, unless it was never sent.

    idempotency_key: The key of the request: with it, the same order can be tried again later, and is executed once.
    sent: Whether the order may have reached the service; not if there was no connection.
    """

    def __init__(self, cause: Exception, idempotency_key: str | None = None):
        self.idempotency_key = idempotency_key
        self.sent = not isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout)
        super().__init__(f"no answer from the service: {cause}")


def _parsed(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) and isinstance(body.get("code"), str) else {}


def _seconds(header: str | None) -> float | None:
    """A `Retry-After`, which is seconds or a date."""
    if header is None:
        return None
    if header.isdecimal():
        return float(header)
    try:
        return max(parsedate_to_datetime(header).timestamp() - time.time(), 0.0)
    except ValueError:
        return None
