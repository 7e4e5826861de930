// Explains bytes with src/web/wasm/tickwire.wasm: from standard input the server's first message, then lines of `explain_bytes`; a line for each goes to
// standard output. tests/verdicts holds them against the native explainer.
import { readFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Explainer } from '../../src/web/inspector/explainer.js';

const explainer = await Explainer.from(readFileSync(fileURLToPath(new URL('../../src/web/wasm/tickwire.wasm', import.meta.url))));
const { wasm } = explainer;
const [welcome, ...lines] = readFileSync(0, 'utf8').split('\n');
explainer.welcome(welcome);
const encoder = new TextEncoder();
for (const line of lines) {
  explainer.setInput(encoder.encode(line));
  const told = Buffer.concat([explainer.outputBytes(wasm.explain_bytes()), Buffer.from('\n')]);
  for (let at = 0; at < told.length;) at += writeSync(1, told, at);
}
