// The client in TypeScript with several base URLs: a standby names the owner, a host that was not given, a node that is
// down, standbys that name each other, and pauses.
//
// node nodes.js DEV_JSON STANDBYS, where DEV_JSON is the file that `caudal dev` writes into its folder, and STANDBYS is
// standbys.py. The service is the node that serves; the others are of standbys.py.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Caudal, CaudalError, NoAnswerError, type Retries } from "caudal-client";

const dev = JSON.parse(readFileSync(process.argv[2]!, "utf8"));
const [owner, key] = [dev.url as string, dev.testKey as string];
const nodes = spawn("python3", [process.argv[3]!], { stdio: ["pipe", "pipe", "inherit"] });
const [line] = await once(createInterface({ input: nodes.stdout }), "line");
const [one, two, stranger, refused] = JSON.parse(line) as [string, string, string, string];
let count = 0;

/** What a standby returns from now on. */
async function says(node: string, headers: Record<string, string>, status = 503, code = "not_owner"): Promise<void> {
  await fetch(`${node}/-/answer`, { method: "PUT", body: JSON.stringify({ status, code, headers }) });
}

/** What a standby was asked since the last time. */
async function asked(node: string): Promise<{ method: string; path: string; key: string; at: number }[]> {
  return (await fetch(`${node}/-/asked`)).json() as Promise<never>;
}

/** A client with these base URLs. */
function client(url: string[], retries: Partial<Retries> = {}): Caudal {
  return new Caudal({ url, key, retries: { attempts: 3, pauseMs: 10, patienceMs: 20_000, ...retries } });
}

/** The error that something fails with. */
async function failure<E>(call: Promise<unknown>, kind: new (...of: never[]) => E): Promise<E> {
  const why = await call.then(() => assert.fail("it did not fail"), (why: unknown) => why);
  assert.ok(why instanceof kind, String(why));
  return why;
}

const account = await new Caudal({ url: owner, key }).createAccount({
  idempotencyKey: `ts-nodes-${process.pid}`,
  body: { cuit: "20267565393", holderName: "Ana Nodos" },
});

/** An order without a key: it may be sent again only if nothing was done. */
async function order(api: Caudal): Promise<void> {
  count += 1;
  const alias = `ts.nodos.${process.pid}.${count}`;
  assert.equal((await api.setAlias({ cvu: account.cvu, body: { alias } })).alias, alias);
}

// A standby names the owner: the order goes there at once, past the other standby. The next one begins there.
await says(one, { "Caudal-Owner": `${owner}/`, "Retry-After": "0" });
const api = client([one, two, owner]);
await order(api);
await order(api);
const [request, ...more] = await asked(one);
assert.deepEqual([request?.method, request?.key, more, await asked(two)], ["PUT", key, [], []]);

// A host that was not given gets nothing, neither as the owner nor by a redirect.
await says(one, { "Caudal-Owner": stranger, "Retry-After": "0" });
await order(client([one, owner]));
await says(one, { Location: `${stranger}/v1/accounts` }, 307, "unknown");
assert.equal((await failure(client([one, owner]).listAccounts(), CaudalError)).status, 307);
assert.deepEqual([(await asked(one)).length, await asked(stranger)], [2, []]);

// Without a name, and where nobody listens, it is the next URL.
await says(one, { "Retry-After": "0" });
const downs = client([refused, one, owner]);
await order(downs);
await order(downs);
assert.equal((await asked(one)).length, 1);
assert.equal((await failure(order(client([refused], { attempts: 2 })), NoAnswerError)).sent, false);

// Standbys that name each other: each gets every attempt once, and then it ends.
await says(one, { "Caudal-Owner": two, "Retry-After": "0" });
await says(two, { "Caudal-Owner": one, "Retry-After": "0" });
const ends = await failure(order(client([one, two])), CaudalError);
assert.deepEqual([ends.status, ends.code], [503, "not_owner"]);
assert.deepEqual([(await asked(one)).length, (await asked(two)).length], [3, 3]);

// `Retry-After` is waited for, also before a further URL, and not beyond the patience.
await says(one, { "Retry-After": "1" });
await says(two, { "Retry-After": "0" });
assert.equal((await failure(client([one, two], { attempts: 1 }).listAccounts(), CaudalError)).code, "not_owner");
const [[first], [second]] = [await asked(one), await asked(two)];
// The timer of the platform may be a millisecond early.
assert.ok(second!.at - first!.at >= 0.99);
await says(one, { "Retry-After": "60" });
assert.equal((await failure(client([one, two]).listAccounts(), CaudalError)).retryAfterMs, 60_000);
assert.deepEqual([(await asked(one)).length, await asked(two)], [1, []]);

// Other trouble is the node's own: the next attempt is for the same URL.
await says(one, { "Retry-After": "0" }, 503, "overloaded");
assert.equal((await failure(client([one, two]).listAccounts(), CaudalError)).code, "overloaded");
assert.deepEqual([(await asked(one)).length, await asked(two)], [3, []]);

assert.throws(() => new Caudal({ url: [], key }), TypeError);
assert.throws(() => new Caudal({ url: "127.0.0.1:8080", key }), TypeError);
nodes.stdin.end();
await once(nodes, "exit");
console.log(`TypeScript: ${count} orders at several nodes`);
