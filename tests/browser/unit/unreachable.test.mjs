// Why a browser does not let a page reach a server, in the page's words: each row is what the browser answers to the page's requests.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { whyUnreachable } from '../../../src/web/lib/attempt.js';
import { ReconnectingConnection } from '../../../src/web/lib/connection.js';

const FAR = new URL('http://game.test:3000/healthz');
const NEAR = new URL('http://192.168.1.9:3000/healthz');
const HERE = new URL('http://localhost:3000/healthz');

/** A browser in which the page's requests are answered or not, and one permission has a state. */
function browser({ origin = 'https://page.test', cors = false, plain = false, permission = ['', ''] }) {
  const get = async (_url, { mode = 'cors' }) => {
    if (mode === 'cors' ? cors : plain) return new Response('');
    throw new TypeError('Failed to fetch');
  };
  const query = async ({ name }) => {
    if (name !== permission[0]) throw new TypeError(`${name} is not a valid value`);
    return { state: permission[1] };
  };
  return { page: new URL(origin), get, permissions: { query } };
}

for (const [name, url, has, sentence] of [
  ['a server that lets the page read its answers is not the reason', FAR, { cors: true, plain: true }, null],
  ['a page of the server itself', FAR, { origin: 'http://game.test:3000' }, null],
  ['a server that answers, and no page of this origin', FAR, { plain: true }, /^The server http:\/\/game\.test:3000 answers, and does not allow pages of https:\/\/page\.test: start it with --allow-origin https:\/\/page\.test\.$/],
  ['a page by https and a server by http', FAR, {}, /loaded by https/],
  ['a page by http and a server that is away', FAR, { origin: 'http://page.test' }, null],
  ['a local network that the browser denies', NEAR, { permission: ['local-network', 'denied'] }, /denies this page access to the local network, where http:\/\/192\.168\.1\.9:3000 is/],
  ['the same under the name of earlier browsers', NEAR, { permission: ['local-network-access', 'denied'] }, /denies this page access to the local network/],
  ['this machine, which the browser denies', HERE, { permission: ['loopback-network', 'denied'] }, /denies this page access to programs on this machine/],
  ['a browser that still asks the person', HERE, { permission: ['loopback-network', 'prompt'] }, /waits for your permission/],
  ['a permission that is granted, and a server that is away', HERE, { permission: ['loopback-network', 'granted'] }, null],
  ['a page on this machine needs no permission', NEAR, { origin: 'http://localhost:8080', permission: ['local-network', 'denied'] }, null],
]) {
  test(name, async () => {
    const why = await whyUnreachable(url, browser(has));
    if (sentence instanceof RegExp) assert.match(String(why), sentence);
    else assert.equal(why, sentence);
  });
}

test('a page of tickwire.js gets the sentence with its close event, and one warning in the console', async () => {
  const before = ['location', 'document'].map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  Object.defineProperty(globalThis, 'location', { value: new URL('http://page.test'), configurable: true });
  const warned = mock.method(console, 'warn', () => {}).mock;
  mock.method(globalThis, 'fetch', browser({ plain: true }).get);
  let link;
  try {
    const closed = await new Promise((resolve) => {
      link = new ReconnectingConnection({ path: 'http://game.test:3000/play' }, { onOpen() {}, onMessage() {}, returned() {}, onClose: resolve });
      link.open();
    });
    assert.match(closed.text, /does not allow pages of http:\/\/page\.test/);
    assert.equal(closed.code, 1006);
    assert.ok(closed.retryMs > 0, 'the operator may allow it meanwhile');
    assert.equal(warned.callCount(), 1);
  } finally {
    link.close();
    mock.restoreAll();
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor);
      else delete globalThis[name];
    }
  }
});
