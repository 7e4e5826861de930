// Settings in the address of a page and in `connect` that cannot be had: none is ignored without a word.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { SETTINGS, wrongIn } from '../../../src/web/lib/address.js';
import { connect } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, packet, sockets } from '../lib/fake-socket.mjs';

const WEB = new URL('../../../src/web/', import.meta.url);

for (const [search, edition, wrong, unknown] of [
  ['', 'server', [], []],
  ['?inspector&netem=wifi&mode=lockstep&token=abc', 'server', [], []],
  ['?mode=stream', 'server', [], []],
  ['?mode=', 'server', [], []],
  ['?mode=locstep', 'server', [/^mode=locstep: must be stream or lockstep/], []],
  ['?mode=Lockstep', 'tab', [/^mode=Lockstep: must be/], []],
  ['?room=arena', 'server', [], []],
  ['?room=any&where=state:lobby,map:3', 'server', [], []],
  ['?room=Arena', 'server', [/^room=Arena: must be any, or a name of 1 to 32/], []],
  ['?room=any&where=state', 'server', [/^where=state: must be at most 8 of name:value/], []],
  ['?where=state:lobby', 'server', [/^where: needs room=any/], []],
  ['?capture=a.pcapng&room=arena', 'server', [], []],
  ['?capture&mode=lockstep&netem=wifi', 'server', [/^mode: has no effect on a capture/, /^netem: has no effect on a capture/], []],
  ['?second', 'server', [/^second: only the tab edition/], []],
  ['?second', 'tab', [], []],
  ['?predict&fbclid=1&nett=wifi', 'server', [], ['predict', 'fbclid', 'nett']],
]) {
  test(`the address ${search || 'without settings'} in the edition ${edition}`, () => {
    const found = wrongIn(search, edition);
    assert.equal(found.wrong.length, wrong.length, JSON.stringify(found));
    wrong.forEach((pattern, at) => assert.match(found.wrong[at], pattern));
    assert.deepEqual(found.unknown, unknown);
  });
}

test('every setting that a module of the page reads is a known one', () => {
  const read = new Set();
  for (const name of readdirSync(WEB, { recursive: true }).map(String).filter((one) => one.endsWith('.js') && one !== 'lib/address.js')) {
    const source = readFileSync(new URL(name, WEB), 'utf8');
    for (const [, setting] of source.matchAll(/URLSearchParams\([^)]*\)\.(?:get|has)\('(\w+)'\)/g)) read.add(setting);
  }
  assert.ok(read.size >= 6, [...read].join());
  // The inspector's own.
  read.delete('embedded');
  assert.deepEqual([...read].filter((setting) => !SETTINGS.includes(setting)), []);
});

beforeEach(() => {
  sockets.length = 0;
  const get = async (url) => new Response(readFileSync(new URL(url)), { headers: { 'Content-Type': 'application/wasm' } });
  mock.method(globalThis, 'fetch', get);
});
afterEach(() => mock.restoreAll());

/** The errors that a game reports until there are as many, and the warnings in the console. @param {object} options @param {number} count */
async function errorsOf(options, count) {
  const warned = mock.method(console, 'warn', () => {}).mock;
  const errors = [];
  const known = sockets.length;
  const all = new Promise((resolve) => {
    const error = (event) => { if (errors.push(event) === count) resolve(undefined); };
    connect({ path: 'http://game.test/play', codes: CODES, WebSocket: FakeSocket, on: { error }, ...options }).then((game) => { errors.game = game; });
  });
  while (sockets.length === known) await new Promise((next) => { setTimeout(next, 1); });
  sockets.at(-1).welcome();
  await all;
  errors.game.close();
  assert.equal(warned.callCount(), count);
  return errors;
}

test('prediction by other rules than those of the server is reported once, and game.prediction says why', async () => {
  const [error, ...others] = await errorsOf({ predict: true }, 1).then((errors) => [errors[0], ...errors.slice(1)]);
  assert.deepEqual(others, []);
  assert.equal(error.rule, 'prediction_unavailable');
  assert.match(error.detail, /^There is no prediction: prediction\.wasm has other rules than the server\. The command `prediction` /);
});

test('prediction of a game that the file does not have is reported, and how to build it', async () => {
  // The names of the dialects are the only texts that are so.
  const codes = JSON.parse(JSON.stringify(CODES).replaceAll('"native"', '"own"'));
  const fake = class extends FakeSocket {
    say(name, values) { this.give(packet(name, values, this.dialect, codes)); }
  };
  const [error] = await errorsOf({ predict: true, codes, dialect: 'own', WebSocket: fake }, 1);
  assert.equal(error.rule, 'prediction_unavailable');
  assert.match(error.detail, /prediction\.wasm does not have the game of the dialect own with these packet tables\. The command `prediction` /);
});

test('prediction without the file is reported', async () => {
  mock.method(globalThis, 'fetch', async () => new Response('', { status: 404 }));
  const [error] = await errorsOf({ predict: true }, 1);
  assert.equal(error.rule, 'prediction_unavailable');
  assert.match(error.detail, /prediction\.wasm could not be loaded: status 404/);
});

test('a network that the model does not know is reported, and the game goes on over the line as it is', async () => {
  const [error] = await errorsOf({ net: 'nonsense' }, 1);
  assert.equal(error.rule, 'network_unavailable');
  assert.match(error.detail, /^net=nonsense: /);
});

test('a mode that there is not is reported', async () => {
  const [error] = await errorsOf({ mode: 'locstep' }, 1);
  assert.deepEqual(error, { rule: 'mode_unknown', detail: 'mode=locstep: must be stream or lockstep. This page follows as a stream.' });
});

test('what can be had is not reported', async () => {
  const warned = mock.method(console, 'warn', () => {}).mock;
  const errors = [];
  const pending = connect({ path: 'http://game.test/play', codes: CODES, WebSocket: FakeSocket, net: 'wifi', mode: 'stream', on: { error: (event) => errors.push(event) } });
  while (sockets.length === 0) await new Promise((next) => { setTimeout(next, 1); });
  sockets[0].welcome();
  (await Promise.race([pending, new Promise((next) => { setTimeout(next, 2000); })]))?.close();
  assert.deepEqual([errors, warned.callCount()], [[], 0]);
});
