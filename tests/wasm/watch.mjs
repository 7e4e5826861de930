// A capture is watched as the page does it (src/web/playback/playback.js), by the committed src/web/wasm/tickwire.wasm: each tick must have the checksum that was recorded.
//
//   node tests/wasm/watch.mjs FILE.pcapng     watches this capture instead
import assert from 'node:assert/strict';
import { createReadStream, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../../src/web/lib/codec.js';
import { decode, setTables } from '../../src/web/game/net/protocol.js';
import { Playback } from '../../src/web/playback/playback.js';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const FILE = process.argv[2] ?? at('docs/lessons/one-step.pcapng');
const module = await WebAssembly.compile(readFileSync(at('src/web/wasm/tickwire.wasm')));
const codes = JSON.parse(readFileSync(at('src/web/codes.json'), 'utf8'));
setTables(codes);

const heard = [];
const watch = new Playback(async () => module, { onMessage: (message, nowMs) => heard.push({ ...decode(message), nowMs }), onSeekDone: () => {}, onChange: () => {} });
const wish = { game: 'moo', dialect: 'native', table: formatTable(codes, 'native'), room: '', tick: null };
const open = async () => Readable.toWeb(createReadStream(FILE, { highWaterMark: 3000 }));
const settled = async (test, what) => {
  for (let tries = 0; !test(); tries += 1) {
    assert.ok(tries < 3000 && watch.why === '', `${what}: ${watch.why}`);
    await new Promise((done) => { setTimeout(done, 10); });
  }
};

const began = performance.now();
await watch.read(open, wish);
await settled(() => watch.isWhole && watch.seeking === null && watch.status.indexed === watch.status.last, 'read');
const { first, last, differs } = watch.status;
assert.equal(differs, null);
assert.ok(last - first > 20, `${first} to ${last}`);
const indexed = performance.now() - began;
watch.toggle(false);

let seeks = 0;
let longest = 0;
for (let turn = 0; turn < 40; turn += 1) {
  const tick = first + 1 + Math.floor(((turn * 0.618) % 1) * (last - first - 1));
  heard.length = 0;
  watch.seek(tick);
  await settled(() => watch.seeking === null, `seek to ${tick}`);
  assert.equal(watch.tick, tick);
  const [seen, recorded] = watch.checksums();
  assert.equal(seen, recorded, `tick ${tick}`);
  assert.equal(heard[0].name, 'welcome');
  assert.ok(heard.some(({ name, values }) => name === 'update' && values.tick === tick), heard.map(({ name }) => name).join());
  assert.ok(heard.every(({ nowMs }, place) => place === 0 || nowMs >= heard[place - 1].nowMs));
  seeks += 1;
  longest = Math.max(longest, watch.times.seek);
}

// Plays by the time of the frames: at each speed as many ticks as that time has, and the checksum is right wherever it stands.
for (const speed of [0.25, 1, 4, 64]) {
  watch.seek(first + 1);
  await settled(() => watch.seeking === null, 'back');
  watch.setSpeed(speed);
  watch.toggle(true);
  const from = watch.ms;
  let now = 1e6;
  watch.frameMs = now;
  for (let frame = 0; frame < 24; frame += 1) watch.advance(now += 100 / 6);
  const ticks = Math.min(Math.floor((24 / 60) * watch.status.tick_hz * speed + 1e-6), last - first - 1);
  assert.ok(Math.abs(watch.tick - (first + 1 + ticks)) <= 1, `${speed}×: tick ${watch.tick} after ${ticks}`);
  if (watch.tick < last) {
    assert.ok(Math.abs(watch.ms - from - 400 * speed) < 1);
    const [seen, recorded] = watch.checksums();
    assert.equal(seen, recorded, `${speed}×`);
  }
}
watch.toggle(false);
watch.seek(last - 1);
await settled(() => watch.seeking === null, 'near the end');
watch.step(1);
assert.equal(watch.tick, last);
watch.step(1);
assert.equal(watch.tick, last, 'there is nothing behind it');
watch.step(-1);
await settled(() => watch.seeking === null, 'a step back');
assert.equal(watch.tick, last - 1);
console.log(`wasm: ticks ${first} to ${last}, read and run in ${Math.round(indexed)} ms, ${watch.status.snapshots} snapshots; ${seeks} seeks, longest ${longest.toFixed(1)} ms`);
console.log(`wasm: ${seeks + 8} checks, 0 failed`);
