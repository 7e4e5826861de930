// Holds the world in the committed src/web/wasm/tickwire.wasm against tests/fixtures/world.txt, which tests/determinism holds
// against the native build: the same command frames must lead to the same checksums. Also a snapshot taken and
// restored half-way. And the game tanks against tests/fixtures/games.txt.
//
//   node tests/wasm/check.mjs
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkGame } from './games.mjs';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const hex16 = (number) => BigInt.asUintN(64, number).toString(16).padStart(16, '0');
const DONE = 0;
const NO_WORLD = 1;
const BAD_INPUT = 2;
const WRONG_TICK = 3;

const module = await WebAssembly.instantiate(readFileSync(at('src/web/wasm/tickwire.wasm')), {});
const wasm = module.instance.exports;

let failures = 0;
let checks = 0;
function same(found, expected, what) {
  checks += 1;
  if (found !== expected) {
    failures += 1;
    console.error(`FAILED ${what}: found ${found}, expected ${expected}`);
  }
}

function give(bytes) {
  const address = wasm.input(bytes.length);
  new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
}

const take = (length) => new Uint8Array(wasm.memory.buffer, wasm.output(), length).slice();

/** A second world that goes on from the first one's snapshot. */
function restored(world) {
  const length = wasm.world_snapshot(world);
  same(length > 0, true, 'a snapshot is taken');
  give(take(length));
  const copy = wasm.world_restore();
  same(copy > world, true, 'it is restored');
  return copy;
}

function refusals(world) {
  same(wasm.moo_world_new(1, 14400, 25), 0, 'a tick rate of 25');
  give(Uint8Array.of(1, 2, 3));
  same(wasm.world_step(world), BAD_INPUT, 'three bytes as a frame');
  same(wasm.world_restore(), 0, 'three bytes as a snapshot');
  const reason = 'these bytes are not a snapshot of a world';
  same(new TextDecoder().decode(take(reason.length)), reason, 'and why not');
  give(Uint8Array.of(255, 255, 255, 0, 0, 0));
  same(wasm.world_step(world), WRONG_TICK, 'a frame of another tick');
  same(wasm.input(1 << 30), 0, 'a gigabyte of input');
}

let worlds = [];
let ticks = 0;
for (const line of readFileSync(at('tests/fixtures/world.txt'), 'utf8').split('\n')) {
  const [word, ...rest] = line.split(' ');
  if (word === 'code') {
    same(hex16(wasm.moo_world_rules_hash()), rest[0], 'the rules hash');
  } else if (word === 'case') {
    worlds.forEach(wasm.world_drop);
    same(wasm.world_step(worlds[0] ?? 1), NO_WORLD, 'a step without a world');
    const world = wasm.moo_world_new(...rest.map(Number));
    same(world > 0, true, line);
    worlds = [world];
    refusals(world);
  } else if (word === 'frame') {
    for (const world of worlds) {
      give(Buffer.from(rest[0], 'hex'));
      same(wasm.world_step(world), DONE, `tick ${wasm.world_tick(world)}`);
    }
    ticks += 1;
  } else if (word === 'checksum') {
    worlds.forEach((world, index) => {
      same(hex16(wasm.world_checksum(world)), rest[0], `world ${index} after ${wasm.world_tick(world)} ticks`);
    });
    if (worlds.length === 1) worlds.push(restored(worlds[0]));
  }
}

try {
  const { ticks: more, checksums } = checkGame(wasm, 'tanks');
  [ticks, checks] = [ticks + more, checks + checksums];
} catch (error) {
  failures += 1;
  console.error(`FAILED ${error.message}`);
}

if (ticks === 0) failures += 1;
console.log(`wasm: ${ticks} ticks, ${checks} checks, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
