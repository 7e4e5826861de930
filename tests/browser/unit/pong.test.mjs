// The example pong, without its server: its table can be spoken, and its page reads and sends only what is in the table.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Dialect, blendStates, defaultDialect } from '../../../src/web/lib/codec.js';
import { encode as toMsgpack } from '../../../src/web/lib/msgpack.js';
import { parse } from '../lib/tables.mjs';

const read = (name) => readFileSync(new URL(`../../../examples/${name}`, import.meta.url), 'utf8');
const page = read('pong.html');
const codes = { tables: [{ rows: parse(read('pong.tsv')) }] };
const pong = new Dialect(codes, defaultDialect(codes));
const names = (fields) => fields.map(({ name }) => name);

test('the page has at most 150 lines, and reads what the table has', () => {
  assert.ok(page.trimEnd().split('\n').length <= 150);
  const state = names(pong.clientPackets.get('state').fields);
  const read = [...page.matchAll(/\bstate\.(\w+)/g)].map(([, name]) => name);
  const sides = [...page.matchAll(/state\[`\$\{one\}(_\w+)`\]/g)].flatMap(([, name]) => [`left${name}`, `right${name}`]);
  assert.ok(read.length > 8 && sides.length > 3);
  for (const name of [...read, ...sides]) assert.ok(state.includes(name), `state has no ${name}`);
});

test('what the page sends is in the table', () => {
  const sent = [...page.matchAll(/game\.send\('(\w+)', \{ (\w+) \}\)/g)];
  assert.deepEqual(sent.map(([, packet, argument]) => [packet, argument]), [['paddle', 'direction']]);
  assert.equal(Buffer.from(pong.encode('paddle', { sequence: 1, tick: null, direction: -1 })).toString('hex'), '92049301c0ff');
  assert.throws(() => pong.encode('paddle', { sequence: 1, direction: 0.5 }), /paddle\.direction must be i8/);
});

test('ball and paddles move evenly, and score and players do not', () => {
  const before = pong.decode(toMsgpack([5, [90, 400, 300, 48, 552, 1, 2, 'Ann', 'Bo', 3, 4, 0]])).values;
  const after = { ...before, tick: 91, ball_x: 410, left_y: 58, left: 3, left_score: 4 };
  const shown = blendStates(pong.clientPackets.get('state').fields, before, after, 0.5, { units: false });
  assert.deepEqual(shown, { ...before, ball_x: 405, left_y: 53 });
  assert.equal(shown.winner, null);
});
