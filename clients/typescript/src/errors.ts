// What a call can fail with: an error of the API, or no answer at all.

import type { components } from "./generated/schema.js";

type Body = components["schemas"]["Error"];

/** The codes that this version knows; a later service may have more. */
export type ErrorCode = components["schemas"]["ErrorCode"] | (string & {});

/** The service refused, or failed: switch on `code`, show `message` to people. */
export class CaudalError extends Error {
  override readonly name = "CaudalError";
  /** The HTTP status. */
  readonly status: number;
  /** A stable word; `unknown` if the answer was none of Caudal's, for instance a proxy's. */
  readonly code: ErrorCode;
  /** Names the request in the service's log. */
  readonly requestId: string | undefined;
  /** Each field that is wrong. */
  readonly errors: NonNullable<Body["errors"]>;
  /** The figures of a refusal, by code. */
  readonly details: Record<string, unknown>;
  /** After how many milliseconds the service asks to be tried again. */
  readonly retryAfterMs: number | undefined;
  /** The key of the request: with it, the same order can be tried again later, and is executed once. */
  readonly idempotencyKey: string | undefined;

  constructor(response: Response, text: string, idempotencyKey?: string) {
    const body = parsed(text);
    super(body?.message ?? `status ${response.status} with a body that is no error of Caudal`);
    this.status = response.status;
    this.code = body?.code ?? "unknown";
    this.requestId = body?.requestId ?? response.headers.get("X-Request-Id") ?? undefined;
    this.errors = body?.errors ?? [];
    this.details = body?.details ?? {};
    this.retryAfterMs = millis(response.headers.get("Retry-After"));
    this.idempotencyKey = idempotencyKey;
  }
}

/** Nothing came back, or not whole: whether the order was executed is not known. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  /** The key of the request: with it, the same order can be tried again later, and is executed once. */
  readonly idempotencyKey: string | undefined;

  constructor(cause: unknown, idempotencyKey?: string) {
    super(`no answer from the service: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.idempotencyKey = idempotencyKey;
  }
}

function parsed(text: string): Body | undefined {
  try {
    const body = JSON.parse(text) as Partial<Body> | null;
    return typeof body?.code === "string" && typeof body.message === "string" ? (body as Body) : undefined;
  } catch {
    return undefined;
  }
}

/** A `Retry-After`, which is seconds or a date. */
function millis(header: string | null): number | undefined {
  if (header === null) return undefined;
  const until = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(until) ? undefined : Math.max(until, 0);
}
