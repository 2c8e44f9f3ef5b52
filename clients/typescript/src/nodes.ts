// The base URLs of a service with several nodes: one of them serves, the others name it.

import { CaudalError, type NoAnswerError } from "./errors.js";

/** The base URLs of a client. */
export class Nodes {
  readonly urls: readonly string[];
  /** The number of the one that answered last. */
  last = 0;
  readonly #origins: readonly string[];

  constructor(given: string | readonly string[]) {
    this.urls = [given].flat().map((url) => url.replace(/\/+$/, ""));
    if (this.urls.length === 0) throw new TypeError("url must name at least one base URL");
    this.#origins = this.urls.map((url) => {
      const origin = originOf(url);
      if (origin === undefined) throw new TypeError("each base URL must begin with http:// or https:// and name a host");
      return origin;
    });
  }

  /**
   * The number of the base URL with the scheme, host and port of a URL. Others never get a request, since the key would
   * go with it.
   */
  named(url: string | undefined): number | undefined {
    const origin = url === undefined ? undefined : originOf(url);
    const found = origin === undefined ? -1 : this.#origins.indexOf(origin);
    return found < 0 ? undefined : found;
  }
}

/** The base URLs that one request goes to: each of them at most once in a round. */
export class Route {
  readonly #nodes: Nodes;
  #at: number;
  #asked: Set<number>;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
    this.#at = nodes.last;
    this.#asked = new Set([this.#at]);
  }

  /** The base URL that is next. */
  get url(): string {
    return this.#nodes.urls[this.#at]!;
  }

  /** Notes that the URL works: the next request begins with it. */
  answered(): void {
    this.#nodes.last = this.#at;
  }

  /** Chooses the URL after a failure; whether it is a further one of the same round. */
  goesOn(failure: CaudalError | NoAnswerError): boolean {
    if (failure instanceof CaudalError && failure.code !== "not_owner") {
      this.#asked = new Set([this.#at]);
      this.answered();
      return false;
    }
    const owner = failure instanceof CaudalError ? this.#nodes.named(failure.owner) : undefined;
    const count = this.#nodes.urls.length;
    const choice = owner === undefined ? [] : [owner];
    for (let step = 1; step <= count; step += 1) choice.push((this.#at + step) % count);
    const further = choice.find((it) => !this.#asked.has(it));
    if (further === undefined) this.#asked.clear();
    this.#at = further ?? choice[0]!;
    this.#asked.add(this.#at);
    // Also if this request ends here, the next one does not begin with what did not serve.
    this.#nodes.last = this.#at;
    return further !== undefined;
  }
}

/** Scheme, host and port of a URL; undefined if it has none of HTTP's. */
function originOf(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed !== undefined && ["http:", "https:"].includes(parsed.protocol) ? parsed.origin : undefined;
}
