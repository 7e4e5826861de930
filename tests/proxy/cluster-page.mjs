// Two processes of a cluster with public URLs, in Chromium: a page at one of them connects to the process that has its room, and continues with
// the same player when that process is killed. `node cluster-page.mjs [path of the server]`. Needs redis-server and Chromium.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, state, until as inPage } from '../browser/lib/browser.mjs';
import { start } from '../browser/lib/server.mjs';
import { check, freePort, printCounts, until } from './servers.mjs';

const PATIENCE_MS = 30000;
const folder = mkdtempSync(join(tmpdir(), 'tickwire-cluster-page-'));
const redisPort = await freePort();
const redis = spawn('redis-server', ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder], { stdio: 'ignore' });
const answers = () => new Promise((resolve) => {
  const socket = net.connect(redisPort, '127.0.0.1', () => { socket.destroy(); resolve(true); }).once('error', () => resolve(false));
});

async function member() {
  const port = await freePort();
  return start(port, ['--cluster', `redis://127.0.0.1:${redisPort}`, '--cluster-public', `http://127.0.0.1:${port}`, '--rooms-on-demand', '20', '--journal', join(folder, 'journal'), '--durability', 'tick']);
}

/** @type {Awaited<ReturnType<typeof start>>[]} */
const servers = [];
/** @type {import('playwright-core').Browser | undefined} */
let browser;

/** A page that plays in the room, and the WebSockets that it opens. @param {{ url: string }} server @param {string} name */
async function enter(server, name) {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  /** @type {string[]} */
  const sockets = [];
  page.on('websocket', (socket) => sockets.push(socket.url()));
  await page.goto(`${server.url}/r/arena/`);
  await inPage(page, () => window.tickwire?.state === 'live', undefined, PATIENCE_MS);
  await page.fill('#name', name);
  await page.click('#play');
  await inPage(page, () => window.tickwire.own !== null, undefined, PATIENCE_MS);
  return { page, sockets };
}

try {
  await until('Redis answers', answers);
  for (let number = 0; number < 2; number += 1) servers.push(await member());
  const [owner, other] = servers;
  const room = (server) => `ws://127.0.0.1:${server.port}/r/arena/play`;
  browser = await launch();
  let bo;
  await check('a page of another process connects to the owner of its room', async () => {
    const ann = await enter(owner, 'Ann');
    bo = await enter(other, 'Bo');
    assert.deepEqual([ann.sockets, bo.sockets], [[room(owner)], [room(owner)]]);
  });
  await check('the owner is killed: the page continues at its own process, with its player', async () => {
    const id = await state(bo.page, 'id');
    owner.kill();
    const from = performance.now();
    await inPage(bo.page, (id) => window.tickwire.state === 'live' && window.tickwire.id === id && window.tickwire.own !== null && window.tickwire.lives > 1, id, PATIENCE_MS);
    assert.equal(bo.sockets.at(-1), room(other));
    return `${Math.round(performance.now() - from)} ms`;
  });
} finally {
  await browser?.close();
  for (const server of servers) server.kill();
  redis.kill();
  rmSync(folder, { recursive: true, force: true });
}
printCounts();
