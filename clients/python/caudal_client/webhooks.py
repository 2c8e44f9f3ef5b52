"""Webhooks, verified by the library of Standard Webhooks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from standardwebhooks import Webhook, WebhookVerificationError

from .operations import EVENTS

__all__ = ["UnknownEvent", "WebhookVerificationError", "verify_webhook"]


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a type that a later version of the service has added."""

    type_: str
    body: dict[str, Any]


class Headers(Protocol):
    """Headers as a library of HTTP has them: names in whatever case, and values."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify_webhook(secret: str, headers: Headers, body: bytes | str) -> Any:
    """The event of a webhook, if its signature is right and its time within five minutes.

    secret: The secret of the webhook, `whsec_…`.
    body: The body exactly as it came: parsed and written again, it would have another signature.

    Gives an object of the class of its type, for instance `VoucherCreatedEvent`. Raises WebhookVerificationError.
    """
    return event_of(Webhook(secret).verify(body, {name.lower(): value for name, value in headers.items()}))


def event_of(body: dict[str, Any]) -> Any:
    """The object of an event, of the class of its type."""
    kind = EVENTS.get(body["type"])
    return kind.from_dict(body) if kind else UnknownEvent(body["type"], body)
