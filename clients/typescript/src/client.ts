// The client: every operation as a method, and what all of them share.

import { randomUUID } from "node:crypto";
import { clearTimeout, setTimeout as setTimer } from "node:timers";
import { setTimeout as sleep } from "node:timers/promises";
import { CaudalError, NoAnswerError } from "./errors.js";
import { operations as table } from "./generated/operations.js";
import type { operations } from "./generated/schema.js";
import { Nodes, Route } from "./nodes.js";
import { pauseBefore, type Retries, USUAL } from "./retries.js";
import type { Event } from "./webhooks.js";

/** The name of an operation, as the API's document has it. */
export type OperationName = keyof typeof table;

type Parameters<N extends OperationName> = operations[N]["parameters"];
type Path<N extends OperationName> = Parameters<N> extends { path: infer P } ? P : {};
type Query<N extends OperationName> = Parameters<N> extends { query: infer Q }
  ? Q
  : Parameters<N> extends { query?: infer Q }
    ? [Exclude<Q, undefined>] extends [never]
      ? {}
      : Partial<Exclude<Q, undefined>>
    : {};
type Body<N extends OperationName> = operations[N] extends { requestBody: { content: { "application/json": infer B } } }
  ? { body: B }
  : operations[N] extends { requestBody?: { content: { "application/json": infer B } } }
    ? { body?: B }
    : {};
type HeaderNames = { "Idempotency-Key": "idempotencyKey"; "If-Match": "ifMatch" };
type Headed<N extends OperationName> = Parameters<N> extends { header?: infer H }
  ? { [K in keyof Exclude<H, undefined> as K extends keyof HeaderNames ? HeaderNames[K] : never]?: string }
  : {};

/** What an operation takes: its parameters, `body`, and where it heeds them `idempotencyKey` and `ifMatch`. */
export type Input<N extends OperationName> = Path<N> & Query<N> & Body<N> & Headed<N> & { signal?: AbortSignal };
type Arguments<N extends OperationName> = {} extends Input<N> ? [input?: Input<N>] : [input: Input<N>];

type Content<R> = R extends { content: { "application/json": infer D } } ? D : undefined;
type Responses<N extends OperationName> = operations[N]["responses"];
/** What an operation gives. */
export type Output<N extends OperationName> = {
  [S in Extract<keyof Responses<N>, 200 | 201 | 202 | 204>]: Content<Responses<N>[S]>;
}[Extract<keyof Responses<N>, 200 | 201 | 202 | 204>];

type Methods = { [N in OperationName]: (...input: Arguments<N>) => Promise<Output<N>> };

/** The operations that give a list by pages. */
export type ListName = {
  [N in OperationName]: Parameters<N> extends { query?: { cursor?: string } } ? N : never;
}[OperationName];
type ItemOf<D> = D extends readonly (infer T)[] ? T : D extends { items: readonly (infer T)[] } ? T : never;
/** A row of a list. */
export type Item<N extends ListName> = ItemOf<Output<N>>;

/** An answer with what its headers say. */
export interface Answer<D> {
  data: D;
  status: number;
  headers: Headers;
  /** Whether this is the answer of an earlier request with the same key or `idExterno`. */
  replayed: boolean;
}

/** How a client is made. */
export interface CaudalOptions {
  /** Where the service is, for instance `http://127.0.0.1:8080`; a list for a service with several nodes. */
  url: string | readonly string[];
  /** The API key. */
  key: string;
  /** Bounds of trying again; what is absent is as usual. */
  retries?: Partial<Retries>;
  /** How long one attempt may take, in milliseconds; 30,000 when absent. */
  timeoutMs?: number;
  /** In place of the platform's `fetch`. */
  fetch?: typeof fetch;
}

interface Loose {
  body?: unknown;
  idempotencyKey?: string;
  ifMatch?: string;
  signal?: AbortSignal;
  [parameter: string]: unknown;
}

/** Which events a stream has. */
export interface EventsAsked {
  /** The id of the event after which it begins; when absent, it begins now. */
  after?: string;
  /** The types; all when absent. */
  types?: readonly string[];
  signal?: AbortSignal;
}

interface Request {
  path: string;
  method: string;
  key: string | undefined;
  repeatable: boolean;
  headers: Record<string, string>;
  signal: AbortSignal | undefined;
  body: string | null;
}

/** A client of one realm: a tenant's live or test mode, as the key is. */
export interface Caudal extends Methods {}

export class Caudal {
  readonly #options: CaudalOptions & { timeoutMs: number; retries: Retries };
  readonly #nodes: Nodes;

  constructor(options: CaudalOptions) {
    this.#nodes = new Nodes(options.url);
    this.#options = { timeoutMs: 30_000, ...options, retries: { ...USUAL, ...options.retries } };
  }

  /**
   * Calls an operation, and gives its answer with the headers. A POST that takes an `Idempotency-Key` gets one,
   * unless `idempotencyKey` or an `idExterno` in the body is there already, so that it can be sent again.
   *
   * @throws {CaudalError} The service refused, or went on failing.
   * @throws {NoAnswerError} No attempt was answered.
   */
  async answer<N extends OperationName>(name: N, ...[input]: Arguments<N>): Promise<Answer<Output<N>>> {
    const request = this.#request(name, (input ?? {}) as Loose, "application/json");
    const { taken, response } = await this.#send(request, async (response) => {
      const text = await response.text();
      return (text === "" ? undefined : JSON.parse(text)) as Output<N>;
    });
    const replayed = response.headers.get("Idempotent-Replayed") === "true";
    return { data: taken, status: response.status, headers: response.headers, replayed };
  }

  /** Sends a request until it is answered; `take` gets what it can of a success within the time of an attempt. */
  async #send<D>(request: Request, take: (response: Response) => D | Promise<D>): Promise<{ taken: D; response: Response }> {
    const { path, method, key, repeatable, body, headers, signal } = request;
    const { retries, timeoutMs } = this.#options;
    const ask = this.#options.fetch ?? fetch;
    const route = new Route(this.#nodes);
    const begun = performance.now();
    for (let attempt = 1; ; ) {
      signal?.throwIfAborted();
      let failure: CaudalError | NoAnswerError;
      const limit = new AbortController();
      const timer = setTimer(() => limit.abort(new Error(`nothing came within ${timeoutMs} ms`)), timeoutMs);
      try {
        const within = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal;
        // Redirects are not followed: the key goes to the given URLs only.
        const response = await ask(route.url + path, { method, headers, body, signal: within, redirect: "manual" });
        if (response.ok) {
          const taken = await take(response);
          route.answered();
          return { taken, response };
        }
        failure = new CaudalError(response, await response.text(), key);
      } catch (cause) {
        signal?.throwIfAborted();
        failure = new NoAnswerError(cause, key);
      } finally {
        clearTimeout(timer);
      }
      const further = route.goesOn(failure);
      const elapsedMs = performance.now() - begun;
      const pause = pauseBefore(failure, { repeatable, attempt, elapsedMs, further }, retries);
      if (pause === undefined) throw failure;
      if (!further) attempt += 1;
      await sleep(pause, undefined, signal ? { signal } : {});
    }
  }

  /** All rows of a list from the beginning or from `cursor`, page after page as they are taken. */
  async *each<N extends ListName>(name: N, ...[input]: Arguments<N>): AsyncGenerator<Item<N>, void, undefined> {
    let asked = { ...input } as Input<N>;
    for (;;) {
      const { data, headers } = await this.answer(name, ...([asked] as unknown as Arguments<N>));
      const page = data as Item<N>[] | { items: Item<N>[] };
      yield* Array.isArray(page) ? page : page.items;
      const cursor = headers.get("X-Next-Cursor");
      if (cursor === null) return;
      // The cursor stands for where the page began, too.
      const { offset: _, after: _a, page: _p, pageNumber: _n, ...rest } = asked as Loose;
      asked = { ...rest, cursor } as unknown as Input<N>;
    }
  }

  /**
   * All rows of a list in one answer.
   *
   * @throws {NoAnswerError} The answer was cut.
   */
  async *rows<N extends ListName>(name: N, ...[input]: Arguments<N>): AsyncGenerator<Item<N>, void, undefined> {
    const request = this.#request(name, (input ?? {}) as Loose, "application/x-ndjson");
    const { response } = await this.#send(request, () => undefined);
    // The last line is a summary; a voucher or an account has other fields.
    for await (const line of lines(response)) {
      const row = JSON.parse(line) as Item<N> | { summary: unknown };
      if (Object.keys(row as object).join() === "summary") return;
      yield row as Item<N>;
    }
    throw new NoAnswerError(new Error("the answer was cut"));
  }

  /**
   * The answer of an operation in another form than JSON, for instance `text/csv` or `application/pdf`. Reading it fails if
   * it is cut.
   */
  async download<N extends OperationName>(accept: string, name: N, ...[input]: Arguments<N>): Promise<ReadableStream<Uint8Array>> {
    const request = this.#request(name, (input ?? {}) as Loose, accept);
    const { response } = await this.#send(request, () => undefined);
    return response.body ?? new Blob().stream();
  }

  /**
   * Events as they happen, after the one with the id `after` or from now on, without end. A stream that is cut is opened
   * again after its last event.
   */
  async *events(asked: EventsAsked = {}): AsyncGenerator<Event, void, undefined> {
    const { types, signal } = asked;
    let [after, pause] = [asked.after, 2000];
    for (;;) {
      const query = new URLSearchParams();
      if (types !== undefined && types.length > 0) query.set("types", types.join());
      if (after !== undefined) query.set("after", after);
      const headers = { "x-api-key": this.#options.key, accept: "text/event-stream" };
      const path = `/v1/events/stream?${query}`;
      const request = { path, method: "GET", key: undefined, repeatable: true, headers, signal, body: null };
      const { response } = await this.#send(request, () => undefined);
      let [id, data]: (string | undefined)[] = [];
      try {
        for await (const line of lines(response)) {
          const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
          if (name === "id") id = value;
          else if (name === "data") data = value;
          else if (name === "retry") pause = Number(value);
          if (line !== "") continue;
          const event = data;
          [after, id, data] = [id ?? after, undefined, undefined];
          if (event !== undefined) yield JSON.parse(event) as Event;
        }
      } catch (cause) {
        signal?.throwIfAborted();
        if (!(cause instanceof NoAnswerError)) throw cause;
      }
      await sleep(pause, undefined, signal ? { signal } : {});
    }
  }

  #request(name: OperationName, input: Loose, accept: string): Request {
    const { method, path, takesKey } = table[name] as { method: string; path: string; takesKey: boolean };
    const { body, idempotencyKey, ifMatch, signal, ...parameters } = input;
    const filled = path.replace(/\{(\w+)\}/g, (_, part: string) => {
      const value = parameters[part];
      delete parameters[part];
      if (value === undefined || value === "") throw new TypeError(`${name} needs ${part}`);
      return encodeURIComponent(String(value));
    });
    const query = new URLSearchParams();
    for (const [parameter, value] of Object.entries(parameters)) {
      if (value !== undefined && value !== null) query.set(parameter, String(value));
    }
    const isTry = parameters["dryRun"] === true;
    const named = typeof body === "object" && body !== null && "idExterno" in body && body.idExterno != null;
    const key = idempotencyKey ?? (takesKey && !named && !isTry ? randomUUID() : undefined);
    const headers: Record<string, string> = { "x-api-key": this.#options.key, accept };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers["Idempotency-Key"] = key;
    if (ifMatch !== undefined) headers["If-Match"] = ifMatch;
    const repeatable = method === "GET" || key !== undefined || named || isTry;
    const target = query.size === 0 ? filled : `${filled}?${query}`;
    return { path: target, method, key, repeatable, headers, signal, body: body === undefined ? null : JSON.stringify(body) };
  }
}

/** The lines of an answer, as they come. */
async function* lines(response: Response): AsyncGenerator<string, void, undefined> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      const whole = (rest + part.value).split("\n");
      rest = whole.pop() ?? "";
      yield* whole;
    }
  } catch (cause) {
    throw new NoAnswerError(cause);
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
  if (rest !== "") yield rest;
}

for (const name of Object.keys(table) as OperationName[]) {
  Object.defineProperty(Caudal.prototype, name, {
    value: async function (this: Caudal, ...input: Arguments<typeof name>) {
      return (await this.answer(name, ...input)).data;
    },
  });
}
