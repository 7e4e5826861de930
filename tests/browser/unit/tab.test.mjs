// The tab edition without a browser: its carrier and its sockets around the real server in WebAssembly, and where that comes from.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MODE, VERSION } from '../../../src/web/lib/connection.js';
import { decode, encode } from '../../../src/web/game/net/protocol.js';
import '../lib/tables.mjs';
import { compile } from '../../../src/web/wasm/module.js';
import { withQueryParam, describeChoice } from '../../../src/web/lib/netem-menu.js';
import { WorkerSocket, parseEvents } from '../../../src/web/wasm/worker-socket.js';
import { ServerWorker, WINDOW_BYTES } from '../../../src/web/wasm/server-worker.js';
import { netemOf } from '../../../src/web/wasm/worker-host.js';

const SCRIPT = fileURLToPath(new URL('../../../scripts/browser-edition.sh', import.meta.url));
const module = await WebAssembly.compile(await readFile(new URL('../../../src/web/wasm/tickwire.wasm', import.meta.url)));

/** What a page has and Node has not. */
globalThis.WebSocket ??= /** @type {any} */ ({ CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 });
globalThis.window ??= /** @type {any} */ ({});
Object.assign(globalThis.window, { parent: globalThis.window });

/** @type {MessagePort[]} */
const ports = [];
afterEach(() => ports.splice(0).forEach((port) => port.close()));

/** A host whose server runs only when it is told to. */
async function hosted(bots = 2) {
  const carrier = new ServerWorker(await WebAssembly.instantiate(module, {}));
  carrier.start({ seed: 7, bots });
  return Object.assign(new EventTarget(), {
    carrier, module: Promise.resolve(module), ready: Promise.resolve(), failed: '',
    connect() {
      const { port1, port2 } = new MessageChannel();
      ports.push(port1, port2);
      carrier.connect(port2);
      return port1;
    },
  });
}

/** Lets the server run until something is true. */
async function runUntil(carrier, test) {
  for (let turn = 0; turn < 2000 && !test(); turn += 1) {
    carrier.advance();
    await new Promise((next) => { setTimeout(next, 1); });
  }
  assert.ok(test());
}

/** A socket to the game, and what comes by it. */
function player(host) {
  const socket = new WorkerSocket('play?inspect_key=00112233445566778899aabbccddeeff', ['tickwire.v1'], /** @type {any} */ (host));
  const seen = { packets: /** @type {string[]} */ ([]), closed: /** @type {any} */ (null) };
  socket.onopen = () => socket.send(encode('hello', { version: VERSION, mode: MODE.watch }));
  socket.onmessage = ({ data }) => seen.packets.push(decode(new Uint8Array(/** @type {ArrayBuffer} */ (data)))?.name ?? '');
  socket.onclose = (event) => { seen.closed = event; };
  return { socket, seen };
}

test('a page and the server in the tab talk in frames: hello, welcome, updates, close', async () => {
  const host = await hosted();
  const { socket, seen } = player(host);
  assert.equal(socket.readyState, 0);
  await runUntil(host.carrier, () => seen.packets.includes('welcome') && seen.packets.includes('leaderboard'));
  assert.equal(socket.readyState, 1);
  assert.equal(host.carrier.stats().clients, 3, 'two bots and the page');
  socket.close();
  assert.equal(socket.readyState, 2);
  await runUntil(host.carrier, () => seen.closed !== null && host.carrier.stats().clients === 2);
  assert.deepEqual([socket.readyState, host.carrier.connections.size], [3, 0]);
});

test('what breaks the protocol is closed with its code and reason', async () => {
  const host = await hosted(0);
  const { socket, seen } = player(host);
  await runUntil(host.carrier, () => seen.packets.includes('welcome'));
  socket.send('text where packets are binary');
  await runUntil(host.carrier, () => seen.closed !== null);
  assert.deepEqual(seen.closed, { code: 1003, reason: 'wrong_frame_type' });
});

test('an inspector in the tab is told which client is its own', async () => {
  const host = await hosted(1);
  player(host);
  const told = [];
  const wire = new WorkerSocket('wire', ['tickwire.wire'], /** @type {any} */ (host));
  wire.onmessage = ({ data }) => { if (typeof data === 'string') told.push(JSON.parse(data)); };
  wire.onopen = () => {};
  await runUntil(host.carrier, () => told.some((one) => one.clients?.length === 2));
  wire.send(JSON.stringify({ find_own: '00112233445566778899aabbccddeeff' }));
  await runUntil(host.carrier, () => told.some((one) => one.own));
  assert.deepEqual(Object.keys(told[0]), ['welcome']);
});

test('a page that reads nothing is given no more than its window', async () => {
  const host = await hosted(0);
  const { socket, seen } = player(host);
  await runUntil(host.carrier, () => seen.packets.includes('welcome'));
  const [[number, line]] = host.carrier.connections;
  const pongs = () => seen.packets.filter((name) => name === 'pong').length;
  line.unread = WINDOW_BYTES * 2;
  socket.send(encode('ping', { nonce: 1 }));
  let turns = 0;
  await runUntil(host.carrier, () => (turns += 1) > 50);
  assert.equal(pongs(), 0, 'the server keeps it');
  host.carrier.receive(number, line, WINDOW_BYTES * 2);
  await runUntil(host.carrier, () => pongs() === 1);
});

test('a server that has ended, or never began, ends its sockets with its sentence', async () => {
  const host = await hosted(0);
  const { seen } = player(host);
  await runUntil(host.carrier, () => seen.packets.includes('welcome'));
  host.failed = 'The server in this tab has stopped.';
  host.dispatchEvent(new Event('failed'));
  assert.deepEqual(seen.closed, { code: 1006, reason: host.failed });
  const late = player(host);
  await runUntil(host.carrier, () => late.seen.closed !== null);
  assert.equal(late.seen.closed.reason, host.failed);
});

test('events of a link are taken apart', () => {
  assert.deepEqual(parseEvents(new Uint8Array([1, 0, 0, 0, 0, 3, 0, 0, 0, 2, 104, 105])).map(([kind, body]) => [kind, [...body]]), [[1, []], [3, [104, 105]]]);
  assert.deepEqual(parseEvents(new Uint8Array()), []);
});

test('tickwire.wasm is compiled whatever type a host gives it; a host without it is told of', async () => {
  const bytes = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  const get = (type, status = 200) => async () => new Response(bytes, { status, headers: { 'Content-Type': type } });
  const url = new URL('http://host/wasm/tickwire.wasm');
  for (const type of ['application/wasm', 'application/octet-stream', 'text/plain']) assert.ok(await compile(url, get(type)) instanceof WebAssembly.Module, type);
  await assert.rejects(compile(url, get('text/html', 404)), /tickwire\.wasm could not be loaded: status 404/);
});

test('network conditions delay what a page is told, and can change at any time', async () => {
  const host = await hosted(1);
  const { carrier } = host;
  const perfect = { net: 'delay=0ms,jitter=0ms,loss=0%' };
  assert.deepEqual(carrier.setNetem(''), perfect);
  assert.deepEqual(carrier.setNetem('delay=60ms'), { net: 'delay=60ms,jitter=0ms,loss=0%' });
  assert.match(carrier.setNetem('dsl').error, /^"dsl": expected lan, wifi, 4g, transatlantic, train, or conditions such as/);
  let woken = 0;
  carrier.wake = () => { woken += 1; };
  const from = performance.now();
  const { socket, seen } = player(host);
  await runUntil(carrier, () => seen.packets.includes('welcome'));
  // The request and its response, then `hello` and `welcome`.
  assert.ok(performance.now() - from >= 4 * 60, `${performance.now() - from} ms`);
  assert.ok(woken > 0, 'bytes arrive between ticks');
  assert.deepEqual(carrier.setNetem(''), perfect);
  socket.send(encode('ping', { nonce: 1 }));
  await runUntil(carrier, () => seen.packets.includes('pong'));
  socket.close();
  await runUntil(carrier, () => seen.closed !== null && carrier.stats().clients === 1);
});

test('a server in the tab says which named conditions there are, and takes some at its start', async () => {
  const carrier = new ServerWorker(await WebAssembly.instantiate(module, {}));
  const { presets, net } = carrier.start({ seed: 7, bots: 0, net: 'transatlantic,loss=0%' });
  assert.deepEqual(presets.map(({ name }) => name), ['lan', 'wifi', '4g', 'transatlantic', 'train']);
  assert.deepEqual(net, { net: 'delay=45ms,jitter=3ms,loss=0%' });
  assert.ok(presets.every(({ about }) => about.length > 5));
});

test('the address says which conditions are chosen, and keeps its other parts', () => {
  assert.deepEqual(['?netem=wifi', '?inspector&netem=delay=150ms,loss=2%25', '?inspector', ''].map(netemOf), ['wifi', 'delay=150ms,loss=2%', '', '']);
  assert.equal(withQueryParam('', 'netem', 'netem=4g'), '?netem=4g');
  assert.equal(withQueryParam('?inspector&netem=wifi', 'netem', 'netem=4g'), '?netem=4g&inspector');
  assert.equal(withQueryParam('?inspector&netem=wifi', 'netem', null), '?inspector');
  assert.equal(withQueryParam('?netem=wifi', 'inspector', 'inspector'), '?inspector&netem=wifi');
  assert.equal(withQueryParam('?inspector', 'inspector', null), '');
});

test('conditions are told in words', () => {
  const net = 'delay=14ms,jitter=6ms,loss=0%,rate-up=125kB,rate-down=none';
  assert.equal(describeChoice('wifi', { net }, 'a phone'), 'A phone. Each way: delay 14 ms, jitter 6 ms, rate up 125 kB/s.');
  assert.equal(describeChoice('', { net: 'delay=0ms,jitter=0ms,loss=0%' }), 'Choose a line to simulate between this page and its server.');
  assert.equal(describeChoice('dsl', { error: '"dsl": expected lan' }), 'No such network: "dsl": expected lan.');
});

test('a build of the tab edition that fails leaves nothing that stops the next one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tickwire-tab-edition-'));
  const [tools, out] = [join(folder, 'tools'), join(folder, 'out')];
  mkdirSync(tools);
  writeFileSync(join(tools, 'cargo'), '#!/bin/sh\nexit 7\n', { mode: 0o755 });
  const build = (words, PATH) => spawnSync(SCRIPT, [...words, out], { encoding: 'utf8', env: { ...process.env, PATH } });
  const failed = build(['--example', 'pong'], `${tools}:${process.env.PATH}`);
  assert.deepEqual([failed.status === 0, readdirSync(folder)], [false, ['tools']], failed.stderr);
  for (const words of [[], []]) assert.equal(build(words, process.env.PATH).status, 0, 'a whole edition replaces nothing, and then itself');
  assert.deepEqual(readdirSync(folder), ['out', 'tools']);
  rmSync(folder, { recursive: true });
});
