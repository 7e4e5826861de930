// Lanes of pages by WebRTC: the data channel opens without a secure context, carries moo and tanks
// over a network with loss, can be turned off, and is replaced by the stream if the port is closed.
// In Chromium, and in Firefox if it is installed. `node lane.mjs [path of the server]`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, state, until } from './lib/browser.mjs';
import { Firefox, firefoxPath } from './lib/firefox.mjs';
import { FLAGS, Game, near, rest, walk } from './lib/game.mjs';
import { binary, start } from './lib/server.mjs';

/** Address of the simulated network. In a network namespace (scripts/lib/own-network.sh) it is not a loopback address, as Firefox requires. */
const HOST = process.env.TICKWIRE_NETWORK_ADDRESS ?? '127.0.0.2';
/** Address of the server. It differs from `HOST`, because both use the same UDP port. */
const SERVER = process.env.TICKWIRE_NETWORK_ADDRESS ? '198.51.100.2' : '127.0.0.1';
/** Host name of `HOST`: unlike a loopback address, it gives pages no secure context. */
const NAME = 'tickwire.test';
/** Warning of Chromium on pages without a secure context. */
const UNTRUSTWORTHY = /Cross-Origin-Opener-Policy header has been ignored/;
const LINE = ['--delay', '60ms', '--jitter', '20ms', '--loss', '5%'];
/** Time limit for loading a page over the simulated network. */
const LOAD_MS = 90_000;

/** A simulated network in front of a server, for its stream and its datagrams. */
async function netem(port) {
  const child = spawn(binary(), ['netem', '--bind', `${HOST}:0`, '--upstream', `${SERVER}:${port}`, ...LINE, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const bound = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).match(/:(\d+)"/)?.[1]));
    child.once('exit', (code) => reject(new Error(`netem ended with ${code}`)));
  });
  return { url: `http://${NAME}:${bound}`, address: `http://${HOST}:${bound}`, stop: () => child.kill('SIGTERM') };
}

/** Joins, and waits for the player. @param {import('playwright-core').Page} page @param {string} url */
async function join(page, url) {
  await page.goto(url);
  await until(page, () => window.tickwire?.state === 'live', undefined, LOAD_MS);
  await page.locator('#play').click();
  await until(page, () => window.tickwire.predicted !== null, undefined, LOAD_MS);
}

const usable = (page) => until(page, () => window.tickwire.lane?.isUsable, undefined, 20_000);

const game = new Game();
await game.open([...FLAGS, '--lane', 'both', '--udp-public', HOST], [], SERVER);
const line = await netem(game.server.port);
const { bo } = game;
const browser = await launch(1, [`--host-resolver-rules=MAP ${NAME} ${HOST}`]);
const ada = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage();
game.complaints.watch(ada, 'ada');
try {
  await game.check('the data channel opens with 5 % loss, and the stream carries the game until then', async () => {
    await join(ada, line.url);
    assert.equal(await ada.evaluate(() => window.isSecureContext), false);
    await usable(ada);
  });
  await game.check('a page walks by datagram, and a page without a lane shows the same position', async () => {
    await bo.addInitScript(() => { delete (/** @type {any} */ (window)).RTCPeerConnection; });
    await join(bo, game.server.url);
    assert.equal(await state(bo, 'lane'), null);
    const before = await state(ada, 'lane');
    for (const keys of [['d', 'a'], ['s', 'w'], ['a', 'd'], ['w', 's']]) await walk(ada, keys, 60);
    await rest(ada);
    const { stats, isUsable } = await state(ada, 'lane');
    assert.ok(isUsable && stats.received - before.stats.received > 20, JSON.stringify(stats));
    const [id, own] = [await state(ada, 'id'), await state(ada, 'own')];
    await until(bo, ([who, x, y]) => {
      const seen = window.tickwire.players[who];
      return seen === undefined || Math.hypot(seen.x - x, seen.y - y) < 1;
    }, [id, own.x, own.y], 10_000);
    near((await state(ada, 'predicted')).x, own.x, 1, 'the predicted position');
    return `${stats.received} datagrams, ${stats.late} late`;
  });
  await game.check('the panel turns the lane off and on', async () => {
    await ada.locator('#panel-button').click();
    await until(ada, () => /In use/.test(document.getElementById('p-lane-text')?.textContent ?? ''));
    await ada.locator('#p-lane').click();
    await until(ada, () => /^Off/.test(document.getElementById('p-lane-text')?.textContent ?? ''));
    await walk(ada, ['d', 'a', 's', 'w'], 60);
    assert.equal((await state(ada, 'lane')).isUsable, false);
    await ada.locator('#p-lane').click();
    await usable(ada);
    await walk(ada, ['a', 'd', 'w', 's'], 60);
  });
  await game.check('a new connection gets a new lane', async () => {
    game.server.order(`kick ${await state(ada, 'id')}`);
    await until(ada, () => window.tickwire.lives === 2, undefined, 20_000);
    await usable(ada);
  });
  await game.check('with a closed port the page plays in the stream, and shows the reason', async () => {
    const closed = await start(0, [...FLAGS, '--lane', 'webrtc', '--udp-public', '127.0.0.3:9']);
    const page = await game.page('closed', { viewport: { width: 640, height: 400 } });
    try {
      await join(page, closed.url);
      await until(page, () => window.tickwire.lane?.why === 'no datagrams arrive', undefined, 10_000);
      await walk(page, ['d', 'a', 's', 'w'], 60);
      assert.equal((await state(page, 'lane')).isUsable, false);
    } finally {
      await page.close();
      await closed.stop();
    }
  });
  await game.check('a simple game has a lane without code of its own', async () => {
    const tanks = await start(0, ['--lane', 'both', '--game', 'tanks']);
    const page = await game.page('tanks', { viewport: { width: 640, height: 400 } });
    try {
      await page.goto(tanks.url);
      await page.waitForSelector('#join:not([hidden])');
      await page.fill('#name', 'Ada');
      await page.click('#join button');
      await until(page, () => window.game?.lane?.isUsable, undefined, 20_000);
      const { stats } = await page.evaluate(() => window.game.lane);
      await page.keyboard.down('w');
      await until(page, (before) => window.game.lane.stats.received > before + 20, stats.received);
    } finally {
      await page.close();
      await tanks.stop();
    }
  });
  const firefox = process.env.TICKWIRE_NETWORK_ADDRESS ? firefoxPath() : undefined;
  if (firefox) {
    await game.check('Firefox has a lane, and walks by datagram', async () => {
      const page = await new Firefox().open(firefox);
      try {
        await page.goto(line.address);
        await page.until(`window.tickwire?.state === 'live'`, LOAD_MS);
        await page.evaluate(`document.querySelector('#play').click()`);
        await page.until('window.tickwire.predicted !== null && window.tickwire.lane?.isUsable', LOAD_MS);
        await sleep(1_000);
        const { stats } = await page.evaluate('return window.tickwire.lane');
        assert.ok(stats.received > 5, JSON.stringify(stats));
      } finally {
        await page.close();
      }
    });
  } else console.log('# no Firefox, or no network namespace: the check of Firefox is skipped');
} finally {
  line.stop();
  await browser.close();
  await game.browser.close();
  await game.server.stop();
}
assert.deepEqual(game.complaints.list.filter((complaint) => !UNTRUSTWORTHY.test(complaint)), []);
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
