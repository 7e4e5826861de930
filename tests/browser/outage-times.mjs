// How long a page needs to come back after an outage of four minutes, in Firefox and in Chromium. It takes five minutes, so it is run by hand:
// `node outage-times.mjs [path of the server]`. FIREFOX and CHROMIUM name other programs, OUTAGE_S another length in seconds.
//
// Each browser opens the game through a forwarder of its own and is driven by nothing: the forwarder sees when the page's upgrade arrives.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from './lib/server.mjs';

const OUTAGE_MS = Number(process.env.OUTAGE_S ?? 240) * 1000;
/** The longest wait between two attempts of a page, 10 s and 30 % more, and what a busy machine adds. */
const BACK_MS = 15_000;
const START_MS = 90_000;
const BROWSERS = [
  ['Firefox', process.env.FIREFOX ?? 'firefox-esr', (profile, url) => ['--headless', '--no-remote', '--profile', profile, url]],
  ['Chromium', process.env.CHROMIUM ?? 'chromium', (profile, url) => ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${profile}`, url]],
];

/** Forwards connections to a port, unless there is an outage, and notes the upgrades and the requests. */
class Way {
  /** @param {number} to */
  constructor(to) {
    Object.assign(this, { to, isOut: false, upgrades: [], requests: 0, refused: 0, sockets: new Set() });
    this.server = createServer((client) => this.forward(client));
  }

  async open() {
    await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
    return this;
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}/`;
  }

  forward(client) {
    client.on('error', () => {});
    if (this.isOut) {
      this.refused += 1;
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.to, '127.0.0.1');
    server.on('error', () => {});
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('close', () => { this.sockets.delete(socket); client.destroy(); server.destroy(); });
    }
    client.once('data', (head) => {
      this.requests += 1;
      if (/^upgrade: *websocket/im.test(String(head))) this.upgrades.push(performance.now());
    });
    client.pipe(server).pipe(client);
  }

  out() {
    this.isOut = true;
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  /** Time until an upgrade after a moment, ms. @param {number} from @param {number} most */
  async upgraded(from, most) {
    for (; performance.now() - from < most; await sleep(20)) {
      const found = this.upgrades.find((at) => at >= from);
      if (found !== undefined) return found - from;
    }
    return Infinity;
  }
}

const server = await start(0);
let hasFailed = false;

/** @param {[string, string, (profile: string, url: string) => string[]]} browser */
async function measure([name, program, words]) {
  const profile = await mkdtemp(join(tmpdir(), 'tickwire-browser-'));
  const way = await new Way(server.port).open();
  const child = spawn(program, words(profile, way.url), { stdio: 'ignore' });
  const ended = new Promise((resolve) => { child.once('exit', resolve); child.once('error', resolve); });
  try {
    assert.ok(await way.upgraded(0, START_MS) < Infinity, `${name} does not open the game`);
    await sleep(8000);
    way.out();
    await sleep(OUTAGE_MS);
    way.isOut = false;
    const back = await way.upgraded(performance.now(), 120_000);
    hasFailed ||= back > BACK_MS;
    console.log(`${back > BACK_MS ? 'not ok' : 'ok'} - ${name}: back ${(back / 1000).toFixed(1)} s after an outage of ${OUTAGE_MS / 1000} s, `
      + `in which ${way.refused} connections were refused`);
  } finally {
    child.kill();
    await ended;
    way.server.close();
    for (const socket of way.sockets) socket.destroy();
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

try {
  await Promise.all(BROWSERS.map(measure));
} finally {
  await server.stop();
}
process.exitCode = hasFailed ? 1 : 0;
