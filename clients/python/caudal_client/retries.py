"""When a request is sent again, and after which pause."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .errors import CaudalError, NoAnswerError


@dataclass(frozen=True)
class Retries:
    """The bounds of trying again: five attempts within half a minute, unless set.

    attempts: How often a request is sent at most; 1 is never again.
    pause: The seconds before the second attempt; each further pause is twice as long.
    patience: All pauses of a call together are no longer, in seconds.
    """

    attempts: int = 5
    pause: float = 0.2
    patience: float = 30.0

    def before(
        self, failure: CaudalError | NoAnswerError, repeatable: bool, attempt: int, waited: float
    ) -> float | None:
        """How long to wait before the next attempt; None if there is none.

        repeatable: A second request changes nothing more than the first.
        """
        if attempt >= self.attempts or not _may_repeat(failure, repeatable):
            return None
        asked = failure.retry_after if isinstance(failure, CaudalError) else None
        pause = max(self.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25), asked or 0.0)
        return pause if waited + pause <= self.patience else None


def _may_repeat(failure: CaudalError | NoAnswerError, repeatable: bool) -> bool:
    if isinstance(failure, NoAnswerError):
        return repeatable
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
