// The page and the bots through nginx and HAProxy, set up as scripts/proxy/ says, plain and with TLS; and whose limits count there.
// `node run.mjs [path of the server]`. Needs nginx, haproxy, openssl, Chromium.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Complaints, launch, state, until } from '../browser/lib/browser.mjs';
import { binary } from '../browser/lib/server.mjs';
import { Scene } from './scene.mjs';

const PATIENCE_MS = 15000;
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const PROXIES = ['nginx', 'haproxy'];
const run = promisify(execFile);
let [passed, failed] = [0, 0];

/** Runs one check; what it throws is printed and counted. @param {string} name @param {() => any} body */
async function check(name, body) {
  try {
    const note = await body();
    passed += 1;
    console.log(`ok ${passed + failed} - ${name}${note ? `: ${note}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

/**
 * Asks for something, over TLS with the certificate checked.
 * @param {Scene} scene @param {number} port @param {object} [how] `path`, `from`, `headers`, `secure`
 * @returns {Promise<{ status: number, body?: Buffer, socket?: import('node:net').Socket, head?: Buffer, accept?: string }>}
 */
function ask(scene, port, { path = '/', from = '127.0.0.1', headers = {}, secure = false } = {}) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, localAddress: from, headers, agent: false, timeout: PATIENCE_MS, ca: scene.certificate };
    const request = (secure ? https : http).request(options, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }));
    });
    request.on('upgrade', (response, socket, head) => {
      const accept = response.headers['sec-websocket-accept'];
      resolve({ status: response.statusCode ?? 0, socket, head, accept });
    });
    request.on('timeout', () => request.destroy(new Error(`no answer from port ${port}`)));
    request.on('error', reject);
    request.end();
  });
}

/** Asks for an upgrade. */
const upgrade = (scene, port, how = {}) =>
  ask(scene, port, { ...how, headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': KEY, ...how.headers } });

/** The first bytes that come after an upgrade, at least so many. */
async function firstBytes({ socket, head }, count) {
  let bytes = head;
  while (bytes.length < count) {
    const [more] = await Promise.race([
      new Promise((resolve) => socket.once('data', (data) => resolve([data]))),
      new Promise((_, reject) => setTimeout(() => reject(new Error(`only ${bytes.length} bytes came`)), PATIENCE_MS).unref()),
    ]);
    bytes = Buffer.concat([bytes, more]);
  }
  return bytes;
}

/** Lets bots play, and gives what they report. A failure of theirs is one of the check's. */
async function bots(port, count, more = []) {
  const { stdout } = await run(binary(), ['bots', '--count', String(count), '--seconds', '3', '--json', ...more, `ws://127.0.0.1:${port}`]);
  const report = JSON.parse(stdout);
  assert.equal(report.playing, count);
  assert.deepEqual([report.error_count, report.disconnect_count], [0, 0]);
  return `${count} bots, ${report.messages_in} messages`;
}

/** Everything that one sees through a proxy. */
async function through(scene, proxy) {
  const { plain, tls, bridge } = scene.ports[proxy];
  for (const [name, port, secure] of [['http', plain, false], ['https', tls, true]]) {
    await check(`${proxy}: the page over ${name}`, async () => {
      const page = await ask(scene, port, { secure });
      assert.equal(page.status, 200);
      assert.deepEqual(page.body, (await ask(scene, scene.server.port)).body);
      assert.match(String(page.body), /<title>tickwire<\/title>/);
      const world = await ask(scene, port, { secure, path: '/wasm/tickwire.wasm' });
      assert.deepEqual(world.body, readFileSync(new URL('../../src/web/wasm/tickwire.wasm', import.meta.url)));
    });
    await check(`${proxy}: an upgrade over ${name}, and what the server says first`, async () => {
      const opened = await upgrade(scene, port, { secure });
      assert.deepEqual([opened.status, opened.accept], [101, ACCEPT]);
      const bytes = await firstBytes(opened, 2);
      assert.equal(bytes[0], 0x82, 'a whole binary frame');
      opened.socket?.destroy();
    });
    await check(`${proxy}: the inside is not shown over ${name}`, async () => {
      for (const path of ['/wire', '/r/two/wire', '/metrics', '/admin']) assert.equal((await ask(scene, port, { secure, path })).status, 404, path);
    });
  }
  // More than one address may have, so they are told apart.
  await check(`${proxy}: bots play`, () => bots(plain, 100));
  await check(`${proxy}: bots play over TLS, through a proxy before this one`, () => bots(bridge, 100));
  await check(`${proxy}: all dialects`, async () => {
    const { stdout } = await run(binary(), ['bots', '--count', '20', '--seconds', '3', '--dialect', 'native,legacy,letters', `ws://127.0.0.1:${plain}`]);
    assert.equal(stdout.match(/errors +0\n +disconnects +0\n/g)?.length, 3, stdout);
  });
}

/** What the access log of a proxy shows of secrets: nothing, however a client sends them. */
async function logs(scene, proxy) {
  await check(`${proxy}: the access log has no key, no token and no name of a private room`, async () => {
    const [key, token, name, coded] = ['00112233445566778899aabbccddeeff', 'a-token-of-nobody-0123', 'p-k7f2mqa3xw6n5zr4tb2cd7hj', 'YS10b2tlbi1vZi1ub2JvZHk'];
    const offered = { 'Sec-WebSocket-Protocol': `tickwire.v1, key.${key}, bearer.${coded}` };
    const { plain } = scene.ports[proxy];
    const opened = await upgrade(scene, plain, { path: `/play?inspect_key=${key}&token=${token}`, headers: offered });
    assert.equal(opened.status, 101);
    opened.socket?.destroy();
    for (const path of [`/r/${name}/`, `//r//${name}/game/main.js`, `/rooms?token=${token}`]) await ask(scene, plain, { path, headers: { Referer: `http://a/${name}?token=${token}` } });
    const lines = () => scene.accessLog(proxy);
    for (let wait = 0; wait < 300 && !(lines().includes('GET /play HTTP/1.1') && lines().includes('GET /rooms HTTP/1.1')); wait++) await sleep(50);
    const log = lines();
    assert.ok(log.includes('GET /play HTTP/1.1') && log.includes('r/p-k7f2...'), log);
    for (const secret of [key, token, name.slice(6), coded]) assert.ok(!log.includes(secret), `${secret} in ${log}`);
  });
}

/** A proxy with settings of its own: HTTP/1.0, a health check, addresses with ports. */
async function ownSettings(scene, proxy) {
  const { own } = scene.ports[proxy];
  await check(`${proxy}: a page through its own settings`, async () => {
    assert.equal((await ask(scene, own, { path: '/healthz' })).status, 200);
  });
  await check(`${proxy}: an upgrade with an address and its port`, async () => {
    const opened = await upgrade(scene, own);
    opened.socket?.destroy();
    // nginx speaks HTTP/1.0 and drops Upgrade unless it is configured otherwise.
    const expected = proxy === 'nginx' ? 426 : 101;
    assert.equal(opened.status, expected, String(opened.body));
    if (proxy === 'nginx') assert.match(String(opened.body), /nginx: proxy_http_version 1\.1;/);
  });
}

/** The page itself, in a browser, over https and so wss. */
async function browse(scene, proxy, browser) {
  await check(`${proxy}: the page plays over wss in Chromium`, async () => {
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    const complaints = new Complaints();
    complaints.watch(page, proxy);
    const sockets = [];
    page.on('websocket', (socket) => sockets.push(socket.url()));
    await page.goto(`https://localhost:${scene.ports[proxy].tls}/`);
    await until(page, () => window.tickwire.state === 'live');
    await page.keyboard.type('Ada');
    await page.keyboard.press('Enter');
    await until(page, () => window.tickwire.id !== null && window.tickwire.own !== null);
    const from = await state(page, 'own');
    for (const key of ['d', 'a', 's', 'w']) {
      await page.keyboard.down(key);
      await page.waitForTimeout(400);
      await page.keyboard.up(key);
    }
    await until(page, ([x, y]) => window.tickwire.own.x !== x || window.tickwire.own.y !== y, [from.x, from.y]).catch(() => {
      throw new Error('it walked nowhere');
    });
    assert.deepEqual(complaints.list, []);
    const protocols = await page.evaluate(() => performance.getEntriesByType('resource').map(({ nextHopProtocol }) => nextHopProtocol));
    assert.ok(protocols.length > 20 && protocols.every((protocol) => protocol === 'h2'), `the files: ${protocols}`);
    assert.ok(sockets.length > 0 && sockets.every((url) => url.startsWith('wss://localhost:')), String(sockets));
    return sockets[0];
  });
}

/** Whose limit counts, with two clients an address. @param {boolean} trusted whether the server believes its proxies */
async function limits(scene, proxy, trusted) {
  const { plain } = scene.ports[proxy];
  const kept = [];
  const join = async (port, from, headers = {}) => {
    const opened = await upgrade(scene, port, { from, headers });
    if (opened.socket) kept.push(opened.socket);
    return opened.status;
  };
  const three = async (port, from, headers) => [await join(port, from, headers?.(1)), await join(port, from, headers?.(2)), await join(port, from, headers?.(3))];
  const claimed = (last) => ({ 'X-Forwarded-For': `203.0.113.${last}` });
  if (trusted) {
    await check(`${proxy}: two addresses have a limit each`, async () => {
      assert.deepEqual(await three(plain, '127.0.5.1'), [101, 101, 503]);
      assert.deepEqual(await three(plain, '127.0.5.2'), [101, 101, 503]);
    });
    await check(`${proxy}: who claims other addresses has one limit all the same`, async () => {
      assert.deepEqual(await three(plain, '127.0.5.3', claimed), [101, 101, 503]);
      assert.equal(await join(plain, '127.0.5.4', { 'X-Forwarded-For': '127.0.5.3' }), 101, 'nor has anyone that of another');
      assert.equal(await join(plain, '127.0.5.4', { 'X-Forwarded-For': 'nonsense' }), 101, 'what it claims is not looked at');
    });
    await check(`${proxy}: past the proxy nobody is believed`, async () => {
      assert.deepEqual(await three(scene.server.port, '127.0.5.5', claimed), [101, 101, 503]);
    });
    await check(`${proxy}: the log names the clients`, async () => {
      // A client is answered first and then logged, by another thread.
      const unnamed = () => [1, 2, 3, 4, 5].filter((last) => !scene.server.log().includes(`address=127.0.5.${last}:`));
      for (let wait = 0; wait < 300 && unnamed().length > 0; wait++) await sleep(50);
      assert.deepEqual(unnamed(), []);
      assert.ok(!scene.server.log().includes('203.0.113.'), 'and nobody who was only claimed');
    });
  } else {
    await check(`${proxy}: a server that was not told to believe it sees the proxy alone`, async () => {
      assert.deepEqual([await join(plain, '127.0.5.1'), await join(plain, '127.0.5.2'), await join(plain, '127.0.5.3')], [101, 101, 503]);
    });
  }
  for (const socket of kept) socket.destroy();
}

/** Opens a scene, and closes it whatever happens in it. */
async function within(flags, body) {
  const scene = await new Scene().open(flags);
  const before = failed;
  try {
    await body(scene);
  } finally {
    await scene.close();
  }
  if (failed > before) console.log(scene.logs().replace(/^/gm, '    '));
}

const trusting = ['--trusted-proxy', '127.0.0.1'];
await within(trusting, async (scene) => {
  const browser = await launch();
  try {
    for (const proxy of PROXIES) {
      await through(scene, proxy);
      await logs(scene, proxy);
      await ownSettings(scene, proxy);
      await browse(scene, proxy, browser);
    }
  } finally {
    await browser.close();
  }
});
for (const proxy of PROXIES) {
  const two = ['--max-clients-per-address', '2'];
  await within([...two, ...trusting], (scene) => limits(scene, proxy, true));
  await within(two, (scene) => limits(scene, proxy, false));
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
