// Webhooks, verified by the library of Standard Webhooks.

import { Webhook } from "standardwebhooks";
import type { components } from "./generated/schema.js";

/** An event; its `type` says what its `data` is. A later service may send types that are not here. */
export type Event = components["schemas"]["Event"];

/**
 * The event of a webhook, if its signature is right and its time within five minutes; otherwise it throws.
 *
 * @param secret The secret of the webhook, `whsec_…`.
 * @param headers The headers of the request.
 * @param body The body exactly as it came: parsed and written again, it would have another signature.
 */
export function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Buffer,
): Event {
  const of = (name: string) => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    return Array.isArray(value) ? value.join(" ") : (value ?? "");
  };
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const signed = Object.fromEntries(names.map((name) => [name, of(name)]));
  return new Webhook(secret).verify(body, signed) as Event;
}
