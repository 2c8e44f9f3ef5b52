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
  /** The URL of the node that serves, if this one does not (`not_owner`) and knows it. */
  readonly owner: string | undefined;
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
    this.owner = response.headers.get("Caudal-Owner") ?? undefined;
    this.idempotencyKey = idempotencyKey;
  }
}

/** What the platform says when there was no connection over which anything could be sent. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Nothing came back, or not whole: whether the order was executed is not known, unless it was never sent. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  /** Whether the order may have reached the service; not if there was no connection. */
  readonly sent: boolean;
  /** The key of the request: with it, the same order can be tried again later, and is executed once. */
  readonly idempotencyKey: string | undefined;

  constructor(cause: unknown, idempotencyKey?: string) {
    super(`no answer from the service: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    const why = cause instanceof Error ? (cause.cause as { code?: unknown } | undefined) : undefined;
    this.sent = !(typeof why?.code === "string" && UNSENT.has(why.code));
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
