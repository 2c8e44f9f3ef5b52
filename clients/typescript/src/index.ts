// A client of Caudal: every operation of the API under its name, retries, errors with a code, lists read to
// their end, and webhooks verified.

export { Caudal } from "./client.js";
export type { Answer, CaudalOptions, EventsAsked, Input, Item, ListName, OperationName, Output } from "./client.js";
export { CaudalError, NoAnswerError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export type { Retries } from "./retries.js";
export { verifyWebhook } from "./webhooks.js";
export type { Event } from "./webhooks.js";
export type { components } from "./generated/schema.js";
