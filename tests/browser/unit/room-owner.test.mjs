// A page asks its server for the process that has its room, connects there, and goes back to its own server when it cannot.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { ReconnectingConnection } from '../../../src/web/lib/connection.js';
import { RoomOwner, atOwner } from '../../../src/web/lib/room-owner.js';

const ENDPOINT = 'http://one.test/r/arena/play';
const OWNER = 'http://two.test:3000';

/** The server answers with this value; a promise that never ends is a server that does not. */
function answers(value, status = 200) {
  return mock.method(globalThis, 'fetch', async () => (value instanceof Promise ? value : new Response(JSON.stringify(value), { status }))).mock;
}

test('the owner is asked for by its room, and used if the page may connect there', async () => {
  const asked = answers({ cluster: true, url: OWNER });
  const owner = new RoomOwner();
  assert.equal(await owner.find(ENDPOINT, 'arena', false), OWNER);
  assert.equal(asked.calls[0].arguments[0], 'http://one.test/rooms/arena');
  assert.equal(await owner.find(ENDPOINT, 'arena', true), '', 'a page by https connects to no http');
  assert.equal(await owner.find(ENDPOINT, '', false), '', 'each server has a default room');
  assert.equal(asked.callCount(), 2);
});

test('an owner that was not reached is not used again for a while', async () => {
  answers({ cluster: true, url: OWNER });
  const owner = new RoomOwner();
  await owner.find(ENDPOINT, 'arena', false);
  owner.onFailed();
  assert.equal(await owner.find(ENDPOINT, 'arena', false), '');
  answers({ cluster: true, url: 'http://three.test' });
  assert.equal(await owner.find(ENDPOINT, 'arena', false), 'http://three.test', 'another owner is');
});

for (const [name, value, status] of [
  ['a server of no cluster', { cluster: false, url: null }, 200],
  ['a server that knows no such page', 'no such page', 404],
]) {
  test(`${name} is asked once`, async () => {
    const asked = answers(value, status);
    const owner = new RoomOwner();
    for (let times = 0; times < 2; times += 1) assert.equal(await owner.find(ENDPOINT, 'arena', false), '');
    assert.equal(asked.callCount(), 1);
  });
}

test('a server that does not answer, and a URL with a path, lead to the own server', async () => {
  answers(new Promise(() => {}));
  assert.equal(await new RoomOwner().find(ENDPOINT, 'arena', false), '');
  for (const url of ['http://two.test/path', 'ws://two.test', 7, null]) {
    answers({ cluster: true, url });
    assert.equal(await new RoomOwner().find(ENDPOINT, 'arena', false), '', String(url));
  }
});

test('the endpoint at the owner has the path of the room and the query', () => {
  const at = (url, owner = OWNER) => atOwner(new URL(url), owner).href;
  assert.equal(at(`${ENDPOINT}?dialect=native`), `${OWNER}/r/arena/play?dialect=native`);
  assert.equal(at('https://one.test/games/r/arena/play'), `${OWNER}/r/arena/play`, 'the folder is of the own server');
  assert.equal(at('http://one.test/play'), 'http://one.test/play');
  assert.equal(at(ENDPOINT, ''), ENDPOINT);
});

test('a page connects to the owner, and to its own server after the owner does not answer', async () => {
  answers({ cluster: true, url: OWNER });
  const opened = [];
  class Refusing {
    constructor(url) {
      opened.push(url.href);
      setTimeout(() => this.onclose({ code: 1006, reason: '' }));
    }

    close() {}
  }
  const fakes = { location: new URL('http://one.test/r/arena/'), document: { addEventListener() {}, removeEventListener() {} }, WebSocket: Refusing };
  const before = Object.keys(fakes).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  for (const [name, value] of Object.entries(fakes)) Object.defineProperty(globalThis, name, { value, configurable: true });
  let closed = 0;
  const listener = { onOpen() {}, onMessage() {}, onPageReturn() {}, onClose() { closed += 1; } };
  const connection = new ReconnectingConnection({ path: 'http://one.test/r/arena/play', loadDialect: async () => ({ name: 'native' }) }, listener);
  try {
    for (let times = 1; times <= 2; times += 1) {
      connection.open();
      while (closed < times) await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
  } finally {
    connection.close();
    for (const [name, was] of before) {
      if (was) Object.defineProperty(globalThis, name, was);
      else delete globalThis[name];
    }
  }
  assert.match(opened[0], /^ws:\/\/two\.test:3000\/r\/arena\/play/);
  assert.match(opened[1], /^ws:\/\/one\.test\/r\/arena\/play/);
});
