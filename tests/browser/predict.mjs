// Prediction on a bad line, as a player sees it: from a key to the first picture that shows the walk, with prediction and without; and the panel's
// simulated line. `node predict.mjs [path of the server]`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { state, until } from './lib/browser.mjs';
import { FLAGS, Game } from './lib/game.mjs';
import { binary } from './lib/server.mjs';

const LINE = ['--delay', '150ms', '--jitter', '30ms', '--loss', '2%'];
const ROUND_TRIP_MS = 300;
/** Mean difference of a picture's numbers, 0 to 255, from which it shows something else: a walk moves all of it. */
const CHANGED = 3;

/** A relay before the server, which makes the line bad. @param {number} port of the server */
async function relay(port) {
  const child = spawn(binary(), ['net', '--listen', '127.0.0.1:0', '--to', `127.0.0.1:${port}`, ...LINE], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  const url = await new Promise((resolve) => {
    child.stdout.on('data', (data) => {
      told += data;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(told);
      if (found) resolve(found[0]);
    });
  });
  return { url, kill: () => child.kill() };
}

/**
 * What the page shows around a key, as the browser puts it on the screen: pictures and when they were made.
 * @param {import('playwright-core').Page} page @param {string} key @param {number} ms that it is held
 */
async function film(page, key, ms) {
  const devtools = await page.context().newCDPSession(page);
  /** @type {{ at: number, data: string }[]} */
  const pictures = [];
  devtools.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    pictures.push({ at: metadata.timestamp * 1000, data });
    devtools.send('Page.screencastFrameAck', { sessionId }).catch(() => {});
  });
  await devtools.send('Page.startScreencast', { format: 'png', maxWidth: 320, maxHeight: 200, everyNthFrame: 1 });
  await sleep(500);
  const pressed = Date.now();
  await page.keyboard.down(key);
  await sleep(ms);
  await page.keyboard.up(key);
  await devtools.send('Page.stopScreencast');
  await devtools.detach();
  return { pictures, pressed };
}

/** Time from the key to the first picture that differs from the last one before it, ms; `judge` is a page that reads pictures. */
async function firstChange(judge, { pictures, pressed }) {
  const before = pictures.filter(({ at }) => at < pressed).slice(-1);
  const after = pictures.filter(({ at }) => at >= pressed);
  const differences = await judge.evaluate(async (list) => {
    const read = async (data) => {
      const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const context = canvas.getContext('2d');
      context.drawImage(picture, 0, 0);
      return context.getImageData(0, 0, picture.width, picture.height).data;
    };
    const [first, ...others] = await Promise.all(list.map(read));
    return others.map((other) => other.reduce((sum, value, at) => sum + Math.abs(value - first[at]), 0) / first.length);
  }, [...before, ...after].map(({ data }) => data));
  const at = differences.findIndex((difference) => difference > CHANGED);
  assert.ok(at >= 0, `no picture of ${after.length} shows a walk; the greatest difference is ${Math.max(...differences)}`);
  return after[at].at - pressed;
}

const game = await new Game().open(FLAGS);
const line = await relay(game.server.port);
try {
  const { ada, bo } = game;
  await ada.emulateMedia({ reducedMotion: 'reduce' });
  await bo.goto('about:blank');
  await game.check('the page predicts on a line of 150 ms', async () => {
    await ada.goto(line.url);
    await until(ada, () => window.tickwire?.state === 'live', undefined, 20000);
    await ada.locator('#play').click();
    await until(ada, () => window.tickwire.ahead !== null, undefined, 20000);
    await sleep(3000);
    const { leadMs } = await state(ada, 'prediction');
    assert.ok(leadMs > ROUND_TRIP_MS, `a lead of ${leadMs} ms does not cover the round trip`);
    return `lead ${Math.round(leadMs)} ms`;
  });
  const times = { on: [], off: [] };
  // Without prediction a walk shows after 0.8 s, and a lost segment or two later still.
  for (const [name, { walks, ms }] of Object.entries({ on: { walks: 3, ms: 900 }, off: { walks: 2, ms: 3000 } })) {
    await game.check(`a walk shows ${name === 'on' ? 'before the server can have answered' : 'a round trip later without prediction'}`, async () => {
      await ada.evaluate((on) => { if (document.getElementById('p-prediction').checked !== on) document.getElementById('p-prediction').click(); }, name === 'on');
      for (const key of ['d', 'a', 's', 'w', 'd', 'a', 's', 'w']) {
        const from = await ada.evaluate(() => ({ x: window.tickwire.own.x, y: window.tickwire.own.y }));
        const pictures = await film(ada, key, ms);
        await sleep(1500);
        const way = await ada.evaluate(({ x, y }) => Math.hypot(window.tickwire.own.x - x, window.tickwire.own.y - y), from);
        // A tree, a rock or the edge of the map may stand beside the player: then the next key.
        if (way < 100) continue;
        times[name].push(Math.round(await firstChange(bo, pictures)));
        if (times[name].length === walks) break;
      }
      assert.equal(times[name].length, walks, 'no way is free');
      const median = times[name].toSorted((a, b) => a - b)[times[name].length >> 1];
      if (name === 'on') assert.ok(median < ROUND_TRIP_MS, `${times[name]} ms`);
      else assert.ok(Math.min(...times[name]) >= ROUND_TRIP_MS - 60, `${times[name]} ms`);
      return `${times[name].join(', ')} ms`;
    });
  }
  await game.check('turns every 200 ms are seldom corrected', async () => {
    await ada.evaluate(() => document.getElementById('p-prediction').click());
    const before = await state(ada, 'prediction');
    for (let turn = 0; turn < 50; turn++) {
      const key = ['d', 's', 'a', 'w', 'd', 'w', 'a', 's'][turn % 8];
      await ada.keyboard.down(key);
      await sleep(200);
      await ada.keyboard.up(key);
    }
    const { compared, corrected, p99Px, leadMs } = await state(ada, 'prediction');
    const [all, wrong] = [compared - before.compared, corrected - before.corrected];
    assert.ok(all > 100, `only ${all} updates were compared`);
    assert.ok(wrong < all / 5, `${wrong} of ${all} updates moved the own player`);
    return `${wrong} of ${all} updates corrected, 99 % of the last ones by at most ${p99Px.toFixed(2)} px, lead ${Math.round(leadMs)} ms`;
  });
  await game.check('the panel puts a simulated line before any server, and takes it away', async () => {
    await bo.goto(`${game.server.url}/?net=transatlantic`);
    await until(bo, () => window.tickwire?.stats.pingMs !== null, undefined, 20000);
    assert.ok((await state(bo, 'stats')).pingMs >= 80);
    await bo.locator('#play').click();
    await until(bo, () => window.tickwire.id !== null);
    await bo.locator('#panel-button').click();
    assert.match(await bo.locator('#p-net-told').textContent(), /Atlantic.*delay 45 ms/);
    await bo.locator('#p-net').selectOption('');
    await until(bo, () => window.tickwire.stats.pingMs < 80, undefined, 15000);
    for (const name of ['prediction', 'reconciliation', 'interpolation', 'reckoning']) {
      await bo.locator(`#p-${name}`).click();
      assert.equal((await state(bo, 'prediction'))[name], false, name);
      await bo.locator(`#p-${name}`).click();
      assert.equal((await state(bo, 'prediction'))[name], true, name);
    }
  });
  await game.check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(game.complaints.list, []);
  });
} finally {
  line.kill();
  await game.browser.close();
  await game.server.stop().catch(() => game.server.kill());
}
console.log(`${game.passed} passed, ${game.failed} failed`);
process.exitCode = game.failed === 0 ? 0 : 1;
