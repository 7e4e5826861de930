// Executes the ticks of a trace in a program's world module: `node -e THIS MODULE TRACE`. Prints one line of JSON:
// { ticks }, or at the first difference { tick, checksum, snapshot }, or { tick, error } if the module stops.
'use strict';
const { readFileSync } = require('node:fs');

const [, modulePath, tracePath] = process.argv;
const wasm = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(modulePath)), {}).exports;
wasm.main?.(0, 0);

function setInput(bytes) {
  // The call may replace the memory's buffer.
  const address = wasm.input(bytes.length);
  new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
}

function run(lines) {
  let tick = 0;
  try {
    for (const line of lines) {
      const [word, value, seed] = line.split(' ');
      if (word === 'game') {
        setInput(Buffer.from(value));
        if (wasm.any_world_start(Number(seed)) !== 0) return { tick, error: `the module does not have the game ${value}` };
      } else if (word === 'frame') {
        setInput(Buffer.from(value, 'hex'));
        const status = wasm.any_world_step();
        if (status !== 0) return { tick, error: `the module rejects the command frame: status ${status}` };
        tick += 1;
      } else if (word === 'checksum') {
        const checksum = BigInt.asUintN(64, wasm.any_world_checksum()).toString(16).padStart(16, '0');
        if (checksum !== value) {
          const length = wasm.any_world_snapshot();
          const snapshot = Buffer.from(new Uint8Array(wasm.memory.buffer, wasm.output(), length)).toString('hex');
          return { tick, checksum, snapshot };
        }
      }
    }
  } catch (error) {
    return { tick, error: String(error) };
  }
  return { ticks: tick };
}

console.log(JSON.stringify(run(readFileSync(tracePath, 'utf8').split('\n'))));
