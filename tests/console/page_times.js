// How long the pages of the console of a running service take, kind by kind. It logs in, follows links from page to page,
// and asks for what a store answers worst: texts that nobody has, days long ago, the busiest account.
//
//   DEV=DATA/dev.json TENANT=ID MODE=test [ACCOUNT=CVU] [REQUEST=ID] node tests/console/page_times.js
//
// Each address is asked for TIMES times (5), EACH addresses (3) of a kind. It ends with 1 where one took longer than
// PAGE_MAX milliseconds (300). Nothing but node 20 is needed; it writes nothing but what looking writes into the audit log.
import { readFileSync } from "node:fs";

const dev = JSON.parse(readFileSync(process.env.DEV, "utf8"));
const number = (name, usual) => Number(process.env[name] ?? usual);
const [TIMES, EACH, PAGE_MAX] = [number("TIMES", 5), number("EACH", 3), number("PAGE_MAX", 300)];
const realm = `/console/tenants/${process.env.TENANT}/${process.env.MODE ?? "test"}`;
const text = "nobody-has-this-7";
const account = process.env.ACCOUNT && `/console/accounts/${process.env.ACCOUNT}`;
const today = new Date(Date.now() - 3 * 3600e3).toISOString().slice(0, 10); // in Buenos Aires
const asked = [
  `/console/search?q=${text}`, "/console/search?q=77", "/console/search?q=prueba+77", "/console/search?q=prueba",
  process.env.REQUEST && `/console/search?q=${process.env.REQUEST}`,
  `${realm}/accounts?text=${text}`, `${realm}/accounts?status=suspended`, `${realm}/accounts?status=closed`,
  `${realm}/vouchers?text=${text}`, `${realm}/vouchers?from=2026-01-01&to=2026-01-02`, `${realm}/vouchers?from=2026-01-01`,
  `${realm}/transfers?status=audit`, `${realm}/transfers?status=rejected`, `${realm}/events?to=500000`,
  `${realm}/positions?text=${text}`, `${realm}/positions?date=2026-01-01`, `${realm}/positions?date=2026-11-23&text=${text}`,
  `${realm}/reconciliation`, `${realm}/reconciliation?date=${today}`, `/console/audit?action=${text}`, "/console/audit?from=2026-01-01", "/console/parts/equation",
  ...(account ? ["", "?at=2026-01-01", "?at=2026-11-23", "/movements", `/movements?text=${text}`,
    "/movements?from=2026-01-01&to=2026-01-02", "/transfers"].map((it) => account + it) : []),
].filter((it) => it);

const entered = await fetch(`${dev.adminUrl}/console/login`, {
  method: "POST", redirect: "manual", body: new URLSearchParams({ key: dev.adminKey }),
});
const cookie = entered.headers.getSetCookie().map((it) => it.split(";")[0]).join("; ");

// The kind of an address: its path with a place for each id, and the names of what is asked for.
function kind(path) {
  const { pathname, searchParams } = new URL(path, dev.adminUrl);
  const steps = pathname.split("/").map((step, at, all) =>
    (all[2] === "parts" ? at > 3 : at === 3 || (all[2] === "tenants" && at === 4)) && step ? "…" : step);
  const names = [...new Set(searchParams.keys())].sort();
  return steps.join("/") + (names.length ? `?${names.join("&")}` : "");
}

const kinds = new Map();
const seen = new Set();
const queue = ["/console/", ...asked, `${realm}/accounts`];
while (queue.length) {
  const path = queue.shift();
  const of = kind(path);
  const known = kinds.get(of) ?? { took: [], paths: [], worst: "" };
  const free = asked.includes(path);
  if (seen.has(path) || (!free && known.paths.length >= EACH)) continue;
  seen.add(path);
  kinds.set(of, known);
  known.paths.push(path);
  let html = "";
  for (let time = 0; time < TIMES; time++) {
    const begun = performance.now();
    const answer = await fetch(dev.adminUrl + path, { headers: { cookie }, redirect: "manual" });
    html = await answer.text();
    const took = performance.now() - begun;
    if (answer.status >= 400) console.error(`${path}: ${answer.status}`);
    if (took > Math.max(0, ...known.took)) known.worst = path;
    known.took.push(took);
  }
  for (const [, link] of html.matchAll(/(?:href|hx-get)="(\/console\/[^"]*)"/g)) {
    const to = link.replaceAll("&#38;", "&").replaceAll("&amp;", "&");
    if (!to.startsWith("/console/files/")) queue.push(to);
  }
}

let slow = 0;
console.log("| kind of page | asked | median ms | worst ms |\n| --- | --- | --- | --- |");
const rows = [...kinds].map(([of, { took, worst }]) => {
  took.sort((a, b) => a - b);
  return { of, count: took.length, median: took[took.length >> 1], most: took.at(-1), worst };
});
for (const row of rows.sort((a, b) => b.most - a.most)) {
  console.log(`| \`${row.of}\` | ${row.count} | ${row.median.toFixed(1)} | ${row.most.toFixed(1)} |`);
  if (row.most > PAGE_MAX) {
    slow++;
    console.error(`too slow: ${row.worst}`);
  }
}
const all = rows.reduce((sum, row) => sum + row.count, 0);
console.log(`${rows.length} kinds, ${all} pages, ${slow} kinds above ${PAGE_MAX} ms`);
process.exit(slow ? 1 : 0);
