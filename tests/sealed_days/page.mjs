// Runs the script of the page that verifies days, without a browser.
//
//   node page.mjs PAGE [--key VKEY] FILE...     prints what the page shows, in English
//   node page.mjs PAGE --vectors FILE           prints which signatures and keys of a file are accepted
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const [page, ...words] = process.argv.slice(2);
runInThisContext(/<script>\n([^]*?)<\/script>/.exec(readFileSync(page, "utf8"))[1], page);
const { isSignature, openNote, ordered, report, TEXTS, verifierKey, verifyFiles } = globalThis.verifyDay;

async function vectors(path) {
  const { signatures, notes, keys } = JSON.parse(readFileSync(path, "utf8"));
  const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
  const opened = async ({ key, note }) => {
    try {
      return await openNote(note, await verifierKey(key));
    } catch {
      return null;
    }
  };
  return {
    signatures: await Promise.all(signatures.map((it) => isSignature(bytes(it.public), bytes(it.message), bytes(it.signature)))),
    notes: await Promise.all(notes.map(opened)),
    keys: await Promise.all(keys.map(async (key) => await verifierKey(key) !== undefined)),
  };
}

if (words[0] === "--vectors") {
  console.log(JSON.stringify(await vectors(words[1])));
} else {
  const given = words[0] === "--key" ? await verifierKey(words[1]) : undefined;
  const paths = words[0] === "--key" ? words.slice(2) : words;
  const files = paths.map((name) => ({ name, bytes: Uint8Array.from(readFileSync(name)) }));
  const { found, order } = await verifyFiles(files, given);
  for (const it of found) console.log(`${it.name}: ${report(it, TEXTS.en).join("\n  ")}`);
  for (const line of ordered(order, TEXTS.en)) console.log(line);
  process.exitCode = found.some((it) => it.refused) ? 1 : 0;
}
