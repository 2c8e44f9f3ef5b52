// The walk of `shots`: fills a fresh `caudal dev`, then opens every page of the console in a browser.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const dev = JSON.parse(readFileSync(process.env.DEV, "utf8"));
const pictures = process.env.PICTURES;
// How long a page may take to be answered, in milliseconds: the promise is 300 in a release build.
const PAGE_MAX = Number(process.env.PAGE_MAX ?? 1500);
const HOSTILE = `<script>window.owned=1</script><img src=x onerror="window.owned=1">'"&{{7*7}}`;
const wrong = [];
const say = (text) => { wrong.push(text); console.error(`wrong: ${text}`); };

async function call(base, method, path, body, headers = {}) {
  const answer = await fetch(base + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
let keys = 0;
const api = (method, path, body) =>
  call(dev.url, method, path, body, { "x-api-key": dev.testKey, "idempotency-key": `walk-${keys++}` });
const bank = (path, body) => call(dev.bankUrl, "POST", path, body);
const until = async (what, found) => {
  for (let left = 200; left > 0; left--) {
    const it = await found();
    if (it) return it;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${what} did not happen`);
};

// What there is to be seen: accounts with hostile names, movements, holds, transfers, cases, webhooks.
async function fill() {
  const cuits = ["20123456786", "27123456780", "30500010912", "20304050607", "23111222333"];
  const cvus = [];
  for (const [at, name] of [HOSTILE, "Ada Lovelace", "Panadería La Espiga S.R.L.", "Juana Azurduy", "Manuel Belgrano"].entries()) {
    const opened = await api("POST", "/v1/accounts", {
      cuit: cuits[at], holderName: name, email: "someone@example.com", metadata: { note: HOSTILE },
    }).catch(() => null);
    if (opened) cvus.push(opened.cvu);
  }
  const [first, second] = cvus;
  await api("POST", "/v1/voucher-types", { code: "IN", name: `Ingreso ${HOSTILE}`.slice(0, 60), sense: "credit" });
  await api("POST", "/v1/voucher-types", { code: "OUT", name: "Egreso", sense: "debit" });
  for (let at = 0; at < 70; at++) {
    await api("POST", `/v1/accounts/${first}/comprobantes`, {
      voucherTypeCode: at % 3 === 2 ? "OUT" : "IN", amount: `${1000 + at * 37}.5`, idExterno: `order-${at}`, description: HOSTILE,
    });
  }
  await bank("/sandbox/cash-in", { cvu: second, amount: "1234567.89" });
  await api("POST", `/v1/accounts/${first}/holds`, { amount: "500", idExterno: "hold-1" });
  await api("POST", "/v1/transfers", { fromCvu: first, to: { cvu: second }, amount: "250", idExterno: "inside-1" });
  const sent = await api("POST", "/v1/transfers", { fromCvu: first, to: { alias: "DESTINO.2" }, amount: "321.00", idExterno: "audit-1", description: HOSTILE });
  await api("POST", "/v1/transfers", { fromCvu: first, to: { alias: "DESTINO.0" }, amount: "99.00", idExterno: "done-1" });
  await until("the transfer is with the bank", async () => (await api("GET", `/v1/transfers/${sent.id}`)).status === "in_progress");
  await bank(`/sandbox/transfers/${sent.originId}/settle`, { status: "UNKNOWN_FOREVER" });
  await until("the transfer is in audit", async () => (await api("GET", `/v1/transfers/${sent.id}`)).status === "audit");
  const closed = cvus.at(-1);
  await api("DELETE", `/v1/accounts/${closed}`);
  await bank("/sandbox/cash-in", { cvu: closed, amount: "777.00" });
  const receiver = createServer((_, answer) => { answer.statusCode = 200; answer.end(); });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  const hook = await api("POST", "/v1/webhooks", { url: `http://127.0.0.1:${receiver.address().port}/secret-path`, description: HOSTILE })
    .catch((why) => { say(`no webhook: ${why.message}`); return null; });
  await api("POST", `/v1/accounts/${first}/comprobantes`, { voucherTypeCode: "IN", amount: "1", idExterno: "order-last" });
  const voucher = (await api("GET", `/v1/accounts/${first}/movements?limit=1`))[0];
  const cases = (await call(dev.adminUrl, "GET", "/admin/cases", null, { "x-admin-key": dev.adminKey })).items;
  const posted = await fetch(`${dev.url}/v1/accounts/${first}/comprobantes`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": dev.testKey, "idempotency-key": `walk-${keys++}` },
    body: JSON.stringify({ voucherTypeCode: "IN", amount: "2", idExterno: "order-asked", description: HOSTILE }),
  });
  const request = posted.headers.get("x-request-id");
  return { first, second, sent, hook, voucher, cases, receiver, request };
}

function pages({ first, sent, hook, voucher, cases, request }) {
  const realm = "/console/tenants/demo/test";
  const all = {
    overview: "/console/",
    search: "/console/search",
    "search-found": "/console/search?q=lovelace",
    "search-external": "/console/search?q=order-3",
    "search-request": `/console/search?q=${request}`,
    "search-nothing": `/console/search?q=${encodeURIComponent(HOSTILE)}x`,
    tenants: "/console/tenants",
    tenant: "/console/tenants/demo",
    accounts: `${realm}/accounts`,
    account: `/console/accounts/${first}`,
    "account-past": `/console/accounts/${first}?at=2020-01-01`,
    movements: `/console/accounts/${first}/movements`,
    "account-transfers": `/console/accounts/${first}/transfers`,
    voucher: voucher && `/console/vouchers/${voucher.id}`,
    vouchers: `${realm}/vouchers`,
    transfers: `${realm}/transfers`,
    transfer: `/console/transfers/${sent.id}`,
    events: `${realm}/events`,
    positions: `${realm}/positions`,
    cases: "/console/cases",
    treasury: "/console/treasury",
    banks: "/console/banks",
    people: "/console/people",
    settings: "/console/settings-of-platform",
    reconciliation: "/console/reconciliation",
    "reconciliation-day": `${realm}/reconciliation`,
    "collector-day": `${realm}/collector`,
    days: `${realm}/days`,
    books: `${realm}/books`,
    "book-entries": `${realm}/books/entries`,
    webhooks: "/console/webhooks",
    webhook: hook && `/console/webhooks/${hook.id}`,
    backups: "/console/backups",
    node: "/console/node",
    audit: "/console/audit",
    approvals: "/console/approvals",
    "not-found": "/console/nowhere",
    "docs-api": "/docs/api",
    "docs-operations": "/docs/operations",
    "docs-operating": "/docs/operating",
    "docs-evidence": "/docs/evidence",
    refused: "/console/accounts/0000000000000000000000",
  };
  for (const it of cases) all[`case-${it.kind}`] = `/console/cases/${it.id}`;
  return Object.entries(all).filter(([, path]) => path);
}

async function look(page, name) {
  if (await page.evaluate(() => window.owned)) say(`${name}: a hostile name ran`);
  const found = await page.evaluate(async (source) => {
    if (!window.axe) new Function(source)();
    return (await window.axe.run({ resultTypes: ["violations"] })).violations;
  }, axe).catch(async () => {
    // The policy of the pages refuses what is made of text; the browser itself may bring it along.
    return page.evaluate(async () => (await window.axe.run({ resultTypes: ["violations"] })).violations);
  });
  for (const it of found) {
    say(`${name}: ${it.id} (${it.impact}): ${it.nodes.slice(0, 3).map((node) => node.html).join(" | ").slice(0, 300)}`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 1) say(`${name}: the page is ${wide} pixels too wide`);
}

async function watched(browser, options) {
  const context = await browser.newContext(options);
  await context.addInitScript({ content: axe });
  const page = await context.newPage();
  page.on("dialog", (dialog) => { say("a dialog opened"); dialog.dismiss(); });
  page.on("pageerror", (why) => say(`a script failed: ${why.message}`));
  page.on("console", (line) => {
    if (line.type() === "error" && !/status of (401|403|404)/.test(line.text())) say(`the browser says: ${line.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(dev.adminUrl) && !request.url().startsWith("data:")) say(`asked elsewhere: ${request.url()}`);
  });
  return { context, page };
}

async function enter(page) {
  await page.goto(`${dev.adminUrl}/console/backups`);
  if (!page.url().includes("/console/login?back=")) say("a stranger is not led to the page to log in");
  await page.fill("input[name=key]", "wrong");
  await page.press("input[name=key]", "Enter");
  await page.waitForSelector("[role=alert]");
  await page.fill("input[name=key]", dev.adminKey);
  await page.press("input[name=key]", "Enter");
  await page.waitForURL(/\/console\/backups$/);
}

// What an operator does: by keyboard alone to the search, then a suspension, a decision, a redelivery.
async function act(page, { first, sent }) {
  const at = (path) => page.goto(dev.adminUrl + path);
  await at("/console/");
  await page.keyboard.press("Tab");
  if (await page.evaluate(() => document.activeElement.className) !== "skip") say("the first stop is not the way to the content");
  await page.keyboard.press("/");
  await page.keyboard.type(first);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/console/accounts/${first}$`));
  const unfold = (act) => page.locator(`details:has(form[action$="what=${act}"]) summary`).click();
  await unfold("suspend");
  const suspend = page.locator(`form[action$="what=suspend"]`);
  await suspend.locator("textarea").fill(`pedido del banco ${HOSTILE}`);
  await suspend.locator("button").click();
  await page.waitForURL(/done=1/);
  if (!(await page.locator(`form[action$="what=reactivate"]`).count())) say("the account was not suspended");
  await unfold("reactivate");
  const again = page.locator(`form[action$="what=reactivate"]`);
  await again.locator("textarea").fill("resuelto");
  await again.locator("button").click();
  await page.waitForURL(/done=1/);
  await at(`/console/cases/${sent.id}`);
  const decide = page.locator(`form[action="/console/cases/${sent.id}"]`);
  await decide.locator("select[name=outcome]").selectOption("rejected");
  const by = decide.locator("input[name=by]");
  if (await by.count()) await by.fill("Ana Gómez");
  await decide.locator("textarea[name=reason]").fill("el banco confirmó que no salió");
  await decide.locator("button").click();
  await page.waitForURL(/done=1/);
}

async function lives(page) {
  await page.goto(`${dev.adminUrl}/console/`);
  await page.waitForSelector("[data-live-state].good", { timeout: 15000 });
  await page.waitForSelector(".chart canvas");
  await page.waitForSelector("#point", { state: "attached", timeout: 15000 });
  const second = () => page.evaluate(() => JSON.parse(document.getElementById("point").dataset.point)[0]);
  const before = await second();
  await until("the figures go on", async () => (await second()) > before);
}

const filled = await fill();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const views = [
  { name: "wide-light-es", width: 1360, scheme: "light", locale: "es-AR" },
  { name: "wide-dark-en", width: 1360, scheme: "dark", locale: "en-US" },
  { name: "narrow-light-en", width: 390, scheme: "light", locale: "en-US" },
  { name: "narrow-dark-es", width: 390, scheme: "dark", locale: "es-AR" },
];
let count = 0;
let slowest = [0, ""];
for (const view of views) {
  const { context, page } = await watched(browser, {
    viewport: { width: view.width, height: 900 }, colorScheme: view.scheme, locale: view.locale, reducedMotion: "reduce",
  });
  await page.goto(`${dev.adminUrl}/console/login`);
  await look(page, `${view.name} login`);
  await page.screenshot({ path: `${pictures}/login.${view.name}.png`, fullPage: true });
  await enter(page);
  await lives(page);
  for (const [name, path] of pages(filled)) {
    const begun = performance.now();
    await page.goto(dev.adminUrl + path, { waitUntil: "commit" });
    const took = performance.now() - begun;
    if (took > slowest[0]) slowest = [took, name];
    if (took > PAGE_MAX) say(`${view.name} ${name}: ${Math.round(took)} ms`);
    await page.waitForLoadState("load");
    // Parts that follow the page.
    await page.waitForFunction(() => !document.querySelector("[hx-get]"), null, { timeout: 15000 });
    if (name === "overview") await page.waitForSelector("[data-live-state].good");
    await look(page, `${view.name} ${name}`);
    await page.screenshot({ path: `${pictures}/${name}.${view.name}.png`, fullPage: true });
    count++;
  }
  if (view === views[0]) await act(page, filled);
  await context.close();
}
await browser.close();
filled.receiver.close();
console.log(`${count} pages, the slowest ${slowest[1]} in ${Math.round(slowest[0])} ms, ${wrong.length} things wrong`);
process.exit(wrong.length ? 1 : 0);
