// A PSP's day with the client in TypeScript: a card payment with a tip, refunds, transfers, and the bank's side of them.
//
// node scenario.js DEV_JSON, where DEV_JSON is the file that `caudal dev` writes into its folder.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Caudal, CaudalError } from "caudal-client";

const dev = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const api = new Caudal({ url: dev.url, key: dev.testKey });
const run = `sc-ts-${process.pid}`;

/** Reads until what is read is good. */
async function wait<T>(read: () => Promise<T>, good: (found: T) => boolean): Promise<T> {
  for (let times = 0; times < 100; times += 1) {
    const found = await read();
    if (good(found)) return found;
    await pause(100);
  }
  return assert.fail("it did not happen within 10 s");
}

/** The error that something is refused with. */
async function refusal(call: Promise<unknown>): Promise<CaudalError> {
  const why = await call.then(() => assert.fail("it was not refused"), (why: unknown) => why);
  assert.ok(why instanceof CaudalError, String(why));
  return why;
}

const open = async (cuit: string, holderName: string) => (await api.createAccount({ body: { cuit, holderName } })).cvu;

// Two customers; the first is sent 20000 from another bank.
const ana = await open("20267565393", "Ana Prueba");
const bea = await open("27123456780", "Bea Prueba");
const arrived = await api.simulateCashIn({ body: { cvu: ana, amount: "20000", fromName: "Juan Remitente" } });
await wait(() => api.readBalance({ cvu: ana }), (it) => it.available === "20000.00");
const credited = await api.listRealmComprobantes({ coelsaId: arrived.coelsaId });
assert.deepEqual(credited.items.map((it) => it.amount), ["20000.00"]);

// A card payment of 10000 is authorised; the answer has the balance for the card network.
const meal = `MEAL_TS_${process.pid}`;
await api.createVoucherType({ body: { code: meal, name: "Meal", sense: "debit", captureTolerance: 20 } });
const card = { mcc: "5812", terminal: "T-77" };
const held = await api.createHold({
  cvu: ana,
  body: { amount: "10000", idExterno: `${run}-auth`, voucherTypeCode: meal, metadata: card },
});
assert.deepEqual([held.balance?.available, held.balance?.held], ["10000.00", "10000.00"]);
assert.deepEqual(held.metadata, card);

// It is raised for a tip, and captured a little above what is held.
const raised = await api.changeHold({ id: held.id, body: { amount: "11000.50" } });
assert.deepEqual([raised.balance?.available, raised.remaining], ["8999.50", "11000.50"]);
const taken = await api.confirmHold({ id: held.id, body: { amount: "11500.50" } });
assert.deepEqual([taken.status, taken.balance?.total], ["confirmed", "8499.50"]);
const purchase = taken.voucherId!;

// The purchase is refunded twice in part; more than is left of it is refused, with the figures.
for (const [amount, left] of [["1500.50", "10000.00"], ["4000", "6000.00"]] as const) {
  const refund = await api.reverseComprobante({ id: purchase, body: { amount, idExterno: `${run}-refund-${left}` } });
  assert.equal(refund.reverses, purchase);
  assert.equal((await api.readComprobante({ id: purchase })).remaining, left);
}
const tooMuch = { amount: "6000.01", idExterno: `${run}-refund-too-much` };
const refused = await refusal(api.reverseComprobante({ id: purchase, body: tooMuch }));
assert.equal(refused.code, "reversal_exceeds");
assert.deepEqual(refused.details, { original: "11500.50", reversed: "5500.50", remaining: "6000.00" });
assert.equal((await api.readBalance({ cvu: ana })).available, "14000.00");

// To the other customer at once, and to another bank; one that nobody has is rejected with a code.
const send = (to: { cvu: string } | { alias: string }, amount: string, name: string) =>
  api.createTransfer({ body: { fromCvu: ana, to, amount, idExterno: `${run}-${name}` } });
const ended = (id: string, status: string) => wait(() => api.readTransfer({ id }), (it) => it.status === status);
const p2p = await send({ cvu: bea }, "3500", "p2p");
assert.deepEqual([p2p.status, p2p.balance?.available], ["completed", "10500.00"]);
const asked = await send({ alias: "DESTINO.0" }, "2500", "payout");
assert.equal(asked.balance?.held, "2500.00");
const payout = await ended(asked.id, "completed");
const nobody = await ended((await send({ alias: "NO.EXISTE.XX" }, "10", "nobody")).id, "rejected");
assert.equal(nobody.rejection?.code, "destination_not_found");
const unknown = await refusal(api.lookupAlias({ alias: "NO.EXISTE.XX" }));
assert.deepEqual([unknown.status, unknown.code], [404, "destination_not_found"]);

// Support has only the id on the rail.
const found = await api.listTransfers({ coelsaId: payout.coelsaId! });
assert.deepEqual(found.items.map((it) => it.id), [payout.id]);

// The bank's list of the day has both movements, and the ledger agrees.
const today = new Date(Date.now() - 3 * 3_600_000).toISOString().slice(0, 10);
const reconciled = await api.reconcile({ date: today });
const result = (id: string) => reconciled.items.find((it) => it.coelsaId === id)?.result;
assert.deepEqual([result(arrived.coelsaId), result(payout.coelsaId!)], ["matched", "matched"]);
const money = await Promise.all([ana, bea].map((cvu) => api.readBalance({ cvu })));
assert.deepEqual(money.map((it) => it.total), ["8000.00", "3500.00"]);
console.log("the scenario in TypeScript is done");
