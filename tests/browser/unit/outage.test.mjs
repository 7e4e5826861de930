// Outages, with a fake clock: a browser that delays WebSockets after failed ones, pages that return from the background, and timers that came late.
// Each row is a page's connection: the game's and that of `tickwire.js`.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { GameConnection } from '../../../src/web/game/net/connection.js';
import { connect } from '../../../src/web/tickwire.js';
import { CODES, FakeSocket, rowOf, sockets } from '../lib/fake-socket.mjs';

/** The longest wait between two attempts, ms. */
const LONGEST_MS = 13_000;
const OUTAGE_MS = 240_000;
/** Delays of Firefox after failed WebSockets, ms: the first, the factor, the longest. */
const [FIRST_MS, FACTOR, MOST_MS] = [200, 1.5, 60_000];

/** The server: whether it answers, and whether it answers pings. */
let server = { isUp: true, isSilent: false };
let delayMs = 0;
let now = 0;
let page;

/** The abort signals of all requests. */
const requests = [];

/** A WebSocket of a browser that delays one after failed ones, as Firefox does. */
class SlowSocket extends FakeSocket {
  static OPEN = 1;

  constructor(url, protocols) {
    super(url, protocols);
    this.dialect ??= 'native';
    this.readyState = 0;
    setTimeout(() => this.attempt(), delayMs);
  }

  attempt() {
    if (this.readyState !== 0) return;
    if (!server.isUp) {
      delayMs = Math.min(MOST_MS, Math.max(FIRST_MS, delayMs * FACTOR));
      this.readyState = 3;
      this.end(1006);
      return;
    }
    delayMs = 0;
    this.readyState = 1;
    this.onopen();
  }

  send(bytes) {
    super.send(bytes);
    const [code, [nonce]] = this.heard.at(-1);
    if (server.isSilent) return;
    if (code === rowOf('to_server', 'hello').codes.native) this.say('welcome', { version: 1, rules_hash: '00', seed: 7, map_size_px: 3600, tick_hz: 30, update_hz: 30, epoch: 'a', tick: 1 });
    if (code === rowOf('to_server', 'ping').codes.native) this.say('pong', { nonce, tick: 1 });
  }

  close(code) {
    super.close(code);
    this.readyState = 3;
  }
}

const settle = async () => { for (let turn = 0; turn < 40; turn += 1) await null; };
async function pass(ms, step = 50) {
  for (let gone = 0; gone < ms; gone += step) {
    now += step;
    mock.timers.tick(step);
    await settle();
  }
}

/** Time passes, and the browser runs no timer of the page. */
const freeze = (ms) => { now += ms; };
const GLOBALS = ['document', 'location', 'addEventListener', 'WebSocket', 'fetch'];
let before;

beforeEach(() => {
  [now, delayMs, server] = [1000, 0, { isUp: true, isSilent: false }];
  sockets.length = 0;
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  mock.method(performance, 'now', () => now);
  mock.method(Math, 'random', () => 0.5);
  mock.method(console, 'warn', () => {});
  before = GLOBALS.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  page = Object.assign(new EventTarget(), { hidden: false });
  const location = new URL('http://game.test/');
  requests.length = 0;
  const get = async (url, { signal } = {}) => {
    requests.push(signal);
    if (server.isHanging) return new Promise(() => {});
    if (!server.isUp) throw new TypeError('NetworkError');
    return new Response(String(url).endsWith('rules.json') ? '{"weapons":[],"items":[],"groups":[]}' : JSON.stringify(CODES));
  };
  const values = { document: page, location, addEventListener: page.addEventListener.bind(page), WebSocket: SlowSocket, fetch: get };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
  for (const [name, descriptor] of before) {
    if (descriptor) Object.defineProperty(globalThis, name, descriptor);
    else delete globalThis[name];
  }
});

/** Connections of pages: how each begins, and whether it is connected. */
const PAGES = [
  ['the game', () => {
    const connection = new GameConnection('http://game.test/play', () => {}, () => {});
    connection.open();
    return () => connection.state === 'live';
  }],
  ['a page of tickwire.js', () => begin({ path: 'http://game.test/play', dialect: 'native' })],
  ['a page of tickwire.js with its own tables', () => begin({ path: 'http://game.test/play', dialect: 'native', codes: CODES })],
];

function begin(options) {
  let game = null;
  connect(options).then((made) => { game = made; });
  return () => game?.state === 'open';
}

/** The page becomes visible. */
function show() {
  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
}

for (const [name, open] of PAGES) {
  test(`${name} ends the requests of an attempt with it, because a browser has few connections to a server`, async () => {
    const isConnected = open();
    await pass(1000);
    server.isHanging = true;
    requests.length = 0;
    sockets.at(-1).end(1006);
    await pass(120_000, 500);
    const left = requests.filter((signal) => signal?.aborted !== true).length;
    assert.ok(requests.length >= 8 && left <= 3, `${left} of ${requests.length} requests are open`);
    server.isHanging = false;
    await pass(LONGEST_MS, 500);
    assert.ok(isConnected());
  });
  test(`${name} is back at most one wait after an outage of four minutes, though the browser delays WebSockets after failed ones`, async () => {
    const isConnected = open();
    await pass(1000);
    assert.ok(isConnected());
    server.isUp = false;
    sockets.at(-1).end(1006);
    await pass(OUTAGE_MS, 500);
    assert.ok(!isConnected());
    server.isUp = true;
    let waited = 0;
    for (; !isConnected() && waited < 120_000; waited += 500) await pass(500, 500);
    assert.ok(waited <= LONGEST_MS, `back after ${waited} ms, ${sockets.length} WebSockets, the next one would be delayed by ${delayMs} ms`);
  });
  test(`${name} keeps a WebSocket that the browser delays while the server answers requests, and gives it up when it does not`, async () => {
    delayMs = 55_000;
    const isConnected = open();
    await pass(54_000, 500);
    assert.deepEqual(sockets.map(({ closed }) => closed), [null]);
    await pass(2000);
    assert.ok(isConnected());
    assert.equal(sockets.length, 1);
  });
  test(`${name} gives up a WebSocket that is delayed by nobody: the server answers no request`, async () => {
    delayMs = 55_000;
    const isConnected = open();
    await pass(1000);
    server.isUp = false;
    await pass(9000);
    assert.equal(sockets[0].readyState, 3);
    server.isUp = true;
    delayMs = 0;
    await pass(LONGEST_MS);
    assert.ok(isConnected());
  });
  test(`${name} asks at once when it becomes visible: a dead connection is replaced within 3 s`, async () => {
    const isConnected = open();
    await pass(1000);
    page.hidden = true;
    server.isSilent = true;
    await pass(100);
    show();
    await pass(3000);
    assert.equal(sockets[0].readyState, 3, 'the dead one is closed');
    server.isSilent = false;
    await pass(9000);
    assert.ok(isConnected());
  });
  test(`${name} whose timers ran once a minute keeps a living connection, and finds a dead one within 3 s`, async () => {
    const isConnected = open();
    await pass(1000);
    for (const minute of [1, 2, 3]) {
      freeze(60_000);
      await pass(50);
      assert.ok(isConnected(), `minute ${minute}`);
    }
    server.isSilent = true;
    freeze(60_000);
    show();
    await pass(3000);
    assert.equal(sockets[0].readyState, 3);
  });
  test(`${name} that becomes visible again and again asks one question at a time, and a living connection stays`, async () => {
    const isConnected = open();
    await pass(1000);
    for (let time = 0; time < 20; time += 1) {
      show();
      await pass(100);
    }
    await pass(5000);
    assert.ok(isConnected());
    assert.equal(sockets.length, 1);
  });
}
