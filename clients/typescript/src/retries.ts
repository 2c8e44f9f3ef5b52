// When a request is sent again, and after which pause.

import { CaudalError, type NoAnswerError } from "./errors.js";

/** The bounds of trying again. */
export interface Retries {
  /** How often a request is sent at most; 1 is never again. */
  attempts: number;
  /** The pause before the second attempt, in milliseconds; each further one is twice as long. */
  pauseMs: number;
  /** All pauses of a call together are no longer, in milliseconds. */
  patienceMs: number;
}

/** Five attempts, within half a minute. */
export const USUAL: Retries = { attempts: 5, pauseMs: 200, patienceMs: 30_000 };

/** Whether a request that failed so may be sent again. `repeatable`: a second one changes nothing more. */
function mayRepeat(failure: CaudalError | NoAnswerError, repeatable: boolean): boolean {
  if (!(failure instanceof CaudalError)) return repeatable;
  switch (failure.status) {
    case 429:
    case 503:
      // Nothing was done, unless the code says that nobody knows.
      return repeatable || (failure.code !== "outcome_unknown" && failure.code !== "unknown");
    case 409:
      return repeatable && failure.retryAfterMs !== undefined;
    case 408:
    case 500:
    case 502:
    case 504:
      return repeatable;
    default:
      return false;
  }
}

/** How long to wait before the next attempt; undefined if there is none. */
export function pauseBefore(
  failure: CaudalError | NoAnswerError,
  repeatable: boolean,
  attempt: number,
  waitedMs: number,
  retries: Retries,
): number | undefined {
  if (attempt >= retries.attempts || !mayRepeat(failure, repeatable)) return undefined;
  const own = retries.pauseMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
  const asked = failure instanceof CaudalError ? (failure.retryAfterMs ?? 0) : 0;
  const pause = Math.max(own, asked);
  return waitedMs + pause > retries.patienceMs ? undefined : pause;
}
