// Runs src/web/wasm/tickwire.wasm on calls from standard input, and writes what each puts out to standard output. tests/explain/in_wasm.rs holds
// that against the same code built natively. A call is a letter, its bytes in four, and its input; an answer is its bytes in four, and itself.
import { readFileSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Explainer } from '../../src/web/inspector/explainer.js';

const explainer = await Explainer.from(readFileSync(fileURLToPath(new URL('../../src/web/wasm/tickwire.wasm', import.meta.url))));
const { wasm } = explainer;
const CALLS = {
  W: () => wasm.welcome(),
  w: (input) => wasm.watch(input.readBigUInt64BE()),
  p: (input) => wasm.pause(input[0]),
  r: () => wasm.receive(),
  e: (input) => wasm.explain(input.readBigUInt64BE()),
  f: () => wasm.fields(),
  s: () => wasm.save(),
  F: (input) => {
    explainer.setFileInput(input);
    // In slices, as the page does it.
    for (;;) {
      const answer = wasm.list_open_file(5000);
      if (!Buffer.from(explainer.outputBytes(answer)).toString().startsWith('{"percent"')) return answer;
    }
  },
  k: () => { while (explainer.advance(5000).more); return wasm.list_file_summary(); },
  l: () => wasm.filter(),
  R: () => wasm.rows(0, 50),
  X: () => { explainer.setFileInput(new Uint8Array()); return 0; },
};

const calls = readFileSync(0);
const answers = [];
for (let at = 0; at < calls.length;) {
  const [verb, size] = [String.fromCharCode(calls[at]), calls.readUInt32BE(at + 1)];
  const input = calls.subarray(at + 5, at + 5 + size);
  explainer.setInput(input);
  const answer = Buffer.from(explainer.outputBytes(CALLS[verb](input)));
  const front = Buffer.alloc(4);
  front.writeUInt32BE(answer.length);
  answers.push(front, answer);
  at += 5 + size;
}
const all = Buffer.concat(answers);
for (let at = 0; at < all.length;) at += writeSync(1, all, at);
