// Reads statements as camt.053 with a reader of npm, and compares what it finds with the same statements as JSON. It knows
// days, signs and sums, but no unstructured texts.
//
//   node read.mjs FOLDER TOOLS
//
// FOLDER has `NAME.xml` and `NAME.json` for each statement, TOOLS the reader.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [folder, tools] = process.argv.slice(2);
const { parseCamt053 } = createRequire(join(resolve(tools), 'package.json'))('camt-parser');
const SIGNS = { credit: 1, debit: -1, confirm_hold: -1, CRDT: 1, DBIT: -1 };
const centavos = (amount) => Math.round(Number(amount) * 100);
const THREE_HOURS = 3 * 3600 * 1000;

const files = readdirSync(folder).filter((name) => name.endsWith('.xml'));
for (const name of files) {
  const statement = JSON.parse(readFileSync(join(folder, name.replace(/xml$/, 'json')), 'utf8'));
  const wanted = statement.lines
    .filter((line) => line.ledgerType in SIGNS)
    .map((line) => ({
      day: new Date(Date.parse(line.createdAt) - THREE_HOURS).toISOString().slice(0, 10),
      amount: SIGNS[line.ledgerType] * centavos(line.amount),
    }));
  const report = await parseCamt053(readFileSync(join(folder, name), 'utf8'));
  const [read] = report.statements;
  const found = read.transactions.map((entry) => {
    assert.equal(entry.valueDate, entry.bookingDate, name);
    return { day: entry.bookingDate, amount: SIGNS[entry.creditDebitIndicator] * centavos(entry.amount.value) };
  });
  assert.deepEqual(found, wanted, name);
  const balance = (type) => centavos(read.balances.find((it) => it.type === type).amount.value);
  const closing = balance(statement.final ? 'CLBD' : 'ITBD');
  assert.equal(balance('OPBD'), centavos(statement.opening.total), name);
  assert.equal(closing, centavos(statement.closing.total), name);
  assert.equal(balance('OPBD') + found.reduce((sum, it) => sum + it.amount, 0), closing, name);
}
console.log(`${files.length} statements are read by a reader of npm`);
