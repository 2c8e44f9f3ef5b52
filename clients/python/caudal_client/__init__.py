"""A client of Caudal: every operation of the API under its name, retries, errors with a code, lists read to their
end, files, events as they happen, and webhooks verified. What operations take and give is in `caudal_client.generated.models`."""

from .async_client import AsyncCaudal
from .calls import Answer
from .client import Caudal
from .errors import CaudalError, NoAnswerError
from .retries import Retries
from .webhooks import UnknownEvent, WebhookVerificationError, verify_webhook

__all__ = [
    "Answer",
    "AsyncCaudal",
    "Caudal",
    "CaudalError",
    "NoAnswerError",
    "Retries",
    "UnknownEvent",
    "WebhookVerificationError",
    "verify_webhook",
]
