// The key of a page, and of the copy of its tab. Each page runs the module by itself, with the session storage as its tab was copied.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, mock, test } from 'node:test';

const SOURCE = readFileSync(new URL('../../../src/web/lib/resume.js', import.meta.url), 'utf8').replaceAll(/^export /gm, '');

/** A LockManager of one origin, in the order of the requests. */
class FakeLocks {
  constructor() {
    this.held = new Map();
  }

  request(name, { signal }, callback) {
    return new Promise((resolve, reject) => {
      const waiting = this.held.get(name) ?? [];
      this.held.set(name, waiting);
      const entry = { run: () => {
        entry.isGranted = true;
        callback().then(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          waiting[0]?.run();
          resolve();
        });
      } };
      signal.addEventListener('abort', () => {
        if (entry.isGranted) return;
        waiting.splice(waiting.indexOf(entry), 1);
        reject(signal.reason);
      });
      waiting.push(entry);
      if (waiting.length === 1) entry.run();
    });
  }
}

/** Channels of one origin; messages come in a task of their own. */
function fakeChannels() {
  const open = new Set();
  return class {
    constructor(name) {
      this.name = name;
      open.add(this);
    }

    postMessage(data) {
      for (const one of open) if (one !== this && one.name === this.name) setTimeout(() => { if (open.has(one)) one.onmessage({ data }); }, 1);
    }

    close() {
      open.delete(this);
    }
  };
}

/** Means by which a browser has the pages of one origin know of each other. */
const BROWSERS = [
  ['with Web Locks', () => ({ locks: new FakeLocks(), Channel: fakeChannels() })],
  ['without Web Locks, as on http', () => ({ locks: undefined, Channel: fakeChannels() })],
  ['where Web Locks are forbidden', () => ({ locks: { request: () => Promise.reject(new DOMException('no', 'SecurityError')) }, Channel: fakeChannels() })],
];

const settle = async () => { for (let turn = 0; turn < 20; turn += 1) await null; };
/** The result of a promise, once the time that it waits for has passed. */
async function after(promise) {
  for (let ms = 0; ms < 500; ms += 10) {
    await settle();
    mock.timers.tick(10);
  }
  return promise;
}

/** A page with the session storage of its tab, and the module as if it were the page's own. @param {Map<string, string>} stored */
function load(stored, { locks, Channel } = {}) {
  const listeners = [];
  const storage = stored && { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
  const page = {
    navigator: { locks },
    addEventListener: (name, call) => { if (name === 'pagehide') listeners.push(call); },
    BroadcastChannel: Channel,
  };
  const module = new Function('globalThis', 'sessionStorage', `${SOURCE}\nreturn { resumeKey, acquireKey };`)(page, storage);
  return { ...module, hide: () => { for (const call of listeners) call(); } };
}

/** A page that has its key. @param {Map<string, string>} stored */
async function open(stored, browser) {
  const { resumeKey, hide } = load(stored, browser);
  return { key: await after(resumeKey()), stored, hide, again: () => after(resumeKey()) };
}

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

for (const [name, make] of BROWSERS) {
  test(`${name}, the copy of a living tab gets its own key and keeps it, and the tab keeps its key`, async () => {
    const browser = make();
    const first = await open(new Map(), browser);
    const copy = await open(new Map(first.stored), browser);
    assert.match(copy.key, /^[0-9a-f]{32}$/);
    assert.notEqual(copy.key, first.key);
    assert.equal(await first.again(), first.key);
    copy.hide();
    assert.equal((await open(copy.stored, browser)).key, copy.key, 'the copy is loaded again');
    first.hide();
    assert.equal((await open(first.stored, browser)).key, first.key, 'the tab is loaded again');
  });
  test(`${name}, a tab that is closed and reopened has its key; a second copy of it does not`, async () => {
    const browser = make();
    const first = await open(new Map(), browser);
    first.hide();
    const reopened = await open(new Map(first.stored), browser);
    assert.equal(reopened.key, first.key);
    assert.notEqual((await open(new Map(first.stored), browser)).key, first.key);
  });
  test(`${name}, of two copies that begin at once exactly one has the key of a tab that is gone`, async () => {
    const browser = make();
    const first = await open(new Map(), browser);
    first.hide();
    const keys = await Promise.all([open(new Map(first.stored), browser), open(new Map(first.stored), browser)]);
    assert.equal(keys.filter(({ key }) => key === first.key).length, 1, JSON.stringify(keys));
  });
}

test('after a crash, which releases nothing by itself but ends what the page held, the restored tab has its key', async () => {
  const stored = new Map([['tickwire.resume_key', 'ab'.repeat(16)]]);
  for (const [, make] of BROWSERS) assert.equal((await open(new Map(stored), make())).key, 'ab'.repeat(16));
});

test('a page that returns from the history of the browser claims its key again, or gets another one', async () => {
  const browser = BROWSERS[0][1]();
  const first = await open(new Map(), browser);
  first.hide();
  assert.equal(await first.again(), first.key);
  first.hide();
  const copy = await open(new Map(first.stored), browser);
  assert.equal(copy.key, first.key);
  assert.notEqual(await first.again(), first.key);
});

test('of several connections of one page one has the key of the page', async () => {
  const { acquireKey } = load(null);
  const [first, second] = [acquireKey(), acquireKey()];
  const key = await first.get();
  assert.match(key, /^[0-9a-f]{32}$/);
  assert.notEqual(await second.get(), key);
  second.giveBack();
  assert.notEqual(await acquireKey().get(), key);
  first.giveBack();
  assert.equal(await acquireKey().get(), key);
});
