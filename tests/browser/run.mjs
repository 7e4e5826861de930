// Two pages and a raw socket in one world: join, walk, look, talk, and come back after a restart. Real mouse, real keys,
// the real server with default flags. `node run.mjs [path of the server]`; screenshots go to tests/output/.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Complaints, keep, launch, press, state, until } from './lib/browser.mjs';
import { start } from './lib/server.mjs';
import { RawWatcher } from './lib/wire.mjs';

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

const complaints = new Complaints();
let passed = 0;
let failed = 0;

/** Runs one check; what it throws is printed and counted. */
async function check(name, body) {
  const from = performance.now();
  try {
    const note = await body();
    passed += 1;
    console.log(`ok ${passed + failed} - ${name} (${Math.round(performance.now() - from)} ms)${note ? `: ${note}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${passed + failed} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '    ')}`);
  }
}

const near = (actual, expected, slack, what) => assert.ok(Math.abs(actual - expected) <= slack, `${what}: ${actual}, not ${expected} ± ${slack}`);

let server = await start(0);
const browser = await launch();
const ada = await (await browser.newContext({ viewport: DESKTOP })).newPage();
const bo = await (await browser.newContext({ viewport: DESKTOP })).newPage();
complaints.watch(ada, 'ada');
complaints.watch(bo, 'bo');
const raw = { watcher: /** @type {RawWatcher} */ (/** @type {unknown} */ (null)) };
const ids = { ada: 0, bo: 0 };

/** The ids of both players, read from their pages. */
async function readIds() {
  for (const [name, page] of [['ada', ada], ['bo', bo]]) {
    await until(page, () => window.tickwire.id !== null && window.tickwire.own !== null);
    ids[name] = await state(page, 'id');
  }
}

/** Holds a key until somebody has walked at least this far, and lets go. @returns the key that led somewhere */
async function walk(page, keys, px) {
  for (const key of keys) {
    const from = await state(page, 'own');
    await page.keyboard.down(key);
    const gone = await until(page, ([x, y, far]) => Math.hypot(window.tickwire.own.x - x, window.tickwire.own.y - y) > far,
      [from.x, from.y, px], 3000).then(() => true, () => false);
    await page.keyboard.up(key);
    if (gone) return key;
  }
  throw new Error(`no way for ${px} px with ${keys}`);
}

/** Waits until a player stands still in its own page. */
const rest = (page) => until(page, () => window.tickwire.own.vx === 0 && window.tickwire.own.vy === 0 && window.tickwire.own.direction === null);

async function joining() {
  await check('a page shows the live world as a watcher while the name is being typed', async () => {
    await ada.goto(server.url);
    await until(ada, () => window.tickwire.state === 'live');
    assert.equal(await state(ada, 'id'), null);
    await ada.keyboard.type('Ada');
    assert.equal(await ada.inputValue('#name'), 'Ada');
    await keep(ada, 'title');
  });
  await check('one joins with the mouse', async () => {
    await press(ada, '#skins label:nth-of-type(9)');
    await press(ada, '#play');
    await until(ada, () => window.tickwire.id !== null && window.tickwire.own !== null);
    assert.equal(await ada.locator('#title').isVisible(), false);
  });
  await check('the other watches the first before it joins with the keyboard', async () => {
    await bo.goto(server.url);
    await until(bo, () => window.tickwire.watching !== null);
    assert.equal(await state(bo, 'watching'), await state(ada, 'id'));
    await keep(bo, 'title-watching');
    await bo.keyboard.type('Bo');
    await bo.keyboard.press('Enter');
  });
  await check('each sees the other by name and skin', async () => {
    await readIds();
    assert.notEqual(ids.ada, ids.bo);
    await until(bo, (id) => window.tickwire.players[id]?.x > 0, ids.ada);
    await until(ada, (id) => window.tickwire.players[id]?.x > 0, ids.bo);
    const seen = (await state(bo, 'players'))[ids.ada];
    assert.deepEqual([seen.name, seen.skin], ['Ada', 8]);
    assert.equal((await state(ada, 'players'))[ids.bo].name, 'Bo');
  });
  await check('a third client on a raw socket sees both', async () => {
    raw.watcher = new RawWatcher(server.port);
    const welcome = await raw.watcher.ready;
    assert.deepEqual([welcome[0], welcome[3]], [1, 14400]);
    raw.watcher.follow(ids.ada);
    for (let i = 0; i < 100 && raw.watcher.players.size < 2; i++) await sleep(30);
    assert.deepEqual([...raw.watcher.players.values()].map((player) => player.name).sort(), ['Ada', 'Bo']);
  });
}

async function walking() {
  /** Key that leads away from what stands around. */
  let key = 'd';
  await check('one walks with a key held', async () => {
    key = await walk(ada, ['d', 's', 'a', 'w'], 120);
    await rest(ada);
    return `${key} leads somewhere`;
  });
  await check('the other sees a walk within two updates', async () => {
    await until(bo, (id) => {
      const { x, y, shown } = window.tickwire.players[id];
      return Math.hypot(shown.x - x, shown.y - y) < 0.1;
    }, ids.ada);
    const from = (await state(bo, 'players'))[ids.ada];
    raw.watcher.mark();
    // The recorder notes, frame by frame, how far the page has heard and where it has the other one.
    await bo.evaluate((id) => {
      window.recorded = [];
      const note = () => {
        const { tick, players } = window.tickwire;
        window.recorded.push({ tick, x: players[id].x, y: players[id].y, shown: players[id].shown, at: performance.now() });
        window.recorder = requestAnimationFrame(note);
      };
      note();
    }, ids.ada);
    const back = { d: 'a', a: 'd', w: 's', s: 'w' }[key];
    await walk(ada, [back], 100);
    await rest(ada);
    await sleep(400);
    const frames = await bo.evaluate(() => { cancelAnimationFrame(window.recorder); return window.recorded; });
    const moved = raw.watcher.movedAt.get(ids.ada);
    assert.ok(moved !== undefined, 'the wire never said that Ada moved');
    const heard = frames.find((frame) => frame.tick >= moved + 2 * raw.watcher.updateTicks);
    assert.ok(heard, 'the page never heard of two updates more');
    assert.ok(heard.x !== from.x || heard.y !== from.y, `at tick ${heard.tick} the page had not seen what began at ${moved}`);
    const shown = frames.find((frame) => Math.hypot(frame.shown.x - from.shown.x, frame.shown.y - from.shown.y) > 1);
    assert.ok(shown, 'nothing moved in the picture');
    return `heard by tick ${heard.tick}, begun at ${moved}; drawn ${Math.round(shown.at - heard.at)} ms later; ${smoothness(frames)}`;
  });
  await check('arrow keys walk as well, two of them at an angle', async () => {
    const before = await state(bo, 'own');
    await bo.keyboard.down('ArrowDown');
    await bo.keyboard.down('ArrowRight');
    await until(bo, () => window.tickwire.own.direction === 8192);
    await bo.keyboard.up('ArrowRight');
    await until(bo, () => window.tickwire.own.direction === 16384);
    await bo.keyboard.up('ArrowDown');
    await rest(bo);
    const after = await state(bo, 'own');
    assert.ok(Math.hypot(after.x - before.x, after.y - before.y) > 1);
  });
  await check('both pages and the wire agree on both positions', positions);
  await losingFocus(key);
}

/** @param {string} key one that leads away from what stands around */
async function losingFocus(key) {
  await check('a window that loses the focus stops the walk, though it draws no frame any more', async () => {
    await ada.keyboard.down(key);
    await until(ada, () => window.tickwire.own.direction !== null);
    await ada.evaluate(() => {
      window.realFrame = window.requestAnimationFrame;
      window.requestAnimationFrame = (callback) => { window.heldFrame = callback; return 0; };
    });
    await sleep(100);
    await ada.evaluate(() => window.dispatchEvent(new Event('blur')));
    for (let i = 0; i < 60 && (await state(ada, 'own')).direction !== null; i++) await sleep(50);
    assert.equal((await state(ada, 'own')).direction, null);
    await ada.evaluate(() => {
      window.requestAnimationFrame = window.realFrame;
      window.requestAnimationFrame(window.heldFrame);
    });
    await ada.keyboard.up(key);
    await rest(ada);
  });
}

/** Everybody's position in every place where it is known, after all have come to rest. */
async function positions() {
  await Promise.all([rest(ada), rest(bo)]);
  await sleep(500);
  const notes = [];
  for (const [name, own, other] of [['ada', ada, bo], ['bo', bo, ada]]) {
    const exact = await state(own, 'own');
    const seen = (await state(other, 'players'))[ids[name]];
    const wire = raw.watcher.players.get(ids[name]);
    for (const axis of ['x', 'y']) {
      near(seen[axis], exact[axis], 0.5, `${name}.${axis} in the other page`);
      near(wire[axis], exact[axis], 0.5, `${name}.${axis} on the wire`);
      near(seen.shown[axis], exact[axis], 1, `${name}.${axis} as drawn in the other page`);
    }
    notes.push(`${name} at ${wire.x}, ${wire.y}`);
  }
  return notes.join('; ');
}

/** How evenly somebody was drawn to walk; printed, since a busy machine says more about itself than about us. */
function smoothness(frames) {
  const steps = frames.slice(1).map((frame, i) => ({
    px: Math.hypot(frame.shown.x - frames[i].shown.x, frame.shown.y - frames[i].shown.y),
    ms: frame.at - frames[i].at,
  })).filter((step) => step.px > 0.5);
  const sorted = (list) => list.sort((a, b) => a - b);
  const frameMs = sorted(frames.slice(1).map((frame, i) => frame.at - frames[i].at));
  const speeds = sorted(steps.map((step) => (step.px / step.ms) * 1000));
  const at = (list, part) => Math.round(list[Math.floor((list.length - 1) * part)] ?? 0);
  return `frames p50 ${at(frameMs, 0.5)} p95 ${at(frameMs, 0.95)} ms, drawn speed p50 ${at(speeds, 0.5)} p95 ${at(speeds, 0.95)} px/s`;
}

async function looking() {
  await check('the mouse aims, and all see the heading', async () => {
    await ada.mouse.move(DESKTOP.width / 2, DESKTOP.height / 2 + 200);
    await until(bo, (id) => Math.abs(window.tickwire.players[id].heading - Math.PI / 2) < 0.03, ids.ada);
    near(raw.watcher.players.get(ids.ada).heading, 64, 1, 'heading on the wire, 1/256 turn');
    await ada.mouse.move(DESKTOP.width / 2 - 200, DESKTOP.height / 2);
    await until(bo, (id) => Math.abs(window.tickwire.players[id].heading - Math.PI) < 0.03, ids.ada);
    near(raw.watcher.players.get(ids.ada).heading, 128, 1, 'heading on the wire, 1/256 turn');
  });
  await check('chat arrives in the other page and on the wire; keys that are typed do not walk', async () => {
    const before = await state(ada, 'own');
    await ada.keyboard.press('Enter');
    await ada.keyboard.type('wasd or arrows?');
    await sleep(200);
    const { x, y, direction } = await state(ada, 'own');
    assert.deepEqual([x, y, direction], [before.x, before.y, null]);
    await ada.keyboard.press('Enter');
    await until(bo, (id) => window.tickwire.players[id].bubble === 'wasd or arrows?', ids.ada);
    assert.deepEqual((await state(bo, 'chat')).map((line) => [line.name, line.text]), [['Ada', 'wasd or arrows?']]);
    await bo.locator('#log li', { hasText: 'wasd or arrows?' }).waitFor({ timeout: 2000 });
    assert.deepEqual(raw.watcher.chat, [{ player: ids.ada, text: 'wasd or arrows?' }]);
    await keep(bo, 'chat');
  });
  await check('Escape leaves the chat and nothing is said', async () => {
    await bo.keyboard.press('Enter');
    await bo.keyboard.type('not this');
    await bo.keyboard.press('Escape');
    await sleep(300);
    assert.equal(await bo.locator('#chat').isVisible(), false);
    assert.equal((await state(ada, 'chat')).length, 1);
  });
  await check('the leaderboard has both, and one\'s own place', async () => {
    await ada.locator('#board-rows li.own', { hasText: 'Ada' }).waitFor({ timeout: 4000 });
    await ada.locator('#board-rows li', { hasText: 'Bo' }).waitFor({ timeout: 4000 });
  });
  await check('a key opens the figures: ping, tick, updates, bytes', async () => {
    await ada.keyboard.press('p');
    await ada.locator('#panel').waitFor({ state: 'visible', timeout: 2000 });
    await walk(ada, ['d', 'a', 's', 'w'], 250);
    await sleep(1100);
    assert.match(await ada.locator('#p-ping').innerText(), /^\d+(\.\d)? ms$/);
    assert.match(await ada.locator('#p-tick').innerText(), /^\d+ at 30 Hz$/);
    const { bytesIn, bytesOut, undecodable } = await state(ada, 'stats');
    assert.ok(bytesIn > 1000 && bytesOut > 50, `${bytesIn} in, ${bytesOut} out`);
    assert.equal(undecodable, 0);
    await keep(ada, 'play');
    return `${await ada.locator('#p-in').innerText()} in, ping ${await ada.locator('#p-ping').innerText()}`;
  });
}

async function phone() {
  const context = await browser.newContext(PHONE);
  const page = await context.newPage();
  complaints.watch(page, 'phone');
  await check('a phone joins by touch and walks by a thumb', async () => {
    await page.goto(server.url);
    await until(page, () => window.tickwire.watching !== null);
    await keep(page, 'phone-title');
    await page.locator('#play').tap();
    await until(page, () => window.tickwire.own !== null);
    const touch = await context.newCDPSession(page);
    const point = (x, y) => ({ touchPoints: [{ x, y }] });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', ...point(120, 600) });
    await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', ...point(120, 660) });
    await until(page, () => window.tickwire.own.direction === 16384);
    await keep(page, 'phone');
    await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await rest(page);
  });
  await context.close();
}

async function restart() {
  const before = { epoch: await state(ada, 'epoch'), port: server.port };
  await check('the server stops cleanly in under three seconds and says 1001', async () => {
    complaints.outage = true;
    const { code, signal, ms } = await server.stop();
    assert.deepEqual([code, signal], [0, null], server.log());
    assert.ok(ms < 3000, `${ms} ms`);
    assert.equal(await raw.watcher.closed, 1001);
    return `${Math.round(ms)} ms`;
  });
  await check('both pages show that the line is lost and what they do about it', async () => {
    for (const page of [ada, bo]) {
      await page.locator('#status').waitFor({ state: 'visible', timeout: 3000 });
      await page.locator('#status-text', { hasText: /Connection lost|Connecting again/ }).waitFor({ timeout: 3000 });
    }
    await sleep(1200);
    await keep(ada, 'lost');
  });
  await check('both come back into play by themselves, under the same names', async () => {
    const from = performance.now();
    server = await start(before.port);
    await Promise.all([ada, bo].map((page) => until(page, (epoch) => window.tickwire.state === 'live'
      && window.tickwire.epoch !== epoch && window.tickwire.own !== null, before.epoch, 20000)));
    complaints.outage = false;
    const back = performance.now() - from;
    await readIds();
    await until(bo, (id) => window.tickwire.players[id]?.name === 'Ada', ids.ada);
    await until(ada, (id) => window.tickwire.players[id]?.name === 'Bo', ids.bo);
    assert.equal((await state(bo, 'players'))[ids.ada].skin, 8);
    return `${Math.round(back)} ms from the start of the server, ${complaints.refused} tries refused`;
  });
  await check('after the restart one walks again and the wire confirms it', async () => {
    raw.watcher = new RawWatcher(server.port);
    await raw.watcher.ready;
    raw.watcher.follow(ids.ada);
    await walk(ada, ['d', 's', 'a', 'w'], 60);
    const note = await positions();
    await keep(ada, 'back');
    raw.watcher.close();
    return note;
  });
}

try {
  await joining();
  if (failed === 0) await walking();
  if (failed === 0) await looking();
  if (failed === 0) await phone();
  if (failed === 0) await restart();
  if (failed > 0) await Promise.all([keep(ada, 'failed-ada'), keep(bo, 'failed-bo')]);
  await check('no page error, console error, warning or failed request', () => {
    assert.deepEqual(complaints.list, []);
  });
} finally {
  await browser.close();
  await server.stop().catch(() => server.kill());
}
if (failed > 0) console.log(`the server's log:\n${server.log().replace(/^/gm, '    ')}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
