"""When a request is sent again, and after which pause."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .errors import CaudalError, NoAnswerError


@dataclass(frozen=True)
class Retries:
    """The bounds of trying again: eight attempts within a minute, unless set.

    attempts: How often a request is tried at most; 1 is never again. An attempt goes to each base URL at most once.
    pause: The seconds before the second attempt; each further pause is twice as long.
    patience: Nothing is sent later than this many seconds after the call began.
    """

    attempts: int = 8
    pause: float = 0.2
    patience: float = 60.0

    def before(
        self, failure: CaudalError | NoAnswerError, repeatable: bool, attempt: int, elapsed: float, further: bool
    ) -> float | None:
        """How long to wait before the request is sent again; None if it is not.

        repeatable: A second request changes nothing more than the first.
        elapsed: The seconds since the call began.
        further: It goes to a further base URL in the same attempt.
        """
        if not _may_repeat(failure, repeatable) or not further and attempt >= self.attempts:
            return None
        asked = failure.retry_after if isinstance(failure, CaudalError) else None
        own = 0.0 if further else self.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
        pause = max(own, asked or 0.0)
        return pause if elapsed + pause <= self.patience else None


def _may_repeat(failure: CaudalError | NoAnswerError, repeatable: bool) -> bool:
    if isinstance(failure, NoAnswerError):
        return repeatable or not failure.sent
    match failure.status:
        case 429 | 503:
            # Nothing was done, unless the code says that nobody knows.
            return repeatable or failure.code not in ("outcome_unknown", "unknown")
        case 409:
            return repeatable and failure.retry_after is not None
        case 408 | 500 | 502 | 504:
            return repeatable
        case _:
            return False
