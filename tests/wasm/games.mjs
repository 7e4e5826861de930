// Holds worlds of the simple layer in a WebAssembly module against tests/fixtures/games.txt, which tests/server/checksums.rs
// holds against the native build: the same command frames must lead to the same checksums.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FIXTURE = fileURLToPath(new URL('../fixtures/games.txt', import.meta.url));
const hex16 = (number) => BigInt.asUintN(64, number).toString(16).padStart(16, '0');

/**
 * @param {any} wasm exports of a module whose games are registered
 * @param {string} name of the game
 * @returns {{ ticks: number, checksums: number }} how much was the same
 * @throws {Error} at the first difference
 */
export function checkGame(wasm, name) {
  const same = runTrace(wasm, readFileSync(FIXTURE, 'utf8'), name);
  if (same.checksums === 0) throw new Error(`tests/fixtures/games.txt has no checksum of ${name}`);
  return same;
}

/**
 * @param {any} wasm exports of such a module
 * @param {string} text lines as in the fixture, or of `tickwire synctest --trace`
 * @param {string} [only] the game to which the others are left out
 * @returns {{ worlds: number, ticks: number, checksums: number }} how much was the same
 * @throws {Error} at the first difference
 */
export function runTrace(wasm, text, only) {
  const give = (bytes) => {
    // The memory may be another one after this call.
    const address = wasm.input(bytes.length);
    new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
  };
  const same = { worlds: 0, ticks: 0, checksums: 0 };
  let [isOwn, where, tick] = [false, '', 0];
  for (const line of text.split('\n')) {
    const [word, value, seed] = line.split(' ');
    if (word === 'game') {
      isOwn = only === undefined || value === only;
      if (!isOwn) continue;
      give(Buffer.from(value));
      if (wasm.any_world_start(Number(seed)) !== 0) throw new Error(`there is no game ${value}`);
      [where, tick] = [`${value}, seed ${seed}`, 0];
      same.worlds += 1;
    } else if (isOwn && word === 'frame') {
      give(Buffer.from(value, 'hex'));
      const done = wasm.any_world_step();
      if (done !== 0) throw new Error(`${where}, tick ${tick}: the frame is refused with ${done}`);
      tick += 1;
      same.ticks += 1;
    } else if (isOwn && word === 'checksum') {
      const found = hex16(wasm.any_world_checksum());
      if (found !== value) throw new Error(`${where}, after ${tick} ticks: found ${found}, expected ${value}`);
      same.checksums += 1;
    }
  }
  return same;
}
