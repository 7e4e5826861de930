// Holds the committed src/web/world.wasm against tests/fixtures/world.txt, which tests/determinism.rs holds against the
// native build: the same command frames must lead to the same checksums. Also a snapshot taken and restored half-way.
//
//   node tests/wasm/check.mjs
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const hex16 = (number) => BigInt.asUintN(64, number).toString(16).padStart(16, '0');
const DONE = 0;
const BAD_INPUT = 2;
const WRONG_TICK = 3;

const module = await WebAssembly.instantiate(readFileSync(at('src/web/world.wasm')), {});
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

function give(instance, bytes) {
  const address = wasm.instance_input(instance, bytes.length);
  new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
}

function take(instance) {
  const [address, length] = [wasm.instance_output(instance), wasm.instance_output_length(instance)];
  return new Uint8Array(wasm.memory.buffer, address, length).slice();
}

/** A second instance that goes on from the first one's snapshot. */
function restored(instance) {
  same(wasm.world_snapshot(instance), DONE, 'a snapshot is taken');
  const copy = wasm.instance_new();
  give(copy, take(instance));
  same(wasm.world_restore(copy), DONE, 'it is restored');
  return copy;
}

function refusals(instance) {
  same(wasm.world_new(instance, 1, 14400, 25), BAD_INPUT, 'a tick rate of 25');
  give(instance, Uint8Array.of(1, 2, 3));
  same(wasm.world_step(instance), BAD_INPUT, 'three bytes as a frame');
  same(wasm.world_restore(instance), BAD_INPUT, 'three bytes as a snapshot');
  same(new TextDecoder().decode(take(instance)), 'these bytes are not a snapshot of a world', 'and why not');
  give(instance, Uint8Array.of(255, 255, 255, 0, 0, 0));
  same(wasm.world_step(instance), WRONG_TICK, 'a frame of another tick');
  same(wasm.instance_input(instance, 1 << 30), 0, 'a gigabyte of input');
}

let worlds = [];
let ticks = 0;
for (const line of readFileSync(at('tests/fixtures/world.txt'), 'utf8').split('\n')) {
  const [word, ...rest] = line.split(' ');
  if (word === 'code') {
    same(hex16(wasm.world_code_hash()), rest[0], 'the code hash');
  } else if (word === 'case') {
    worlds.forEach(wasm.instance_free);
    const instance = wasm.instance_new();
    same(wasm.world_step(instance), 1, 'a step without a world');
    same(wasm.world_new(instance, ...rest.map(Number)), DONE, line);
    worlds = [instance];
    refusals(instance);
  } else if (word === 'frame') {
    for (const instance of worlds) {
      give(instance, Buffer.from(rest[0], 'hex'));
      same(wasm.world_step(instance), DONE, `tick ${wasm.world_tick(instance)}`);
    }
    ticks += 1;
  } else if (word === 'checksum') {
    worlds.forEach((instance, index) => {
      same(hex16(wasm.world_checksum(instance)), rest[0], `world ${index} after ${wasm.world_tick(instance)} ticks`);
    });
    if (worlds.length === 1) worlds.push(restored(worlds[0]));
  }
}

if (ticks === 0) failures += 1;
console.log(`wasm: ${ticks} ticks, ${checks} checks, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
