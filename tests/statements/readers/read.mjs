// Reads statements as camt.053 with a reader of npm, and compares what it finds with the same statements as JSON. It
// knows the day on which an entry is booked, not its value date.
//
//   node read.mjs FOLDER TOOLS
//
// FOLDER has `NAME.xml` and `NAME.json` for each statement, TOOLS the reader.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, tools] = process.argv.slice(2);
const reader = join(resolve(tools), 'node_modules/iso20022.js/dist/index.mjs');
const { CashManagementEndOfDayReport } = await import(pathToFileURL(reader));
const SIGNS = { credit: 1, debit: -1, confirm_hold: -1 };
const THREE_HOURS = 3 * 3600 * 1000;
const centavos = (amount) => Math.round(Number(amount) * 100);
const day = (date) => date.toISOString().slice(0, 10);
const signed = (it) => SIGNS[it.creditDebitIndicator] * Math.round(it.amount);
// Pieces of a long text are parted at spaces.
const text = (entry) => [entry.transactions[0].remittanceInformation ?? ''].flat().join(' ');

const files = readdirSync(folder).filter((name) => name.endsWith('.xml'));
for (const name of files) {
  const statement = JSON.parse(readFileSync(join(folder, name.replace(/xml$/, 'json')), 'utf8'));
  const wanted = statement.lines
    .filter((line) => line.ledgerType in SIGNS)
    .map((line) => ({
      day: day(new Date(Date.parse(line.createdAt) - THREE_HOURS)),
      amount: SIGNS[line.ledgerType] * centavos(line.amount),
      text: line.description ?? '',
    }));
  const [read] = CashManagementEndOfDayReport.fromXML(readFileSync(join(folder, name), 'utf8')).statements;
  const found = read.entries.map((it) => ({ day: day(it.bookingDate), amount: signed(it), text: text(it) }));
  assert.deepEqual(found, wanted, name);
  // This reader takes codes of digits for numbers.
  assert.equal(String(read.agent.routingNumber).padStart(4, '0'), statement.cvu.slice(3, 7), name);
  const balance = (type) => signed(read.balances.find((it) => it.type === type));
  const closing = balance(statement.final ? 'CLBD' : 'ITBD');
  assert.equal(balance('OPBD'), centavos(statement.opening.total), name);
  assert.equal(closing, centavos(statement.closing.total), name);
  assert.equal(balance('OPBD') + found.reduce((sum, it) => sum + it.amount, 0), closing, name);
}
console.log(`${files.length} statements are read by a reader of npm`);
