// The client in TypeScript against a running service: an account with money, a posting and its retry, a transfer, a
// hold, lists page by page, a webhook, and what the client does when the service is in trouble.
//
// node walk.js DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Caudal, CaudalError, type Event, NoAnswerError, verifyWebhook } from "caudal-client";

const dev = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const api = new Caudal({ url: dev.url, key: dev.testKey });
const run = `ts-${process.pid}`;

/** The error that something fails with. */
async function failure<E>(call: Promise<unknown>, kind: new (...of: never[]) => E): Promise<E> {
  const why = await call.then(() => assert.fail("it did not fail"), (why: unknown) => why);
  assert.ok(why instanceof kind, String(why));
  return why;
}

// A receiver of webhooks on this machine: what was sent, as soon as its signature is right.
let secret = "";
let forged = 0;
const received: Event[] = [];
const waiting: { type: string; take: (event: Event) => void }[] = [];
const receiver = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts);
    const event = verifyWebhook(secret, request.headers, body);
    assert.throws(() => verifyWebhook(secret, request.headers, `${body} `));
    forged += 1;
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
const hook = await api.createWebhook({ body: { url: `http://127.0.0.1:${port}/`, types: ["voucher.created"] } });
secret = hook.secret!;

// Two accounts; a repeat with the same key is the same account.
const open = (cuit: string, holderName: string, key: string) =>
  api.answer("createAccount", { idempotencyKey: `${run}-${key}`, body: { cuit, holderName } });
const ana = await open("20267565393", "Ana Prueba", "ana");
const again = await open("20267565393", "Ana Prueba", "ana");
assert.equal(again.data.cvu, ana.data.cvu);
assert.deepEqual([ana.replayed, again.replayed], [false, true]);
const bea = await open("27123456780", "Bea Prueba", "bea");
const cvu = ana.data.cvu;

// A posting and its retry: one voucher.
const type = `TS_${process.pid}`;
await api.createVoucherType({ body: { code: type, name: "Top-up", sense: "credit" } });
const post = (amount: number | string) =>
  api.answer("createComprobante", { cvu, body: { voucherTypeCode: type, amount, idExterno: `${run}-1` } });
const told = next("voucher.created");
const first = await post(1500.5);
const retry = await post("1500.50");
assert.equal(retry.data.id, first.data.id);
assert.ok(retry.replayed);
const other = await failure(post("1.00"), CaudalError);
assert.deepEqual([other.status, other.code], [409, "id_externo_reused"]);
const wrong = await failure(api.createHold({ cvu, body: { amount: "0", idExterno: `${run}-0` } }), CaudalError);
assert.equal(wrong.code, "invalid_request");
assert.equal(wrong.errors[0]?.field, "amount");

// The webhook brings the same voucher; its type says which data it has.
const event = await told;
assert.equal(event.data.id, first.data.id);
assert.equal(event.data.availableAfter, "1500.50");

// A transfer to the other account is final at once.
const sent = await api.createTransfer({
  body: { fromCvu: cvu, to: { cvu: bea.data.cvu }, amount: "100.25", idExterno: `${run}-p2p` },
});
assert.deepEqual([sent.kind, sent.status], ["internal", "completed"]);

// A hold: part of it leaves, the rest returns. The client makes a key for each step.
const hold = await api.createHold({ cvu, body: { amount: 400, idExterno: `${run}-hold` } });
await api.confirmHold({ id: hold.id, body: { amount: "150.25" } });
assert.equal((await api.releaseHold({ id: hold.id })).remaining, "0.00");
const balance = await api.readBalance({ cvu });
assert.deepEqual([balance.available, balance.held], ["1250.00", "0.00"]);

// Lists page by page: the same rows in as many pages as there are, in both forms of a list.
const whole = (await api.listMovements({ cvu })).map((row) => row.id);
const rows: string[] = [];
for await (const row of api.each("listMovements", { cvu, limit: 1 })) rows.push(row.id);
assert.ok(rows.length >= 3);
assert.deepEqual(rows, whole);
const accounts: string[] = [];
for await (const row of api.each("listAccounts", { limit: 1 })) accounts.push(row.cvu);
assert.ok(accounts.includes(cvu) && accounts.includes(bea.data.cvu));
let cuentas = 0;
for await (const _ of api.each("listCuentas", { pageSize: 1, page: 1 })) cuentas += 1;
assert.equal(cuentas, accounts.length);
let events = 0;
for await (const _ of api.each("listEvents", { limit: 100 })) events += 1;
assert.ok(events > 5);

// The same list in one answer, and as a file.
const inOne: string[] = [];
for await (const row of api.rows("listMovements", { cvu })) inOne.push(row.id);
assert.deepEqual(inOne, rows);
const csv = await new Response(await api.download("text/csv", "listMovements", { cvu })).text();
assert.equal(csv.split("\n").length, rows.length + 2);
await assert.rejects(api.download("text/csv", "readBalance", { cvu }), (why: CaudalError) => why.status === 406);

// Events as they happen, after the last that was read.
const known: string[] = [];
for await (const row of api.each("listEvents", { types: "voucher.created" })) known.push(row.id);
const after = known.at(-2)!;
for await (const event of api.events({ after, types: ["voucher.created"] })) {
  assert.equal(event.id, known.at(-1));
  break;
}

// A service in trouble, before the real one: what may be sent again is, under the same name; what may not is not.
const keys: (string | undefined)[] = [];
const trouble = (statuses: number[], headers: Record<string, string> = {}, code = "overloaded") =>
  new Caudal({
    url: dev.url,
    key: dev.testKey,
    retries: { pauseMs: 1, patienceMs: 2_000, attempts: 4 },
    fetch: async (url, init) => {
      keys.push((init?.headers as Record<string, string>)["Idempotency-Key"]);
      const status = statuses.shift();
      if (status === undefined) return fetch(url, init);
      if (status === 0) throw new TypeError("connection reset");
      // What was done, and nobody was told.
      if (status === 200) await fetch(url, init).then((it) => it.text());
      if (status === 200) throw new TypeError("connection reset");
      return new Response(JSON.stringify({ code, message: "no" }), { status, headers });
    },
  });
const more = { voucherTypeCode: type, amount: "1.00", idExterno: `${run}-2` };
await trouble([503, 200, 502]).createComprobante({ cvu, body: more });
assert.deepEqual(keys.splice(0), Array(4).fill(undefined));
await trouble([200, 0]).createVoucherType({ body: { code: `${type}_2`, name: "Fee", sense: "debit" } });
assert.ok(keys[0] !== undefined && keys.length === 3 && keys.every((key) => key === keys[0]));
keys.length = 0;
await trouble([0, 500]).readBalance({ cvu });
assert.equal((await api.readBalance({ cvu })).available, "1251.00");
const away = await failure(trouble([0, 0, 0, 0]).readBalance({ cvu }), NoAnswerError);
assert.match(away.message, /connection reset/);
const blind = trouble([502], {}, "unknown").setAlias({ cvu, body: { alias: `${type}.alias` } });
assert.equal((await failure(blind, CaudalError)).status, 502);
await trouble([429], { "Retry-After": "1" }).setAlias({ cvu, body: { alias: `ts.prueba.${process.pid}` } });
const patient = await failure(trouble([503], { "Retry-After": "60" }).readBalance({ cvu }), CaudalError);
assert.equal(patient.retryAfterMs, 60_000);

// A try of the webhook has a type of its own.
const tried = next("webhook.test");
await api.testWebhook({ id: hook.id });
assert.equal((await tried).data.webhookId, hook.id);
await api.deleteWebhook({ id: hook.id });
receiver.close();
receiver.closeAllConnections();
assert.equal(forged, received.length);
console.log(`TypeScript: ${received.length} events verified, ${rows.length} movements, balance ${balance.available}`);
