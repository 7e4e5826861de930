// The game tanks, without its server: its page makes the server's map, and reads and sends only what is in the table.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Dialect, blendStates } from '../../../src/web/lib/codec.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { boxesOf, makeMap } from '../../../src/web/games/tanks/map.js';
import { Camera } from '../../../src/web/games/tanks/camera.js';
import { parse } from '../lib/tables.mjs';

const read = (name) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
const page = read('src/games/tanks/page.html');
const tanks = new Dialect({ tables: [{ rows: parse(read('packet_codes/tanks/tanks.tsv')) }] }, 'tanks');
const names = (fields) => fields.map(({ name }) => name);
const members = (packet, list) => names(tanks.clientPackets.get(packet).fields.find(({ name }) => name === list).members);

test('the page makes the map of the server', () => {
  const hash = (seed) => makeMap(seed).flat().reduce((sum, wall) => Math.imul(sum ^ Number(wall), 0x01000193) >>> 0, 0x811c9dc5);
  // src/games/tanks/tests/mod.rs has the same numbers for the map of the server.
  assert.deepEqual([1, 2, 77].map(hash), [1847946806, 22364261, 1276770070]);
});

test('the boxes of the walls cover the walls inside the edge, each once', () => {
  const walls = makeMap(7);
  const covered = Array.from({ length: 60 }, () => Array(60).fill(0));
  for (const { x, y, wide, high } of boxesOf(walls)) {
    for (let row = y / 50; row < (y + high) / 50; row++) for (let column = x / 50; column < (x + wide) / 50; column++) covered[row][column] += 1;
  }
  const inside = (rows) => rows.slice(1, -1).map((row) => row.slice(1, -1).map(Number));
  assert.deepEqual(inside(covered), inside(walls));
});

test('a tank is at least 22 px wide in every window, and a spectator follows the best living one', () => {
  for (const [wide, high] of [[1440, 900], [390, 844], [844, 390], [390, 388], [320, 568]]) {
    const { scale, x, y } = new Camera().view({ player: 1, x: 20, y: 2990 }, { wide, high }, 16, false);
    assert.ok(scale * 40 >= 22, `${scale} at ${wide} × ${high}`);
    assert.ok(x(20) > 0 && x(20) < wide && y(2990) > 0 && y(2990) < high, 'in a corner of the map, the tank is in view');
  }
  const camera = new Camera();
  const tanks = (healths) => healths.map((health, player) => ({ player, health, x: 0, y: 0 }));
  const scores = [10, 30, 20].map((score, player) => ({ player, score }));
  assert.equal(camera.choose(tanks([100, 100, 100]), scores, 0).player, 1);
  assert.equal(camera.choose(tanks([100, 0, 100]), scores, 1000).player, 1, 'for a moment after its destruction');
  assert.equal(camera.choose(tanks([100, 0, 100]), scores, 2000).player, 2);
  camera.follow(0);
  assert.equal(camera.choose(tanks([0, 100, 100]), scores, 9000).player, 0, 'a chosen one also while it is destroyed');
});

test('the page reads what the table has', () => {
  const scripts = [page, ...['effects', 'ground', 'tank'].map((name) => read(`src/web/games/tanks/${name}.js`))].join('\n').replace(/^ *(import|\*|\/\*\*) .*$/gm, '');
  const readFrom = (what) => [...scripts.matchAll(new RegExp(`\\b${what}\\.(\\w+)`, 'g'))].map(([, name]) => name);
  for (const [what, known, least] of [
    ['state', names(tanks.clientPackets.get('state').fields), 6],
    ['tank', members('state', 'tanks'), 6],
    ['own', members('state', 'tanks'), 6],
    ['shell', members('state', 'shells'), 4],
    ['hit', [...names(tanks.clientPackets.get('hit').fields), 'at'], 3],
  ]) {
    const found = new Set(readFrom(what));
    assert.ok(found.size >= least, `${what}: ${[...found]}`);
    for (const name of found) assert.ok(known.includes(name), `${what} has no ${name}`);
  }
});

test('what the page sends is in the table, and no client can name a tank, a place or a speed', () => {
  assert.deepEqual([...page.matchAll(/game\.send\('(\w+)'/g)].map(([, packet]) => packet), ['control']);
  const sent = /const control = \{ (.*) \};/.exec(page)[1].matchAll(/(?:^|, )(\w+)(?=:|,|$)/g);
  assert.deepEqual([...sent].map(([, name]) => name), ['drive', 'turn', 'aim', 'is_firing', 'kind']);
  const control = { sequence: 1, tick: null, drive: -1, turn: 1, aim: 16384, is_firing: true, kind: 1, render_tick: null };
  assert.equal(Buffer.from(tanks.encode('control', control)).toString('hex'), '92049801c0ff01cd4000c301c0');
  for (const wrong of ['player', 'x', 'speed', 'reload']) assert.throws(() => tanks.encode('control', { ...control, [wrong]: 1 }), new RegExp(wrong));
});

test('tanks and shells move evenly, turrets the short way round, and health does not', () => {
  const state = (tick, tank, shell) => tanks.decode(toMsgpack([5, [tick, 1, false, 90, null, tank, shell]])).values;
  const before = state(90, [7, 1000, 2000, 10, 65000, 100, 40, 5, 0], [3, 100, 100, 0, 1, 7]);
  const after = state(91, [7, 1010, 2000, 12, 464, 90, 39, 5, 119], [3, 150, 100, 0, 1, 7]);
  const shown = blendStates(tanks.clientPackets.get('state').fields, before, after, 0.5, { units: false });
  assert.deepEqual(shown.tanks, [{ ...before.tanks[0], x: 1005, hull: 11, turret: 65500 }]);
  assert.deepEqual(shown.shells, [{ ...before.shells[0], x: 125 }]);
});
