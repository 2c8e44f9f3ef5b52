// A client in TypeScript, with types that openapi-typescript makes of the document: an account, a posting and
// its retry, a transfer, a hold, and a webhook that the library of Standard Webhooks verifies.
//
// node walk.js DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import createClient from "openapi-fetch";
import { Webhook } from "standardwebhooks";
import type { components, paths } from "./schema.js";

type Event = components["schemas"]["Event"];

const dev = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const api = createClient<paths>({ baseUrl: dev.url, headers: { "x-api-key": dev.testKey } });
const run = `ts-${process.pid}`;

// The data of a success; an error of the API stops the walk with its code and its message.
async function done<T>(
  call: Promise<{ data?: T; error?: components["schemas"]["Error"]; response: Response }>,
): Promise<{ data: T; response: Response }> {
  const { data, error, response } = await call;
  if (error) throw new Error(`${response.status} ${error.code}: ${error.message}`);
  return { data: data!, response };
}

// A receiver of webhooks on this machine: what was sent, as soon as its signature is right.
let secret = "";
const received: Event[] = [];
const waiting: { type: string; take: (event: Event) => void }[] = [];
const receiver = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const headers = request.headers as Record<string, string>;
    const event = new Webhook(secret).verify(Buffer.concat(parts).toString(), headers) as Event;
    response.writeHead(204).end();
    received.push(event);
    for (const one of waiting.filter((it) => it.type === event.type)) one.take(event);
  });
});
await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));

function next<T extends Event["type"]>(type: T): Promise<Extract<Event, { type: T }>> {
  return new Promise((take, fail) => {
    setTimeout(() => fail(new Error(`no ${type} within 30 s`)), 30_000).unref();
    waiting.push({ type, take: take as (event: Event) => void });
  });
}

const port = (receiver.address() as AddressInfo).port;
const hook = await done(
  api.POST("/v1/webhooks", { body: { url: `http://127.0.0.1:${port}/`, types: ["voucher.created"] } }),
);
secret = hook.data.secret!;

// Two accounts; a repeat with the same key is the same account.
async function open(cuit: string, holderName: string, key: string) {
  return done(
    api.POST("/v1/accounts", {
      params: { header: { "Idempotency-Key": `${run}-${key}` } },
      body: { cuit, holderName },
    }),
  );
}
const ana = await open("20267565393", "Ana Prueba", "ana");
const again = await open("20267565393", "Ana Prueba", "ana");
assert.equal(again.data.cvu, ana.data.cvu);
assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");
const bea = await open("27123456780", "Bea Prueba", "bea");
const cvu = ana.data.cvu;

// A posting and its retry: one voucher.
const type = `TS_${process.pid}`;
await done(api.POST("/v1/voucher-types", { body: { code: type, name: "Top-up", sense: "credit" } }));
async function post(amount: number | string) {
  return api.POST("/v1/accounts/{cvu}/comprobantes", {
    params: { path: { cvu } },
    body: { voucherTypeCode: type, amount, idExterno: `${run}-1` },
  });
}
const told = next("voucher.created");
const first = await done(post(1500.5));
const retry = await done(post("1500.50"));
assert.equal(retry.data.id, first.data.id);
assert.equal(retry.response.headers.get("Idempotent-Replayed"), "true");
const other = await post("1.00");
assert.equal(other.response.status, 409);
assert.equal(other.error?.code, "id_externo_reused");

// The webhook brings the same voucher; its type says which data it has.
const event = await told;
assert.equal(event.data.id, first.data.id);
assert.equal(event.data.availableAfter, "1500.50");

// A transfer to the other account is final at once.
const sent = await done(
  api.POST("/v1/transfers", {
    body: { fromCvu: cvu, to: { cvu: bea.data.cvu }, amount: "100.25", idExterno: `${run}-p2p` },
  }),
);
assert.equal(sent.data.kind, "internal");
const status: components["schemas"]["TransferStatus"] = sent.data.status;
assert.equal(status, "completed");

// A hold: part of it leaves, the rest returns.
const hold = await done(
  api.POST("/v1/accounts/{cvu}/holds", {
    params: { path: { cvu } },
    body: { amount: 400, idExterno: `${run}-hold` },
  }),
);
const id = hold.data.id;
await done(api.POST("/v1/holds/{id}/confirm", { params: { path: { id } }, body: { amount: "150.25" } }));
const released = await done(api.POST("/v1/holds/{id}/release", { params: { path: { id } }, body: {} }));
assert.equal(released.data.remaining, "0.00");

const balance = await done(api.GET("/v1/accounts/{cvu}/balance", { params: { path: { cvu } } }));
assert.deepEqual([balance.data.available, balance.data.held], ["1250.00", "0.00"]);

// A try of the webhook has a type of its own.
const tried = next("webhook.test");
await done(api.POST("/v1/webhooks/{id}/test", { params: { path: { id: hook.data.id } } }));
assert.equal((await tried).data.webhookId, hook.data.id);
await done(api.DELETE("/v1/webhooks/{id}", { params: { path: { id: hook.data.id } } }));
receiver.close();
console.log(`TypeScript: ${received.length} events verified, balance ${balance.data.available}`);
