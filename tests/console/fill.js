// Fills the store of a bench, behind a running `caudal dev`, with what a console has beside one large tenant: TENANTS others
// (200), each with a key, a webhook that nobody takes events of, and an account with a movement; and in the large tenant
// holds, transfers to where no account is, and MOVEMENTS (5000) that the bank made today. Prints the account of the holder BUSIEST in the large tenant, and the id of a request.
//
//   DEV=DATA/dev.json TENANT=tnt_bench BUSIEST=NAME [TENANTS=200] [TYPE=IN] node tests/console/fill.js
import { readFileSync } from "node:fs";

const dev = JSON.parse(readFileSync(process.env.DEV, "utf8"));
const many = Number(process.env.TENANTS ?? 200);
const large = process.env.TENANT;
let lastRequest = "";
const run = Date.now().toString(36); // a run that was cut off is begun anew

async function call(base, method, path, body, headers) {
  const answer = await fetch(base + path, {
    method, headers: { "content-type": "application/json", ...headers }, body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  lastRequest = answer.headers.get("x-request-id");
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
const admin = (method, path, body) => call(dev.adminUrl, method, path, body, { "x-admin-key": dev.adminKey });
const keyOf = async (tenant) => (await admin("POST", `/admin/tenants/${tenant}/keys`, { mode: "test" })).key;
const as = (key) => (method, path, body) => call(dev.url, method, path, body, { "x-api-key": key, "idempotency-key": crypto.randomUUID() });

for (let at = 0; at < many; at++) {
  const { id } = await admin("POST", "/admin/tenants", { name: `PSP número ${at}` });
  const api = as(await keyOf(id));
  await api("POST", "/v1/webhooks", { url: `http://127.0.0.1:9/${at}` });
  await api("POST", "/v1/voucher-types", { code: "IN", name: "Ingreso", sense: "credit" });
  const { cvu } = await api("POST", "/v1/accounts", { cuit: "20123456786", holderName: `Titular ${at}` });
  await api("POST", `/v1/accounts/${cvu}/comprobantes`, { voucherTypeCode: "IN", amount: "10", idExterno: "first" });
}

const api = as(await keyOf(large));
const { items } = await api("GET", "/v1/accounts?limit=50");
for (const [at, { cvu }] of items.entries()) {
  await api("POST", `/v1/accounts/${cvu}/comprobantes`, {
    voucherTypeCode: process.env.TYPE ?? "IN", amount: "1000", idExterno: `fill-${run}-${at}`,
  });
  await api("POST", `/v1/accounts/${cvu}/holds`, { amount: "5", idExterno: `fill-hold-${run}-${at}` });
  await api("POST", "/v1/transfers", {
    fromCvu: cvu, to: { alias: `DESTINO.${at % 3}` }, amount: "7", idExterno: `fill-${run}-${at}`,
  }).catch((why) => console.error(String(why)));
}
const { cvu } = await api("POST", "/v1/accounts", { cuit: "20123456786", holderName: "Titular de hoy" });
const movements = Number(process.env.MOVEMENTS ?? 5000);
for (let sent = 0; sent < movements; sent += 50) {
  const some = Array.from({ length: Math.min(50, movements - sent) });
  await Promise.all(some.map(() => call(dev.bankUrl, "POST", "/sandbox/cash-in", { cvu, amount: "3" })));
}
const found = await api("GET", `/v1/accounts?q=${encodeURIComponent(process.env.BUSIEST)}&limit=50`);
const busiest = found.items.find((it) => it.holder.name === process.env.BUSIEST);
if (!busiest) throw new Error(`nobody is called ${process.env.BUSIEST}: ${JSON.stringify(found).slice(0, 300)}`);
console.log(busiest.cvu, lastRequest);
