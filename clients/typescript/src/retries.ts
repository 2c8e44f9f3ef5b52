// When a request is sent again, and after which pause.

import { CaudalError, type NoAnswerError } from "./errors.js";

/** The bounds of trying again. */
export interface Retries {
  /** How often a request is tried at most; 1 is never again. An attempt goes to each base URL at most once. */
  attempts: number;
  /** The pause before the second attempt, in milliseconds; each further one is twice as long. */
  pauseMs: number;
  /** Nothing is sent later than this many milliseconds after the call began. */
  patienceMs: number;
}

/** Eight attempts, within a minute. */
export const USUAL: Retries = { attempts: 8, pauseMs: 200, patienceMs: 60_000 };

/** Whether a request that failed so may be sent again. `repeatable`: a second one changes nothing more. */
function mayRepeat(failure: CaudalError | NoAnswerError, repeatable: boolean): boolean {
  if (!(failure instanceof CaudalError)) return repeatable || !failure.sent;
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

/** Where a call is. */
export interface Progress {
  /** A second request changes nothing more than the first. */
  repeatable: boolean;
  /** The number of the attempt that failed, from 1. */
  attempt: number;
  /** The milliseconds since the call began. */
  elapsedMs: number;
  /** The request goes to a further base URL in the same attempt. */
  further: boolean;
}

/** How long to wait before the request is sent again; undefined if it is not. */
export function pauseBefore(
  failure: CaudalError | NoAnswerError,
  { repeatable, attempt, elapsedMs, further }: Progress,
  retries: Retries,
): number | undefined {
  if (!mayRepeat(failure, repeatable) || (!further && attempt >= retries.attempts)) return undefined;
  const own = further ? 0 : retries.pauseMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
  const asked = failure instanceof CaudalError ? (failure.retryAfterMs ?? 0) : 0;
  const pause = Math.max(own, asked);
  return elapsedMs + pause > retries.patienceMs ? undefined : pause;
}
